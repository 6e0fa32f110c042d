"use strict";
// Filters rows by words and menus, and sorts them by a column's text; both keep to this page's own table.
const form = document.querySelector("form");
const body = document.querySelector("tbody");
const rows = [...body.rows];

function filter() {
  const words = form.querySelector("input").value.toLowerCase().split(/\s+/);
  const menus = [...form.querySelectorAll("select")].filter((menu) => menu.value);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) ||
      !menus.every((menu) => row.querySelector(`[data-is="${menu.name}"]`).textContent.startsWith(menu.value));
  }
  form.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
}

function sort(head) {
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = (row) => row.cells[head.cellIndex].textContent;
  rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), "en", { numeric: true }));
  body.append(...rows);
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentElement));
}
filter();
