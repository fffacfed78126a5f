"use strict";
// Theme: the system's, until the reader uses the button.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("tailcut-theme"); } catch { /* pages that open from disk may have no storage */ }
  const show = () => {
    const dark = chosen ? chosen === "dark" : system.matches;
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("tailcut-theme", chosen); } catch { /* no storage, as above */ }
    show();
  });
  system.addEventListener("change", show);
  show();
})();

// Plots: toggles in the legend, and tooltips for pointer and keyboard.
for (const figure of document.querySelectorAll("figure")) {
  const { labels, series } = JSON.parse(figure.querySelector("script").textContent);
  const tip = figure.querySelector(".tip");
  const off = new Set();
  const hide = () => {
    tip.hidden = true;
    for (const cursor of figure.querySelectorAll(".cursor")) cursor.setAttribute("visibility", "hidden");
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

  for (const svg of figure.querySelectorAll("svg[data-frame]")) {
    const [left, top, width, height] = svg.dataset.frame.split(" ").map(Number);
    const cursor = svg.querySelector(".cursor");
    const place = ([u, v]) => [left + u * width, top + (1 - v) * height];
    let current = null;

    // The points of the other lines that are nearest on the axis of x.
    const others = (s, x) => {
      const lines = series.map((_, t) => t).filter((t) => !off.has(t) && series[t].points.length > 1);
      if (!lines.includes(s)) return [];
      return lines.filter((t) => t !== s).map((t) => {
        const { name, points } = series[t];
        const near = points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
        return `${name}: ${near[2][1]} at ${near[2][0]}`;
      });
    };

    const show = (s, p) => {
      current = [s, p];
      const point = series[s].points[p];
      const [x, y] = place(point);
      cursor.setAttribute("cx", x);
      cursor.setAttribute("cy", y);
      cursor.setAttribute("visibility", "visible");
      tip.replaceChildren();
      const name = document.createElement("b");
      name.textContent = series[s].name;
      tip.append(name);
      const [atX, atY, ...more] = point[2];
      const texts = [`${labels[0]}: ${atX}`, `${labels[1]}: ${atY}`, ...more, ...others(s, point[0])];
      for (const line of texts) tip.append(document.createElement("br"), line);
      tip.hidden = false;
      // The tooltip is below the plot, so that it covers no curve, and inside the figure.
      const box = svg.getBoundingClientRect();
      const outer = figure.getBoundingClientRect();
      const zoom = box.width / svg.viewBox.baseVal.width;
      const px = box.left - outer.left + x * zoom;
      const room = outer.width - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(8, Math.min(px - tip.offsetWidth / 2, room))}px`;
      tip.style.top = `${box.bottom - outer.top + 4}px`;
    };

    const nearest = (event) => {
      const box = svg.getBoundingClientRect();
      const zoom = box.width / svg.viewBox.baseVal.width;
      const ex = (event.clientX - box.left) / zoom;
      const ey = (event.clientY - box.top) / zoom;
      let best = null;
      let distance = Infinity;
      series.forEach(({ points }, s) => {
        if (off.has(s)) return;
        points.forEach((point, p) => {
          const [x, y] = place(point);
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
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
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
        case "Escape": hide(); return;
        default: return;
      }
      event.preventDefault();
      show(s, Math.max(0, Math.min(p, series[s].points.length - 1)));
    });
  }
}
