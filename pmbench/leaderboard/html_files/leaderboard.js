"use strict";
// Tables are sorted by their headings. Without this script they stand in order of the primary metric.
(() => {
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    if (Number.isNaN(x) || Number.isNaN(y)) return a.localeCompare(b, undefined, { numeric: true });
    return x - y;
  };
  const key = (row, at) => row.children[at].dataset.v || "";

  const sort = (table, heading) => {
    const row = heading.parentElement;
    const at = Array.from(row.children).indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of row.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    // What has no value comes last, whichever way round; equal ones stay as they stood.
    rows.sort((one, other) => {
      const a = key(one, at), b = key(other, at);
      if (!a || !b) return (a ? 0 : 1) - (b ? 0 : 1);
      return down ? compare(b, a) : compare(a, b);
    });
    body.append(...rows);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const row = table.tHead.rows[table.tHead.rows.length - 1];
    for (const heading of row.cells) {
      if (heading.classList.contains("fixed")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading));
    }
  }
  for (const line of document.querySelectorAll(".sorts")) line.hidden = false;

  // Paper has no summary to press on: what is closed is opened for it, and closed again.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const held of closed) held.open = true;
  });
  addEventListener("afterprint", () => {
    for (const held of closed) held.open = false;
    closed = [];
  });
})();
