//! The report as one page that needs no network and no script.

use std::fmt::Write;

use super::report::Report;
use crate::docs::escape;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>What a test suite notices</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  code, pre { font: 14px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; padding: .75rem; border: 1px solid #8885; border-radius: .4rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid #8883; }
  td.number, th.number { text-align: right; }
  meter { width: 8rem; }
</style>
<main>
<h1>What a test suite notices</h1>
";

/// The report for people who were not there.
pub(super) fn page(report: &Report) -> String {
    let mut out = String::from(HEAD);
    summary(&mut out, report);
    requirements(&mut out, report);
    missed(&mut out, report);
    refused(&mut out, report);
    out.push_str("</main>\n</html>\n");
    out
}

fn summary(out: &mut String, report: &Report) {
    let (faults, lawful) = (report.faults.len(), report.lawful.len());
    let _ = writeln!(
        out,
        "<p><code>{}</code></p>\n<p>{} of {faults} faults were noticed, and {} of {lawful} lawful servers wrongly refused. The \
         plain reference was accepted in {:.1} s, with a key on the {} plan.</p>",
        escape(&report.command),
        faults - report.missed().count(),
        report.refused().count(),
        report.plain_seconds,
        report.plan,
    );
    if let Some(seconds) = report.fast_windows_seconds {
        let _ = writeln!(
            out,
            "<p>Windows of requests per minute lasted {seconds} s: against the specification, so that the suite waits less.</p>"
        );
    }
    if report.interrupted {
        out.push_str("<p>It was interrupted: what was not tried is not counted.</p>\n");
    }
}

fn requirements(out: &mut String, report: &Report) {
    out.push_str("<h2>By requirement</h2>\n<table>\n<tr><th>requirement<th class=\"number\">faults<th class=\"number\">noticed<th>\n");
    for row in &report.requirements {
        let _ = writeln!(
            out,
            "<tr><td><code>{0}</code><td class=\"number\">{1}<td class=\"number\">{2}<td><meter max=\"{1}\" value=\"{2}\">{2} of \
             {1}</meter>",
            escape(row.requirement),
            row.faults,
            row.noticed,
        );
    }
    out.push_str("</table>\n");
}

fn missed(out: &mut String, report: &Report) {
    if report.missed().next().is_none() {
        return;
    }
    out.push_str(
        "<h2>Faults that were missed</h2>\n<p><code>reference serve --dev --fault NAME</code> starts such a server.</p>\n\
         <table>\n<tr><th>name<th>what it does<th>as with<th class=\"number\">seconds\n",
    );
    for fault in report.missed() {
        let (name, does, like) = (escape(&fault.name), escape(fault.does), escape(fault.as_with));
        let _ =
            writeln!(out, "<tr><td><code>{name}</code><td>{does}<td>{like}<td class=\"number\">{:.1}", fault.seconds);
    }
    out.push_str("</table>\n");
}

fn refused(out: &mut String, report: &Report) {
    if report.refused().next().is_none() {
        return;
    }
    out.push_str("<h2>Lawful servers that were refused</h2>\n");
    for lawful in report.refused() {
        let _ = write!(
            out,
            "<details>\n<summary><code>reference serve --dev --lawful {}</code>: the command {} after {:.1} s</summary>\n<ul>\n",
            lawful.seed, lawful.verdict, lawful.seconds
        );
        for choice in &lawful.choices {
            let _ = writeln!(out, "<li><code>{}</code>", escape(choice));
        }
        let _ = write!(out, "</ul>\n<pre>{}</pre>\n</details>\n", escape(&lawful.output));
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sample;
    use super::*;

    #[test]
    fn the_page_names_what_was_missed_and_neutralises_the_output_of_the_command() {
        let page = page(&sample());
        assert!(page.contains("<td><code>list.limit-default.fifty</code>"), "{page}");
        assert!(page.contains("1 of 2 faults were noticed, and 1 of 2 lawful servers wrongly refused"), "{page}");
        assert!(page.contains("&lt;b&gt;expected 20, got 50&lt;/b&gt;") && !page.contains("<b>"), "{page}");
    }
}
