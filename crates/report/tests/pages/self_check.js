// Script that runs inside a report, checks it from a reader's view, and returns the errors.
(async () => {
  const faults = [];
  const fault = (text) => faults.push(text);
  const frames = (n) => new Promise((done) => {
    const step = () => (n-- > 0 ? requestAnimationFrame(step) : done());
    step();
  });
  const shown = (element) => element.getClientRects().length > 0;
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

  for (const details of document.querySelectorAll("details")) details.open = true;
  await frames(2);

  const theme = document.documentElement.dataset.theme;
  let texts = 0, plots = 0, marks = 0, rows = 0, zooms = 0;

  // Geometry of all plots that are visible at this width.
  for (const figure of document.querySelectorAll("figure")) {
    const svg = [...figure.querySelectorAll("svg[data-frame]")].filter(shown);
    if (svg.length !== 1) { fault(`${figure.id}: ${svg.length} drawings shown`); continue; }
    plots += 1;
    const outer = svg[0].getBoundingClientRect();
    const zoom = outer.width / svg[0].viewBox.baseVal.width;
    if (12 * zoom < 9.5) fault(`${figure.id}: text is only ${(12 * zoom).toFixed(1)} px high`);
    const labels = [...svg[0].querySelectorAll("text")].filter((t) => t.textContent.trim());
    const boxes = labels.map((t) => t.getBoundingClientRect());
    texts += labels.length;
    labels.forEach((label, i) => {
      const box = boxes[i];
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1) {
        fault(`${figure.id}: label "${label.textContent}" leaves the drawing`);
      }
      for (let j = 0; j < i; j += 1) {
        if (overlap(box, boxes[j])) {
          fault(`${figure.id}: labels "${labels[j].textContent}" and "${label.textContent}" overlap`);
        }
      }
    });
    const [left, top, width, height] = svg[0].dataset.frame.split(" ").map(Number);
    const slack = 8;
    let drawn = 0;
    for (const series of svg[0].querySelectorAll("g[data-series]")) {
      for (const path of series.querySelectorAll("path, use")) {
        const box = path.getBoundingClientRect();
        const [x, y] = [(box.x - outer.x) / zoom, (box.y - outer.y) / zoom];
        if (path.getAttribute("d")?.includes("NaN")) fault(`${figure.id}: a path is not a number`);
        if (box.width + box.height > 0) drawn += 1;
        if (x < left - slack || x + box.width / zoom > left + width + slack ||
            y < top - slack || y + box.height / zoom > top + height + slack) {
          fault(`${figure.id}: a mark of series ${series.dataset.series} leaves the axes`);
        }
      }
    }
    if (drawn === 0) fault(`${figure.id}: nothing is drawn`);
    if (svg[0].querySelectorAll(".tick").length < 2) fault(`${figure.id}: fewer than two ticks`);
    marks += drawn;

    // Legend: each button hides its series and shows it again.
    for (const button of figure.querySelectorAll(".legend button")) {
      const group = svg[0].querySelector(`g[data-series="${button.dataset.series}"]`);
      button.click();
      if (getComputedStyle(group).display !== "none") fault(`${figure.id}: ${button.textContent} stays when toggled off`);
      if (button.getAttribute("aria-pressed") !== "false") fault(`${figure.id}: ${button.textContent} does not say that it is off`);
      button.click();
      if (getComputedStyle(group).display === "none") fault(`${figure.id}: ${button.textContent} does not come back`);
    }

    // Tooltips: with the pointer anywhere over the plot, and with the keyboard.
    const tip = figure.querySelector(".tip");
    for (const share of [0.05, 0.5, 0.98]) {
      const at = { clientX: outer.left + (left + width * share) * zoom, clientY: outer.top + (top + height / 2) * zoom };
      svg[0].dispatchEvent(new PointerEvent("pointermove", { ...at, bubbles: true }));
      if (tip.hidden || tip.textContent.length < 5) fault(`${figure.id}: no tooltip at ${share}`);
      if (/NaN|undefined|Infinity/.test(tip.textContent)) fault(`${figure.id}: tooltip says ${tip.textContent}`);
      const box = tip.getBoundingClientRect(), card = figure.getBoundingClientRect();
      if (box.top < outer.top + (top + height) * zoom) fault(`${figure.id}: the tooltip covers the plot at ${share}`);
      const { series } = JSON.parse(figure.querySelector("script").textContent);
      if (series.every(({ points }) => points.length > 1)) {
        for (const { name } of series) {
          if (!tip.textContent.includes(name)) fault(`${figure.id}: the tooltip has no value of ${name} at ${share}`);
        }
      }
      if (box.left < card.left - 1 || box.right > card.right + 1) fault(`${figure.id}: tooltip leaves the card at ${share}`);
    }
    svg[0].dispatchEvent(new PointerEvent("pointerleave"));
    if (!tip.hidden) fault(`${figure.id}: tooltip stays when the pointer leaves`);
    svg[0].focus();
    if (document.activeElement !== svg[0]) fault(`${figure.id}: cannot be focused`);
    svg[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    const first = tip.textContent;
    svg[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    if (tip.hidden || first.length < 5) fault(`${figure.id}: arrow keys say nothing`);
    svg[0].dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    if (!tip.hidden) fault(`${figure.id}: Escape does not close the tooltip`);

    // A click keeps the tooltip. If its point is a row of a table, it says where the row is.
    const { series } = JSON.parse(figure.querySelector("script").textContent);
    const middle = { clientX: outer.left + (left + width * 0.6) * zoom, clientY: outer.top + (top + height / 2) * zoom, bubbles: true };
    const press = (type) => svg[0].dispatchEvent(new PointerEvent(type, { ...middle, button: 0, pointerType: "mouse" }));
    for (const type of ["pointermove", "pointerdown", "pointerup", "click", "pointerleave"]) press(type);
    if (tip.hidden) fault(`${figure.id}: a click does not keep the tooltip`);
    if (series.some(({ points }) => points.some((point) => point[3]))) {
      rows += 1;
      const [, noun, number, seed] = tip.textContent.match(/(flow|request|session|coflow) (\d+) of seed (\d+)/) ?? [];
      const place = tip.textContent.match(/row (\w+) = (\d+) in runs\/(\S+-seed(\d+))/) ?? [];
      if (!noun || place[1] !== noun || place[2] !== number || place[4] !== seed) {
        fault(`${figure.id}: the tooltip does not lead to a row: ${tip.textContent}`);
      }
    }
    press("click");
    if (!tip.hidden) fault(`${figure.id}: a second click does not close the tooltip`);

    // Zoom: fewer values on the axes, curves inside them, and the whole plot again.
    const tool = (name) => [...figure.querySelectorAll(".tools button")].find((button) => button.textContent === name);
    const ticks = () => [...svg[0].querySelectorAll(".ticks:not(.off) .tick")].map((tick) => tick.textContent).join(" ");
    if (tool("+")) {
      zooms += 1;
      const before = ticks();
      tool("+").click();
      tool("+").click();
      if (ticks() === before) fault(`${figure.id}: the zoom keeps the ticks`);
      if (svg[0].querySelectorAll(".ticks.zoomed .tick").length < 2) fault(`${figure.id}: a zoomed plot has fewer than two ticks`);
      for (const curve of [...svg[0].querySelectorAll(".curve")].filter(shown)) {
        if (getComputedStyle(curve).overflow !== "hidden") fault(`${figure.id}: a zoomed curve leaves the axes`);
      }
      tool("Whole").click();
      if (ticks() !== before) fault(`${figure.id}: the whole plot does not come back`);
    }
    svg[0].blur();
  }

  // The page: no horizontal scrolling, no overlapping text, no external resources.
  if (document.documentElement.scrollWidth > innerWidth + 1) {
    fault(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${innerWidth}`);
  }
  const blocks = [...document.querySelectorAll("h1, h2, h3, .answer p, .note, figcaption p, nav a, header p, header button, .legend button, summary, dt, dd")].filter(shown);
  const places = blocks.map((b) => b.getBoundingClientRect());
  blocks.forEach((block, i) => {
    for (let j = 0; j < i; j += 1) {
      if (!blocks[j].contains(block) && !block.contains(blocks[j]) && overlap(places[i], places[j])) {
        fault(`"${blocks[j].textContent.slice(0, 30)}" and "${block.textContent.slice(0, 30)}" overlap`);
      }
    }
  });
  for (const entry of performance.getEntriesByType("resource")) fault(`loads ${entry.name}`);

  // Colours: readable, and different after a click on the button.
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const colours = () => {
    const body = getComputedStyle(document.body);
    const card = getComputedStyle(document.querySelector("figure") ?? document.body).backgroundColor;
    if (contrast(body.color, body.backgroundColor) < 7) fault("text is hard to read");
    const note = document.querySelector(".note");
    if (note && contrast(getComputedStyle(note).color, body.backgroundColor) < 4.5) fault("notes are hard to read");
    const series = [...document.querySelectorAll("g[data-series]")].map((g) => getComputedStyle(g).color);
    for (const colour of new Set(series)) {
      if (contrast(colour, card) < 3) fault(`series colour ${colour} is hard to see on ${card}`);
    }
    return [body.backgroundColor, body.color, ...new Set(series)];
  };
  const before = colours();
  document.getElementById("theme").click();
  const after = colours();
  before.forEach((colour, i) => { if (colour === after[i]) fault(`colour ${colour} stays in the other theme`); });
  document.getElementById("theme").click();

  localStorage.clear();
  return { faults, theme, plots, texts, marks, rows, zooms, width: innerWidth };
})()
