//! What people and machines are shown of one sample run.

use animal_store_conform::formats::FORMATS;
use animal_store_conformance::recorded::{self, Terms};
use animal_store_conformance::report::text::{self, Detail};

use crate::sample;
use crate::support::{check, read, root};

#[test]
fn the_text_report_is_the_reviewed_one() {
    let plain = |detail| anstream::adapter::strip_str(text::render(&sample::report(), detail, 80).as_str()).to_string();
    check("report-text", &plain(Detail::Normal));
    check("report-text-verbose", &plain(Detail::Verbose));
}

/// The picture in the README: the report on a recorded run with a server that shouts one of the three statuses. `INSTA_UPDATE=always` draws
/// it anew.
#[test]
fn the_picture_in_the_readme_is_a_report_as_it_is_printed() {
    const COLUMNS: usize = 100;
    let mut broken = String::new();
    for line in read("fixtures/traces/free.jsonl").lines() {
        let (request, response) = line.split_at(line.find(r#""response":"#).unwrap_or(line.len()));
        broken += &format!("{request}{}\n", response.replace(r#"\"sold\""#, r#"\"SOLD\""#));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.jsonl");
    std::fs::write(&trace, broken).expect("a trace");
    let report = recorded::judge(&[trace], &Terms::default()).expect("a report");
    let printed = text::render(&report, Detail::Quiet, COLUMNS).to_string();
    // Commands are whole lines, which a picture cannot wrap.
    let drawn = printed.lines().take_while(|line| !line.contains("Rerun command")).map(|line| {
        match line.char_indices().nth(COLUMNS) {
            Some((end, _)) if line.trim_start().starts_with("curl") => format!("{}…\n", &line[..end]),
            _ => format!("{line}\n"),
        }
    });
    let drawn = anstyle_svg::Term::new().render_svg(&drawn.collect::<String>());
    let file = ".github/report.svg";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(root().join(file), &drawn).expect("the picture can be written");
    }
    assert!(read(file) == drawn, "{file} shows an older report: INSTA_UPDATE=always draws it anew");
}

#[test]
fn no_line_is_wider_than_the_terminal_but_for_commands_which_are_whole() {
    for (detail, columns) in [(Detail::Normal, 80), (Detail::Verbose, 80), (Detail::Normal, 40), (Detail::Quiet, 200)] {
        let shown = anstream::adapter::strip_str(text::render(&sample::report(), detail, columns).as_str()).to_string();
        for line in shown.lines() {
            let is_command = ["curl ", "printf ", "conform "].iter().any(|name| line.trim_start().starts_with(name));
            assert!(is_command || unicode_width::UnicodeWidthStr::width(line) <= columns, "{columns}: {line}");
        }
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        let curls = sample::report().requirements.into_iter().filter(|r| r.violation).flat_map(|r| r.evidence);
        for curl in curls.take(1).flat_map(|evidence| evidence.exchanges.into_iter().take(1)).map(|e| e.curl) {
            assert!(lines.contains(&curl.as_str()), "{curl} is no line of its own");
        }
    }
}

#[test]
fn the_reports_for_machines_are_the_reviewed_ones() {
    for format in FORMATS {
        let report = if format.name == "markdown" { sample::report() } else { sample::short_report() };
        check(&format!("report-{}", format.name), &without_files(format.render(&report).as_str()));
    }
}

/// A page without its style, its script and the policy that names them, which are files to be reviewed by themselves.
fn without_files(page: &str) -> String {
    let mut page = page.to_owned();
    for (start, end) in
        [("<style>", "</style>"), ("<script>", "</script>"), ("Content-Security-Policy\" content=\"", "\">")]
    {
        if let Some((before, rest)) = page.split_once(start)
            && let Some((_, after)) = rest.split_once(end)
        {
            page = format!("{before}{start}…{end}{after}");
        }
    }
    page
}

#[test]
fn no_format_lets_through_what_could_act_on_a_terminal() {
    let report = sample::report();
    for format in FORMATS {
        let rendered = format.render(&report).to_string();
        let acting: Vec<char> = rendered
            .chars()
            .filter(|c| c.is_control() && !"\n\t".contains(*c) || "\u{202e}\u{2028}\u{fffe}".contains(*c))
            .collect();
        assert!(acting.is_empty(), "{}: {acting:?}", format.name);
    }
}
