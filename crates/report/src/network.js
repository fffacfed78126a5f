// Networks over time: a slider, a play button, a choice of design, and a tooltip for the link under the pointer.
for (const card of document.querySelectorAll(".network")) {
  const film = JSON.parse(card.querySelector("script").textContent);
  const svg = card.querySelector(".scroll svg");
  const tip = card.querySelector(".tip");
  const slider = card.querySelector(".time");
  const play = card.querySelector(".play");
  const chosen = svg.querySelector(".chosen");
  const levels = new Map([...film.alphabet].map((letter, level) => [letter, level]));
  const count = film.lines.length;
  const stepOf = (steps, level) => steps.findLastIndex((from) => from <= level);
  // Corners of every line, to find the line under the pointer.
  const corners = film.lines.map((path) => path.slice(1).split("L").map((pair) => pair.split(" ").map(Number)));
  let take = film.takes[0];
  let frame = take.busiest;
  let current = null;

  const level = (values, direction) => levels.get(values[frame * count + direction]);
  const paint = (letter, paths, values, steps) => {
    const gathered = steps.map(() => "");
    for (let direction = 0; direction < count; direction += 1) {
      gathered[stepOf(steps, level(values, direction))] += paths[direction];
    }
    gathered.forEach((path, step) => svg.querySelector(`.heat .${letter}${step}`)?.setAttribute("d", path));
  };
  const troubles = () => film.troubles.filter((trouble) => trouble.from <= frame && frame < trouble.until);
  const mark = () => {
    const paths = { cut: "", worn: "", down: "", slow: "", lossy: "" };
    for (const trouble of troubles()) {
      paths[trouble.symbol] += trouble.mark;
      paths[trouble.line] += film.lines[2 * trouble.edge] + film.lines[2 * trouble.edge + 1];
    }
    for (const [symbol, path] of Object.entries(paths)) svg.querySelector(`.trouble .${symbol}`)?.setAttribute("d", path);
  };
  const draw = () => {
    paint("b", film.lines, take.busy, film.busySteps);
    paint("w", film.ports, take.waiting, film.waitingSteps);
    mark();
    slider.value = frame;
    slider.setAttribute("aria-valuetext", film.frames[frame]);
    const [name, when] = card.querySelectorAll(".when b, .when span");
    name.textContent = take.design;
    name.nextSibling.textContent = `, seed ${take.seed}, `;
    when.textContent = film.frames[frame];
    if (current !== null) say(current);
  };
  const words = (direction) => {
    const busy = Math.round((level(take.busy, direction) / (film.alphabet.length - 1)) * 100);
    const waiting = level(take.waiting, direction);
    return `${busy} % busy, ${waiting === 0 ? "no queue" : `queue ${film.backlogs[waiting]}`}`;
  };
  const hide = () => {
    current = null;
    tip.hidden = true;
    chosen.setAttribute("visibility", "hidden");
  };
  // The tooltip shows both directions of a link, `direction` first, and the link's trouble.
  const say = (direction) => {
    current = direction;
    tip.replaceChildren();
    for (const each of [direction, direction ^ 1]) {
      const name = document.createElement("b");
      name.textContent = film.names[each];
      tip.append(name, document.createElement("br"), words(each), document.createElement("br"));
    }
    for (const trouble of troubles().filter(({ edge }) => edge === direction >> 1)) tip.append(trouble.words, document.createElement("br"));
    tip.lastChild.remove();
    chosen.setAttribute("d", film.lines[direction]);
    chosen.setAttribute("visibility", "visible");
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const outer = card.getBoundingClientRect();
    const zoom = box.width / svg.viewBox.baseVal.width;
    const [from, to] = [corners[direction][0], corners[direction].at(-1)];
    const x = box.left - outer.left + ((from[0] + to[0]) / 2) * zoom;
    const y = box.top - outer.top + Math.min(from[1], to[1]) * zoom;
    tip.style.left = `${Math.max(8, Math.min(x + 10, outer.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, y - tip.offsetHeight - 6)}px`;
  };
  const distance = ([x, y], [ax, ay], [bx, by]) => {
    const [dx, dy] = [bx - ax, by - ay];
    const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(x - ax - along * dx, y - ay - along * dy);
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const zoom = box.width / svg.viewBox.baseVal.width;
    const at = [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
    let [best, least] = [null, 14];
    corners.forEach((line, direction) => {
      for (let i = 1; i < line.length; i += 1) {
        const d = distance(at, line[i - 1], line[i]);
        if (d < least) [best, least] = [direction, d];
      }
    });
    return best;
  };
  const point = (event) => {
    const found = nearest(event);
    if (found === null) hide(); else say(found);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  const heat = (direction) => level(take.waiting, direction) * 1000 + level(take.busy, direction);
  // If the drawing is wider than the screen, scroll the hottest link into the middle.
  const seek = () => {
    const hottest = corners.map((_, direction) => direction).reduce((best, direction) => (heat(direction) > heat(best) ? direction : best), 0);
    const zoom = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const box = svg.parentElement;
    box.scrollLeft = corners[hottest][0][0] * zoom - box.clientWidth / 2;
  };
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { hide(); return; }
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const order = film.lines.map((_, direction) => direction).sort((a, b) => heat(b) - heat(a) || a - b);
    const place = current === null ? (by > 0 ? 0 : count - 1) : order.indexOf(current) + by;
    say(order[(place + count) % count]);
  });

  let playing = null;
  const stop = () => {
    clearInterval(playing);
    playing = null;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  };
  play.addEventListener("click", () => {
    if (playing) { stop(); return; }
    if (frame === film.frames.length - 1) frame = -1;
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    playing = setInterval(() => {
      frame += 1;
      draw();
      if (frame === film.frames.length - 1) stop();
    }, 150);
  });
  slider.addEventListener("input", () => { stop(); frame = Number(slider.value); draw(); });
  card.querySelector(".hottest").addEventListener("click", () => { stop(); frame = take.busiest; draw(); seek(); });
  for (const radio of card.querySelectorAll("fieldset input")) {
    radio.addEventListener("change", () => { take = film.takes[Number(radio.value)]; draw(); });
  }
  card.querySelector(".controls").hidden = false;
  seek();
}
