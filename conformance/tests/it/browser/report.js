// Clicks through the report.
const requirements = all(".requirement");
const visible = () => requirements.filter((element) => !element.closest("[hidden]"));
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
is("their sections open", broken.every((element) => element.checkVisibility()), true);
is("their number is said", said(), `${broken.length} of ${total} shown`);
is("a section without any is hidden", all(".group").every((group) => group.checkVisibility() === broken.some((b) => group.contains(b))), true);
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
is("nothing to show is said", one("#nothing-shown").checkVisibility() && said(), `0 of ${total} shown`);

// Links.
const closed = requirements.find((element) => !element.open);
one(`.cells a[href="#${closed.id}"]`).click();
await settled();
is("a link shows what was filtered out", closed.checkVisibility() && said(), `${total} of ${total} shown`);
is("and opens it", closed.open, true);
type("no such word anywhere");
one(`.cells a[href="#${closed.id}"]`).click();
await settled();
is("the same link shows it again", closed.checkVisibility() && said(), `${total} of ${total} shown`);
const again = one(".exchange.again a");
is("an exchange that stands elsewhere is led to", one(again.getAttribute("href")) !== null, true);

// All at once.
one("#close-all").click();
is("all close", all(".group > [open], .requirement[open]").length, 0);
dispatchEvent(new Event("beforeprint"));
is("what is broken is open in print", broken.every((element) => element.open && element.checkVisibility()), true);
one("#open-all").click();
is("all open", all(".requirement[open]").length, total);
is("commands can be copied", all(".copy").every((button) => button.checkVisibility() || button.closest(".exchange:not([open])")), true);
all("details").forEach((details) => { details.open = true; });
is("code that scrolls can be reached", all("pre").every((element) => element.tabIndex === 0), true);
is("the rerun command can be copied", one(".rerun .copy").checkVisibility(), true);
