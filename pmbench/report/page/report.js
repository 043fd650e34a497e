"use strict";
// Filters, search, order and keys. Without this script every instance is there, in its order, and opens by a click.
(() => {
  const one = (id) => document.getElementById(id);
  const list = one("entries");
  const worst = Array.from(list.children);
  const search = one("search"), state = one("state"), order = one("order"), help = one("help");
  const slices = Array.from(document.querySelectorAll("select.slice"));
  const texts = new Map();
  let current = null;

  const textOf = (entry) => {
    if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase().replace(/\s+/g, " "));
    return texts.get(entry);
  };
  const shown = () => Array.from(list.children).filter((entry) => !entry.hidden);

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const labels = slices.map((choice) => choice.value).filter(Boolean);
    let found = 0;
    for (const entry of worst) {
      const fits = (!state.value || entry.dataset.f.split(" ").includes(state.value))
        && labels.every((label) => entry.dataset.s.split(" ").includes(label))
        && words.every((word) => textOf(entry).includes(word));
      entry.hidden = !fits;
      found += fits;
    }
    one("found").textContent = `${found} of ${worst.length} shown`;
    one("none").hidden = found > 0;
  };

  const name = (entry) => entry.querySelector("h3").textContent;
  const sort = () => {
    const entries = worst.slice();
    if (order.value === "best") entries.reverse();
    if (order.value === "id") entries.sort((a, b) => name(a).localeCompare(name(b), undefined, { numeric: true }));
    list.append(...entries);
  };

  const go = (step) => {
    const entries = shown();
    if (!entries.length) return;
    const held = document.activeElement && document.activeElement.closest("details.i");
    const at = entries.indexOf(held || current);
    current = entries[Math.min(Math.max(at + step, 0), entries.length - 1)];
    current.firstElementChild.focus();
    current.scrollIntoView({ block: "nearest" });
  };

  const toggleHelp = () => (help.open ? help.close() : help.showModal());
  const typing = (target) => target.closest("input, select, textarea") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === search) search.blur();
    // Who speaks to the machine, or hits keys by chance, can turn them off.
    if (typing(event.target) || !one("keyed").checked) return;
    if (event.key === "?") toggleHelp();
    else if (help.open) return;
    else if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/") search.focus();
    else return;
    event.preventDefault();
  });

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  for (const choice of [state, ...slices]) choice.addEventListener("change", filter);
  order.addEventListener("change", sort);
  one("open").addEventListener("click", () => shown().forEach((entry) => { entry.open = true; }));
  one("close").addEventListener("click", () => worst.forEach((entry) => { entry.open = false; }));
  one("keys").addEventListener("click", toggleHelp);
  one("controls").hidden = false;
  filter();
})();
