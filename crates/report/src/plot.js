// Plots: toggles in the legend, tooltips for pointer and keyboard, and a zoom into curves.
for (const figure of document.querySelectorAll("figure")) {
  const { labels, series, ticks } = JSON.parse(figure.querySelector("script").textContent);
  const tip = figure.querySelector(".tip");
  const drawings = [...figure.querySelectorAll("svg[data-frame]")];
  const off = new Set();
  // Positions are from 0 to 10,000. The view is the part of the plot that is shown: left, bottom, right, top.
  const whole = [0, 0, 10000, 10000];
  let view = whole;
  let current = null;
  let pinned = false;
  const hide = () => {
    pinned = false;
    tip.hidden = true;
    tip.classList.remove("pinned");
    for (const cursor of figure.querySelectorAll(".cursor")) cursor.setAttribute("visibility", "hidden");
  };
  const make = (name, attributes, text = "") => {
    const element = document.createElementNS(drawings[0].namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };

  for (const button of figure.querySelectorAll(".legend button")) {
    const index = Number(button.dataset.series);
    button.addEventListener("click", () => {
      const shown = !off.delete(index);
      if (shown) off.add(index);
      button.setAttribute("aria-pressed", String(!off.has(index)));
      for (const group of figure.querySelectorAll(`g[data-series="${index}"]`)) {
        group.classList.toggle("off", off.has(index));
      }
      hide();
    });
  }

  const frameOf = (svg) => svg.dataset.frame.split(" ").map(Number);
  const inView = ([u, v]) => u >= view[0] && u <= view[2] && v >= view[1] && v <= view[3];
  const place = ([u, v], [left, top, width, height]) => [
    left + ((u - view[0]) / (view[2] - view[0])) * width,
    top + ((view[3] - v) / (view[3] - view[1])) * height,
  ];
  // The ticks of a view: as many as fit, from the list of fine ticks.
  const drawTicks = (svg) => {
    svg.querySelector(".ticks.zoomed")?.remove();
    svg.querySelector(".ticks").classList.toggle("off", view !== whole);
    if (view === whole) return;
    const frame = frameOf(svg);
    const [left, top, width, height] = frame;
    const font = Number(svg.getAttribute("font-size"));
    const group = make("g", { class: "ticks zoomed" });
    const seen = (axis) => ticks[axis].filter(([at]) => at >= view[axis] && at <= view[axis + 2]);
    const thin = (all, most) => all.filter((_, index) => index % Math.ceil(all.length / most) === 0);
    for (const [at, label] of thin(seen(0), Math.floor(width / (font * 5.5)))) {
      const [x] = place([at, view[1]], frame);
      group.append(make("line", { class: "grid", x1: x, x2: x, y1: top, y2: top + height }));
      group.append(make("text", { class: "tick", x, y: top + height + font * 1.65, "text-anchor": "middle" }, label));
    }
    for (const [at, label] of thin(seen(1), 8)) {
      const [, y] = place([view[0], at], frame);
      group.append(make("line", { class: "grid", x1: left, x2: left + width, y1: y, y2: y }));
      group.append(make("text", { class: "tick", x: left - 7, y: y + font * 0.35, "text-anchor": "end" }, label));
    }
    svg.querySelector(".ticks").after(group);
  };
  // Shows a part of the plot. A part is at least an eighth of each side: the curves have whole cells.
  const zoomTo = ([left, bottom, right, top]) => {
    const fit = (low, high) => {
      const length = Math.min(10000, Math.max(1250, high - low));
      const start = Math.max(0, Math.min((low + high - length) / 2, 10000 - length));
      return [start, start + length];
    };
    const [x, y] = [fit(left, right), fit(bottom, top)];
    view = [x[0], y[0], x[1], y[1]];
    if (view[2] - view[0] > 9999 && view[3] - view[1] > 9999) view = whole;
    for (const svg of drawings) {
      for (const curve of svg.querySelectorAll(".curve")) {
        const [, , columns, rows] = curve.dataset.grid.split(" ").map(Number);
        const [column, row] = [columns / 10000, rows / 10000];
        curve.setAttribute("viewBox", [view[0] * column, (10000 - view[3]) * row, (view[2] - view[0]) * column, (view[3] - view[1]) * row].join(" "));
        curve.classList.toggle("zoomed", view !== whole);
      }
      drawTicks(svg);
    }
    hide();
  };
  // Zooms around the point with the cursor, or around the middle.
  const zoomBy = (factor) => {
    const at = current ? series[current[0]].points[current[1]] : [(view[0] + view[2]) / 2, (view[1] + view[3]) / 2];
    const around = (axis) => [at[axis] - (at[axis] - view[axis]) * factor, at[axis] + (view[axis + 2] - at[axis]) * factor];
    const [x, y] = [around(0), around(1)];
    zoomTo([x[0], y[0], x[1], y[1]]);
  };

  const tools = document.createElement("div");
  tools.className = "tools";
  const tool = (text, label, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", `${label}: ${figure.querySelector("h3").textContent}`);
    button.addEventListener("click", () => act(button));
    tools.append(button);
    return button;
  };
  if (ticks) {
    tool("+", "Zoom in", () => zoomBy(0.5));
    tool("\u2212", "Zoom out", () => zoomBy(2));
    tool("Whole", "Whole plot", () => zoomTo(whole));
  }
  tool("Larger", "Larger", (button) => {
    const large = figure.classList.toggle("large");
    button.setAttribute("aria-pressed", String(large));
  }).setAttribute("aria-pressed", "false");
  figure.querySelector("figcaption").prepend(tools);

  for (const svg of drawings) {
    const cursor = svg.querySelector(".cursor");

    // The points that give the other lines their height at x.
    const pointAt = ({ height, points }, x) => {
      if (height === "next") return points.find((point) => point[0] >= x) ?? points.at(-1);
      if (height === "last") return points.findLast((point) => point[0] <= x) ?? points[0];
      return points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    };
    const others = (s, x) => {
      const lines = series.map((_, t) => t).filter((t) => !off.has(t) && series[t].points.length > 1);
      if (!lines.includes(s)) return [];
      return lines.filter((t) => t !== s).map((t) => {
        const point = pointAt(series[t], x);
        return `${series[t].name}: ${point[2][1]} at ${point[2][0]}`;
      });
    };
    // The row of the run's table behind a point, and where the table is.
    const rowOf = ({ runs }, row) => {
      if (!row) return [];
      const [id, seed, noun] = runs[row[1]];
      const named = `${noun} ${row[0]} of seed ${seed}`;
      return pinned && id ? [named, `row ${noun} = ${row[0]} in runs/${id}`] : [named];
    };

    const show = (s, p) => {
      current = [s, p];
      const point = series[s].points[p];
      const [x, y] = place(point, frameOf(svg));
      cursor.setAttribute("cx", x);
      cursor.setAttribute("cy", y);
      cursor.setAttribute("visibility", "visible");
      tip.replaceChildren();
      const name = document.createElement("b");
      name.textContent = series[s].name;
      tip.append(name);
      const [atX, atY, ...more] = point[2];
      const texts = [`${labels[0]}: ${atX}`, `${labels[1]}: ${atY}`, ...more, ...rowOf(series[s], point[3]), ...others(s, point[0])];
      for (const line of texts) tip.append(document.createElement("br"), line);
      tip.hidden = false;
      tip.classList.toggle("pinned", pinned);
      // The tooltip is below the plot, so that it covers no curve, and inside the figure.
      const box = svg.getBoundingClientRect();
      const outer = figure.getBoundingClientRect();
      const zoom = box.width / svg.viewBox.baseVal.width;
      const px = box.left - outer.left + x * zoom;
      const room = outer.width - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(8, Math.min(px - tip.offsetWidth / 2, room))}px`;
      tip.style.top = `${box.bottom - outer.top + 4}px`;
    };

    // The pointer's position in the units of the drawing.
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const zoom = box.width / svg.viewBox.baseVal.width;
      return [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
    };
    const nearest = (event) => {
      const [ex, ey] = at(event);
      const frame = frameOf(svg);
      let best = null;
      let distance = Infinity;
      series.forEach(({ points }, s) => {
        if (off.has(s)) return;
        points.forEach((point, p) => {
          if (!inView(point)) return;
          const [x, y] = place(point, frame);
          const d = (x - ex) ** 2 + (y - ey) ** 2;
          if (d < distance) { distance = d; best = [s, p]; }
        });
      });
      return best;
    };

    const point = (event) => {
      const found = nearest(event);
      if (found) show(...found);
    };
    // A drag with a mouse or a pen zooms into the rectangle. A finger scrolls the page instead.
    let drag = null;
    const rectangle = ([x, y]) => {
      const [fx, fy] = drag.from;
      return [Math.min(x, fx), Math.min(y, fy), Math.abs(x - fx), Math.abs(y - fy)];
    };
    svg.addEventListener("pointerdown", (event) => {
      if (ticks && event.pointerType !== "touch" && event.button === 0) {
        drag = { from: at(event), mark: make("rect", { class: "drag" }) };
        svg.append(drag.mark);
      }
      if (!pinned) point(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (drag) {
        const [x, y, width, height] = rectangle(at(event));
        for (const [key, value] of Object.entries({ x, y, width, height })) drag.mark.setAttribute(key, value);
      }
      if (!pinned) point(event);
    });
    const release = (event) => {
      if (!drag) return;
      const [x, y, width, height] = rectangle(at(event));
      drag.mark.remove();
      drag = null;
      if (event.type !== "pointerup" || width < 12 || height < 12) return;
      const [left, top, frameWidth, frameHeight] = frameOf(svg);
      const u = (units) => view[0] + ((units - left) / frameWidth) * (view[2] - view[0]);
      const v = (units) => view[3] - ((units - top) / frameHeight) * (view[3] - view[1]);
      zoomTo([u(x), v(y + height), u(x + width), v(y)]);
    };
    svg.addEventListener("pointerup", release);
    svg.addEventListener("pointercancel", release);
    // A click keeps the tooltip, so that its text can be selected, until the next click.
    svg.addEventListener("click", (event) => {
      const pins = !pinned && !tip.hidden;
      hide();
      if (pins) { pinned = true; point(event); }
    });
    svg.addEventListener("pointerleave", (event) => {
      release(event);
      if (!pinned) hide();
    });
    svg.addEventListener("blur", () => { if (!pinned) hide(); });
    svg.addEventListener("keydown", (event) => {
      const visible = series.map((_, s) => s).filter((s) => !off.has(s));
      if (visible.length === 0) return;
      let [s, p] = current ?? [visible[0], -1];
      if (off.has(s)) [s, p] = [visible[0], -1];
      const turn = (by) => visible[(visible.indexOf(s) + by + visible.length) % visible.length];
      switch (event.key) {
        case "ArrowRight": p += 1; break;
        case "ArrowLeft": p -= 1; break;
        case "ArrowDown": s = turn(1); break;
        case "ArrowUp": s = turn(-1); break;
        case "Enter": pinned = !pinned; break;
        case "+": if (ticks) zoomBy(0.5); return;
        case "-": if (ticks) zoomBy(2); return;
        case "0": if (ticks) zoomTo(whole); return;
        case "Escape": hide(); return;
        default: return;
      }
      event.preventDefault();
      show(s, Math.max(0, Math.min(p, series[s].points.length - 1)));
    });
  }
}
