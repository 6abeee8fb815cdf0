//! Judges recorded traffic.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_traffic::{Format, Unreadable, har, lines};
use serde::Deserialize;

use super::UnusableRecording;
use super::parts::Parts;
use super::record::RunOptions;
use super::recorded_judge::RecordedJudge;
use super::source;
use super::terms::Terms;
use crate::report::Report;
use crate::run::conclude;

/// Judges recorded traffic: traces that `--record` wrote, and HTTP Archives. `-` is standard input.
///
/// # Errors
///
/// [`UnusableRecording`], when a file cannot be read to its end: then nothing is judged.
pub fn judge(files: &[PathBuf], terms: &Terms) -> Result<Report, UnusableRecording> {
    let mut recorded = RecordedJudge::new(terms.clone());
    let mut report = None;
    for file in files {
        let Some((trace, mut run)) = read_file(&mut recorded, file)? else { continue };
        if files.len() == 1 {
            // One recorded run gives the report that the run gave.
            terms.apply_to(&mut run.options);
            report = Some(conclude(&trace, &run.options, run.ended_early, run.took));
        } else {
            recorded.add(trace);
        }
    }
    let report = report.unwrap_or_else(|| recorded.report(terms.rerun_command(files)));
    if report.requirements.iter().any(|requirement| requirement.selected) {
        Ok(report)
    } else {
        Err(UnusableRecording::NothingSelected(report.side.as_str()))
    }
}

/// Reads a file. A whole run is returned with its options, without a judgement; other traffic is judged here.
fn read_file(recorded: &mut RecordedJudge, path: &Path) -> Result<Option<(Trace, RunOptions)>, UnusableRecording> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let named = |error: UnusableRecording| match error {
        UnusableRecording::Unreadable(_, error) => UnusableRecording::Unreadable(name.clone(), error),
        other => other,
    };
    let before = recorded.exchanges();
    let run = source::open(path, &name, |text, attached| read_text(recorded, text, attached, &name)).map_err(named)?;
    let is_empty = run.as_ref().is_none_or(|(trace, _)| trace.exchanges.is_empty());
    if is_empty && recorded.exchanges() == before {
        let hint = recorded.notes.last().map(|note| format!("\n  {note}")).unwrap_or_default();
        return Err(UnusableRecording::Nothing(name, hint));
    }
    Ok(run)
}

fn read_text(
    recorded: &mut RecordedJudge,
    mut text: Box<dyn BufRead + '_>,
    attached: &mut har::Attached<'_>,
    name: &str,
) -> Result<Option<(Trace, RunOptions)>, UnusableRecording> {
    if animal_store_traffic::format(&mut text)? == Format::Har {
        let chosen = recorded.terms.base_url.clone();
        let mut parts = Parts::new(recorded, true);
        let summary = har::read(text, chosen.as_deref(), attached, |summary, exchange| {
            if parts.taken == 0 {
                parts.recorded.side.get_or_insert(Side::Server);
                parts.context = parts.recorded.context(summary.base_url.as_deref().unwrap_or_default(), Extent::Sample);
            }
            parts.take(exchange);
            Ok::<(), UnusableRecording>(())
        })?;
        describe(parts.recorded, &summary, name);
        parts.recorded.recorded_at(summary.base_url.as_deref().unwrap_or_default())?;
        parts.judge();
        return Ok(None);
    }
    let mut parts = Parts::new(recorded, false);
    let head = lines::read(&mut text, |head, exchange| {
        if parts.taken == 0 {
            // The side that a proxy judged.
            let side = head.options.get("side").and_then(|side| Side::deserialize(side).ok());
            parts.recorded.side.get_or_insert(side.unwrap_or(Side::Server));
            parts.context = head.context()?;
        }
        parts.take(exchange);
        Ok::<(), UnusableRecording>(())
    })?;
    parts.context = head.context()?;
    parts.recorded.recorded_at(&parts.context.base_url)?;
    let taken = parts.taken;
    let written = head.exchanges.unwrap_or(taken);
    if taken > written {
        // The file was put together from several.
        return Err(Unreadable::Mixed { written, found: taken }.into());
    }
    if taken < written {
        parts.recorded.note(format!(
            "{name}: {taken} of the {written} recorded exchanges; judged as a sample, because the others are missing"
        ));
        parts.context.extent = Extent::Sample;
    }
    if parts.context.extent != Extent::Run || parts.is_divided {
        parts.judge();
        return Ok(None);
    }
    let wrong = |problem: String| UnusableRecording::Options(name.to_owned(), problem);
    let run: RunOptions = serde_json::from_value(head.options).map_err(|error| wrong(error.to_string()))?;
    let run = run.restored(&parts.context).ok_or_else(|| wrong("a run without a key".to_owned()))?;
    Ok(Some((parts.into_run(), run)))
}

/// Notes the number of entries of an archive that were left out, with the reasons.
fn describe(recorded: &mut RecordedJudge, summary: &har::Summary, name: &str) {
    if summary.left_out.is_empty() {
        return;
    }
    let reasons: Vec<String> =
        summary.left_out.iter().map(|(reason, count)| format!("{count} {}", reason.as_str())).collect();
    let left_out: usize = summary.left_out.values().sum();
    recorded.note(format!("{name}: {left_out} of {} entries left out: {}", summary.entries, reasons.join(", ")));
    for har::UnreadableEntry { index, reason } in &summary.unreadable {
        recorded.note(format!("{name}: log.entries[{index}] cannot be read: {reason}"));
    }
}
