// What every page is looked at for. The script of a page stands between this and the call of `finish`, and adds lines to it: "ok …"
// or "WRONG …".
const lines = [];
const is = (what, found, expected) =>
  lines.push(found === expected ? `ok ${what}` : `WRONG ${what}: ${found} instead of ${expected}`);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
const settled = () => new Promise((done) => setTimeout(done, 50));
const refusals = [];
addEventListener("securitypolicyviolation", (event) => refusals.push(event.blockedURI));

// Every text against what it stands on, as computed.
const faintTexts = () => {
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = rgb(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
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
  return [...faint].join();
};

const finish = async () => {
  const small = all(".cells a, button, .chip").filter((element) => {
    const { width, height } = element.getBoundingClientRect();
    return element.checkVisibility() && (width < 24 || height < 24) && !element.matches(".copy");
  });
  is("targets are large enough", small.length, 0);
  all("details").forEach((details) => { details.open = true; });
  await settled();
  lines.push(`ok ${innerWidth} pixels wide`);

  // The keyboard reaches everything that can be used.
  const usable = all("a[href], button, input, summary").filter((element) => element.checkVisibility());
  const unreachable = usable.filter((element) => { element.focus(); return document.activeElement !== element; });
  is("the focus reaches everything", unreachable.map((element) => element.outerHTML).join(), "");
  const scrolling = all("pre, .scroll").filter((element) => element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
  is("what scrolls can be reached", scrolling.every((element) => element.tabIndex === 0), true);

  // Nothing sticks out, at this width.
  is("the page does not scroll sideways", document.documentElement.scrollWidth <= innerWidth, true);
  is("every text can be read", faintTexts(), "");
  is("nothing was loaded", performance.getEntriesByType("resource").length, 0);
  is("no picture got in", document.images.length, 0);
  is("the policy was never broken", refusals.join(), "");

  if (globalThis.axe) {
    const { violations } = await axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } });
    const found = violations.map(({ id, nodes }) => `${id} at ${nodes.map(({ target }) => target).join(" and ")}`);
    is(`axe ${axe.version} finds nothing`, found.join("; "), "");
  }
  if (parent !== window) return parent.postMessage(lines.join("\n"), "*");
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = lines.join("\n");
  document.body.append(found);
};
