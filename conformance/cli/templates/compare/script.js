"use strict";
// The page can be read without this: it filters rows and columns, and keeps the filters in the address of the page.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const tables = [document.getElementById("matrix"), document.getElementById("choices")].filter(Boolean);
  const rows = tables.flatMap((table) => all("tbody tr", table).map((row) => ({ row, text: row.textContent.toLowerCase() })));
  const lists = ["level", "rows", "columns"];

  const ticked = (name) => all(`input[name=${name}]:checked`, form).map((box) => box.value);

  const read = () => {
    const query = new URLSearchParams(location.search);
    for (const name of lists) {
      const values = (query.get(name) || "").split(",");
      for (const box of all(`input[name=${name}]`, form)) box.checked = values.includes(box.value);
    }
    form.elements.text.value = query.get("text") || "";
  };

  const keep = () => {
    const query = new URLSearchParams();
    for (const name of lists) if (ticked(name).length) query.set(name, ticked(name).join(","));
    if (form.elements.text.value) query.set("text", form.elements.text.value);
    const search = query.size ? `?${query.toString().replaceAll("%2C", ",")}` : "";
    history.replaceState(null, "", location.pathname + search + location.hash);
  };

  const apply = () => {
    const level = ticked("level");
    const wanted = ticked("rows");
    const columns = ticked("columns").map(Number);
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const visible = (index) => index === 0 || !columns.length || columns.includes(index);
    for (const table of tables) {
      for (const row of all("tr", table)) [...row.cells].forEach((cell, index) => { cell.hidden = !visible(index); });
    }
    let count = 0;
    for (const { row, text } of rows) {
      const cells = [...row.cells].slice(1).filter((cell) => !cell.hidden);
      const contents = new Set(cells.map((cell) => cell.textContent).filter((content) => content !== "–"));
      const matches =
        (!level.length || !row.dataset.level || level.includes(row.dataset.level)) &&
        (!wanted.includes("differs") || contents.size > 1) &&
        (!wanted.includes("broken") || !row.dataset.level || cells.some((cell) => cell.classList.contains("broken"))) &&
        words.every((word) => text.includes(word));
      row.hidden = !matches;
      count += matches;
    }
    shown.textContent = `${count} of ${rows.length} rows shown`;
  };

  const changed = () => { apply(); keep(); };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  // The boxes are cleared after this event.
  form.addEventListener("reset", () => setTimeout(changed));
  addEventListener("popstate", () => { read(); apply(); });
  form.hidden = false;
  read();
  apply();
})();
