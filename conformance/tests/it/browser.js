"use strict";
// Clicks through the report and writes a line for each thing looked at: "ok …" or "WRONG …".
(async () => {
  const lines = [];
  const is = (what, found, expected) =>
    lines.push(found === expected ? `ok ${what}` : `WRONG ${what}: ${found} instead of ${expected}`);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  const settled = () => new Promise((done) => setTimeout(done, 50));
  const violations = [];
  addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));

  const requirements = all(".requirement");
  const visible = () => requirements.filter((element) => element.offsetParent !== null);
  const total = requirements.length;
  const said = () => one("#shown").textContent;
  const box = (value) => one(`input[value=${value}]`);
  const type = (text) => {
    one("#search").value = text;
    one("#search").dispatchEvent(new Event("input", { bubbles: true }));
  };

  // Style and script are let in by their digests, and nothing else is asked for.
  is("the style is applied", getComputedStyle(one("h1")).fontWeight, "700");
  is("the filters appear", one("#filters").hidden, false);
  is("all are shown at first", said(), `${total} of ${total} shown`);
  is("nothing was loaded", performance.getEntriesByType("resource").length, 0);
  is("no picture got in", document.images.length, 0);
  is("no script got in", document.scripts.length, 2);

  // Filters.
  const broken = requirements.filter((element) => element.dataset.status === "broken");
  box("broken").click();
  is("only the broken ones are shown", visible().join() === broken.join() && visible().length, broken.length);
  is("their number is said", said(), `${broken.length} of ${total} shown`);
  is("a section without any is hidden", all(".group").every((group) => (group.offsetParent !== null) === broken.some((b) => group.contains(b))), true);
  box("warning").click();
  const warned = requirements.filter((element) => element.dataset.status === "warning");
  is("a second status adds to the first", visible().length, broken.length + warned.length);
  box("inferred").click();
  is("a level narrows", visible().every((element) => element.dataset.level === "inferred") && visible().length, warned.length);
  one("button[type=reset]").click();
  await settled();
  is("clearing shows all", visible().length, total);
  is("clearing unticks", all("input:checked").length, 0);
  type("Retry-After 429");
  is("words are looked for", visible().length > 0 && visible().length < total && visible().every((element) => /retry-after/i.test(element.textContent) && element.textContent.includes("429")), true);
  type("no such word anywhere");
  is("nothing to show is said", one("#nothing-shown").offsetParent !== null && said(), `0 of ${total} shown`);

  // Links.
  const closed = requirements.find((element) => !element.open);
  one(`.map a[href="#${closed.id}"]`).click();
  await settled();
  is("a link shows what was filtered out", closed.offsetParent !== null && said(), `${total} of ${total} shown`);
  is("and opens it", closed.open, true);
  type("no such word anywhere");
  one(`.map a[href="#${closed.id}"]`).click();
  await settled();
  is("the same link shows it again", closed.offsetParent !== null && said(), `${total} of ${total} shown`);
  const again = one(".exchange.again a");
  is("an exchange that stands elsewhere is led to", one(again.getAttribute("href")) !== null, true);

  // All at once.
  one("#close-all").click();
  is("all close", all(".requirement[open]").length, 0);
  dispatchEvent(new Event("beforeprint"));
  is("what is broken is open in print", broken.every((element) => element.open), true);
  one("#open-all").click();
  is("all open", all(".requirement[open]").length, total);
  is("commands can be copied", all(".copy").every((button) => button.offsetParent !== null || button.closest(".exchange:not([open])")), true);
  all("details").forEach((details) => { details.open = true; });

  // The keyboard reaches everything that can be used.
  const usable = all("a[href], button, input, summary").filter((element) => element.offsetParent !== null);
  const unreachable = usable.filter((element) => { element.focus(); return document.activeElement !== element; });
  is("the focus reaches everything", unreachable.map((element) => element.outerHTML).join(), "");

  is("code that scrolls can be reached", all("pre").every((element) => element.tabIndex === 0), true);
  is("the rerun command can be copied", one(".rerun .copy").offsetParent !== null, true);

  // Nothing sticks out, at this width.
  is("the page does not scroll sideways", document.documentElement.scrollWidth <= innerWidth, true);
  const small = all(".map a.cell, button, .chip").filter((element) => {
    const { width, height } = element.getBoundingClientRect();
    return element.offsetParent !== null && (width < 24 || height < 24) && !element.matches(".copy");
  });
  is("targets are large enough", small.length, 0);

  // Every text against what it stands on, as computed.
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = rgb(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest("svg, script") || !element.checkVisibility()) continue;
    const [one, other] = [rgb(getComputedStyle(element).color).slice(0, 3), ground(element)].map(luminance);
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faint.add(`${element.className || element.tagName} ${contrast.toFixed(2)}`);
  }
  is("every text can be read", [...faint].join(), "");
  is("the policy was never broken", violations.join(), "");

  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = lines.join("\n");
  document.body.append(found);
})();
