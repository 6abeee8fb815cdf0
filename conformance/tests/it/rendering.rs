//! What people and machines are shown of one sample run.

use animal_store_conform::formats::FORMATS;
use animal_store_conformance::report::text::Detail;
use animal_store_conformance::report::{KeyAlias, text};

use crate::sample;
use crate::support::check;

#[test]
fn the_text_report_is_the_reviewed_one() {
    let plain = |detail, columns| {
        anstream::adapter::strip_str(text::render(&sample::report(), detail, columns).as_str()).to_string()
    };
    check("report-text", &plain(Detail::Normal, 80));
    check("report-text-quiet", &plain(Detail::Quiet, 80));
    check("report-text-verbose", &plain(Detail::Verbose, 80));
    check("report-text-narrow", &plain(Detail::Normal, 40));
    let coloured = text::render(&sample::report(), Detail::Quiet, 80).to_string();
    check("report-text-colour", &coloured.replace('\u{1b}', "ESC"));
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
fn the_verdict_comes_first_and_last() {
    let shown = sample::report().to_string();
    assert!(shown.starts_with("VIOLATES  http://127.0.0.1:8080/v1\n"), "{shown}");
    assert!(shown.lines().last().expect("a line").starts_with("VIOLATES  6 requests with the key"), "{shown}");
}

#[test]
fn the_reports_for_machines_are_the_reviewed_ones() {
    for format in &FORMATS {
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
    for format in &FORMATS {
        let rendered = format.render(&report).to_string();
        let acting: Vec<char> = rendered
            .chars()
            .filter(|c| c.is_control() && !"\n\t".contains(*c) || "\u{202e}\u{2028}\u{fffe}".contains(*c))
            .collect();
        assert!(acting.is_empty(), "{}: {acting:?}", format.name);
    }
}

#[test]
fn the_report_holds_every_exchange_with_the_key_it_came_with() {
    let report = sample::report();
    let aliases: Vec<KeyAlias> = report.exchanges.iter().map(|exchange| exchange.key).collect();
    use KeyAlias::{Main, None, Other, Quota};
    assert_eq!(aliases, [Main, Main, None, Quota, Other, Main, Main, Main]);
    let points: Vec<(usize, Option<i64>)> =
        report.timeline.iter().map(|point| (point.exchange, point.remaining)).collect();
    assert_eq!(
        points,
        [(1, Some(59)), (2, Some(58)), (4, Some(59)), (5, Some(0)), (6, Some(57)), (7, Some(56)), (8, Some(57))]
    );
    for tally in report.coverage.iter().flat_map(|section| &section.tallies) {
        let found = [tally.pass, tally.fail, tally.known_failing, tally.stale_known_failing, tally.not_exercised];
        let all = found.iter().sum::<usize>() + tally.observed + tally.not_selected;
        assert_eq!(all, tally.requirements, "{tally:?}");
    }
    let counted: usize = report.coverage.iter().flat_map(|s| &s.tallies).map(|tally| tally.requirements).sum();
    assert_eq!(counted, report.requirements.len());
}
