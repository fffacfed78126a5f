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

  // Paper is white, and every plot is on it. Tables that the reader has closed stay closed.
  const closed = [];
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    for (const details of document.querySelectorAll("details:not([open])")) {
      if (details.querySelector("figure")) { details.open = true; closed.push(details); }
    }
  });
  addEventListener("afterprint", () => {
    for (const details of closed.splice(0)) details.open = false;
    show();
  });
})();

// Table of contents: marks the section at the top of the window.
(() => {
  const links = [...document.querySelectorAll("nav a")];
  const sections = links.map((link) => document.querySelector(link.hash));
  const mark = () => {
    const edge = document.querySelector("nav").getBoundingClientRect().bottom + 40;
    const current = sections.findLastIndex((section) => section.getBoundingClientRect().top <= edge);
    links.forEach((link, index) => {
      if (index === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    });
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
