// Clicks through the comparison.
const matrix = one("#matrix");
const rows = all("tbody tr", matrix);
const total = rows.length + all("#choices tbody tr").length;
const visible = () => rows.filter((row) => row.checkVisibility());
const said = () => one("#shown").textContent;
const box = (name, value) => one(`input[name=${name}][value="${value}"]`);

is("the style is applied", getComputedStyle(one("h1")).fontWeight, "700");
is("the filters appear", one("#filters").hidden, false);
is("all are shown at first", said(), `${total} of ${total} rows shown`);
is("no script got in", document.scripts.length, 2);

box("rows", "broken").click();
const broken = rows.filter((row) => row.querySelector(".broken"));
is("only rows with a broken cell are shown", visible().join() === broken.join() && visible().length, broken.length);
is("the address keeps it", location.search, "?rows=broken");
box("columns", "1").click();
is("one column is left", all("thead th", matrix).filter((cell) => cell.checkVisibility()).length, 2);
is("the address keeps both", location.search, "?rows=broken&columns=1");
one("button[type=reset]").click();
await settled();
is("clearing shows all", said(), `${total} of ${total} rows shown`);
is("the address is clear again", location.search, "");

const links = all("td a", matrix).map((link) => link.getAttribute("href"));
is("cells lead to their reasons", links.length > 0 && links.every((link) => document.getElementById(link.slice(1))), true);
const named = all("td a, td [role=img]", matrix).every((element) => element.getAttribute("aria-label"));
is("cells say in words what they show", named, true);
