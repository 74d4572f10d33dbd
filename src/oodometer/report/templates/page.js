"use strict";

// Sorting: a click on a heading sorts by its column, another one turns the order, a third gives back the first order.
function sortKey(row, column) {
  const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent.trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return { text, number: /^[-<]?[\d.]/.test(text) && Number.isFinite(number) ? number : null };
}

function compareRows(one, other, way) {
  if (one.text === "" || other.text === "") return (one.text === "") - (other.text === "");
  const order = one.number !== null && other.number !== null
    ? one.number - other.number : one.text.localeCompare(other.text);
  return way * order;
}

for (const table of document.querySelectorAll("table.sortable, table.errors")) {
  const first = [...table.tBodies].map((body) => [body, [...body.rows]]);
  const heads = [...table.tHead.rows[0].cells].filter((head) => !("plain" in head.dataset));
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.ariaSort = "none";
    button.addEventListener("click", () => {
      const before = head.ariaSort;
      for (const [body, rows] of first) body.append(...rows);
      for (const other of heads) other.ariaSort = "none";
      for (const row of table.querySelectorAll("tr.group")) row.hidden = before !== "ascending";
      if (before === "ascending") return;
      head.ariaSort = before === "descending" ? "ascending" : "descending";
      const rows = first.flatMap(([, rows]) => rows).filter((row) => !row.classList.contains("group"));
      const keys = new Map(rows.map((row) => [row, sortKey(row, head.cellIndex)]));
      const way = head.ariaSort === "ascending" ? 1 : -1;
      rows.sort((a, b) => compareRows(keys.get(a), keys.get(b), way));
      table.tBodies[0].append(...rows);
    });
  }
}

// Filtering: by the name of the corruption, in tables and charts alike.
for (const section of document.querySelectorAll("[data-filtered]")) {
  const box = section.querySelector(".filter"), input = box.querySelector("input");
  box.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const item of section.querySelectorAll("[data-name]"))
      item.classList.toggle("filtered", !item.dataset.name.toLowerCase().includes(wanted));
  });
}

// Hovering: what a point of a chart, or a cell, says. The same numbers stand in the tables.
const tip = document.getElementById("tip");
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest("svg [aria-label][aria-roledescription='point'], .cell[data-tip]");
  tip.hidden = mark === null;
  if (mark === null) return;
  tip.textContent = mark.dataset.tip ?? mark.getAttribute("aria-label");
  const box = mark.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${box.top - tip.offsetHeight - 8 > 0 ? box.top - tip.offsetHeight - 8 : box.bottom + 8}px`;
});

// On paper nothing unfolds, so what each run says is open there.
const unfolded = new Set();
addEventListener("beforeprint", () => {
  for (const panel of document.querySelectorAll("details[data-of-run]:not([open])")) {
    panel.open = true;
    unfolded.add(panel);
  }
});
addEventListener("afterprint", () => {
  for (const panel of unfolded) panel.open = false;
  unfolded.clear();
});
