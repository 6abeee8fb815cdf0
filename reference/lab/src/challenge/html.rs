//! The report as one page that needs no network and no script.

use std::fmt::Write;

use super::report::Report;
use crate::printable::Printable;

/// Scripts and resources that found a way into the text are neither run nor loaded.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'\">\n";

/// The report as an HTML page, for people.
pub(super) fn page(report: &Report) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>What a test suite notices</title>\n{POLICY}</head>\n"
    );
    out.push_str("<body>\n<main>\n<h1>What a test suite notices</h1>\n");
    summary(&mut out, report);
    requirements(&mut out, report);
    missed(&mut out, report);
    refused(&mut out, report);
    out.push_str("</main>\n<footer>This page needs no network and no script.</footer>\n</body>\n</html>\n");
    out
}

/// A text as HTML shows it, in elements and in attributes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn summary(out: &mut String, report: &Report) {
    let (faults, choices, lawful) = (report.faults.len(), report.choices.len(), report.lawful.len());
    let _ = writeln!(
        out,
        "<pre class=\"wraps\"><code>{}</code></pre>\n<dl>\n<dt>Faults</dt><dd>{} of {faults} noticed</dd>\n\
         <dt>Lawful choices</dt><dd>{} of {choices} wrongly refused</dd>\n\
         <dt>Lawful seeds</dt><dd>{} of {lawful} wrongly refused</dd>\n\
         <dt>Plain reference</dt><dd>accepted in {:.1} s, with a key on the {} plan</dd>\n</dl>",
        escape(report.command.as_str()),
        faults - report.missed().count(),
        report.refused_choices().count(),
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
    if report.requirements.is_empty() {
        return;
    }
    section(out, "requirements", "By requirement");
    out.push_str(
        "<table>\n<caption>Faults by the requirement that they break, and lawful choices by the one that \
         leaves them open</caption>\n<thead><tr><th scope=\"col\">Requirement</th>\
         <th scope=\"col\">Faults noticed</th><th scope=\"col\">Choices refused</th></tr></thead>\n<tbody>\n",
    );
    for row in &report.requirements {
        // The bar repeats the number beside it.
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{0}</code></th><td>{2} of {1} <meter max=\"{1}\" value=\"{2}\" aria-hidden=\"true\"></meter>\
             </td><td>{4} of {3}</td></tr>",
            escape(row.requirement),
            row.faults,
            row.noticed,
            row.choices,
            row.refused,
        );
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}

fn missed(out: &mut String, report: &Report) {
    if report.missed().next().is_none() {
        return;
    }
    section(out, "missed", "Faults that were missed");
    out.push_str(
        "<p><code>animal-lab serve --dev --fault NAME</code> starts such a server.</p>\n<ul class=\"entries\">\n",
    );
    for fault in report.missed() {
        let (name, does, like) = (escape(&fault.name), escape(fault.does), escape(fault.as_with));
        let seconds = fault.seconds;
        let _ = writeln!(
            out,
            "<li><code>{name}</code><p>{does}</p><small>As with {like}. The command took {seconds:.1} s.</small></li>"
        );
    }
    out.push_str("</ul>\n</section>\n");
}

fn refused(out: &mut String, report: &Report) {
    if report.refused_choices().next().is_some() {
        section(out, "refused-choices", "Lawful choices that were refused");
        out.push_str("<p><code>animal-lab serve --dev --choose NAME</code> starts such a server.</p>\n");
        let mut requirement = "";
        for choice in report.refused_choices() {
            if requirement != choice.requirement {
                requirement = choice.requirement;
                let _ = writeln!(out, "<h3><code>{}</code></h3>", escape(requirement));
            }
            let (name, verdict, seconds) = (escape(&choice.name), choice.verdict, choice.seconds);
            let (does, like) = (escape(choice.does), escape(choice.as_with));
            let _ = write!(
                out,
                "<details>\n<summary><code>{name}</code>: the command {verdict} after {seconds:.1} s</summary>\n\
                 <p>{does} As with {like}.</p>\n{}</details>\n",
                output(choice.output.as_ref())
            );
        }
        out.push_str("</section>\n");
    }
    if report.refused().next().is_none() {
        return;
    }
    section(out, "refused", "Lawful servers with many choices that were refused");
    for lawful in report.refused() {
        let _ = write!(
            out,
            "<details>\n<summary><code>animal-lab serve --dev --lawful {}</code>: the command {} after {:.1} s</summary>\n\
             <h3>Choices</h3>\n<ul>\n",
            lawful.seed, lawful.verdict, lawful.seconds
        );
        for choice in &lawful.choices {
            let _ = writeln!(out, "<li><code>{}</code></li>", escape(choice));
        }
        let _ = write!(out, "</ul>\n<h3>Output</h3>\n{}</details>\n", output(lawful.output.as_ref()));
    }
    out.push_str("</section>\n");
}

/// The end of an output.
fn output(output: Option<&Printable>) -> String {
    format!("<pre class=\"wraps\">{}</pre>\n", escape(output.map_or("", Printable::as_str)))
}

/// The beginning of a section, with its heading.
fn section(out: &mut String, id: &str, title: &str) {
    let _ = writeln!(out, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>");
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sample;
    use super::*;

    #[test]
    fn the_page_names_what_was_missed_and_neutralises_the_output_of_the_command() {
        let page = page(&sample());
        assert!(page.contains("<li><code>list.limit-default."), "{page}");
        assert!(page.contains("<dd>1 of 2 noticed</dd>") && page.contains("<dd>1 of 2 wrongly refused</dd>"), "{page}");
        assert!(page.contains("<h3><code>list.order</code></h3>\n<details>\n<summary><code>list.order."), "{page}");
        assert!(page.contains("&lt;b&gt;expected 20, got 50&lt;/b&gt;") && !page.contains("<b>"), "{page}");
    }
}
