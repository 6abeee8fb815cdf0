"use strict";
// The page can be read without this: it filters the requirements, opens what a link leads to, and copies commands.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing-shown");
  const groups = all(".group");
  const requirements = all(".requirement").map((element) => ({ element, text: element.textContent.toLowerCase() }));

  // Within a group of boxes any may match; none ticked is as good as all.
  const ticked = (name) => new Set(all(`input[name=${name}]:checked`, form).map((box) => box.value));

  const apply = () => {
    const status = ticked("status");
    const level = ticked("level");
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, text } of requirements) {
      const matches =
        (!status.size || status.has(element.dataset.status)) &&
        (!level.size || level.has(element.dataset.level)) &&
        words.every((word) => text.includes(word));
      element.hidden = !matches;
      count += matches;
    }
    const filters = status.size + level.size + words.length > 0;
    for (const group of groups) {
      group.hidden = !group.querySelector(".requirement:not([hidden])");
      if (filters) group.querySelector("details").open = true;
    }
    nothing.hidden = count > 0;
    shown.textContent = `${count} of ${requirements.length} shown`;
  };

  const follow = () => {
    const target = document.querySelector("#requirements :target");
    if (!target) return;
    if (target.closest("[hidden]")) {
      form.reset();
      apply();
    }
    for (let at = target; at; at = at.parentElement.closest("details")) if (at.matches("details")) at.open = true;
    target.scrollIntoView();
  };

  const toggle = (open) => {
    for (const details of all(".group > details, .requirement")) if (!details.closest("[hidden]")) details.open = open;
  };

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  // The boxes are cleared after this event.
  form.addEventListener("reset", () => setTimeout(apply));
  document.getElementById("open-all").addEventListener("click", () => toggle(true));
  document.getElementById("close-all").addEventListener("click", () => toggle(false));
  addEventListener("hashchange", follow);
  // A link to where the page is already changes no hash, but what it leads to may have been filtered out or closed since.
  addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow();
  });
  addEventListener("beforeprint", () => {
    for (const details of all(".group > details, .requirement:is(.violated, .stale-known-failing, .warning)")) details.open = true;
  });

  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const command = button.parentElement.querySelector("code");
      let done = true;
      try {
        await navigator.clipboard.writeText(command.textContent);
      } catch {
        // Without permission for the clipboard, mark the command, so that it can be copied by hand.
        getSelection().selectAllChildren(command);
        done = false;
      }
      button.textContent = done ? "Copied" : "Marked: press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  form.hidden = false;
  apply();
  follow();
})();
