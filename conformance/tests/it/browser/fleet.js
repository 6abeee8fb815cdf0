// Looks at the table of the replicas.
const table = one("[aria-labelledby=replicas-title] table");
const replicas = all("tbody tr", table);
is("each replica has a row", replicas.length > 1 && replicas.every((row) => row.cells.length === table.tHead.rows[0].cells.length), true);
is("each row is named by its address", replicas.every((row) => row.cells[0].matches("th[scope=row]")), true);
is("findings lead to their requirements", all("a", table).every((link) => document.getElementById(link.getAttribute("href").slice(1))?.matches(".requirement")), true);
