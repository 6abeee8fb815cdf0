//! Judges recorded traffic.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use animal_store_rules::trace::Context;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_traffic::{Format, Unreadable, har, lines};

use super::parts::{Parts, Run};
use super::recorded_judge::RecordedJudge;
use super::source;
use super::terms::Terms;
use super::unusable::UnusableRecording;
use crate::report::Report;

/// Judges recorded traffic: traces that `--record` wrote, and HTTP Archives. `-` is standard input.
///
/// # Errors
///
/// [`UnusableRecording`], when a file cannot be read to its end: then nothing is judged.
pub fn judge(files: &[PathBuf], terms: &Terms) -> Result<Report, UnusableRecording> {
    let mut recorded = RecordedJudge::new(terms.clone());
    let mut report = None;
    for file in files {
        match read_file(&mut recorded, file)? {
            // One recorded run gives the report that the run gave.
            Some(run) if files.len() == 1 => report = Some(run.conclude(terms)),
            Some(run) => drop(recorded.add(run.trace)),
            None => {}
        }
    }
    let report = report.unwrap_or_else(|| recorded.report(terms.rerun_command(files)));
    if report.requirements.iter().any(|requirement| requirement.selected) {
        Ok(report)
    } else {
        Err(UnusableRecording::NothingSelected(report.side.as_str()))
    }
}

/// Reads a file. A whole run is returned without a judgement; other traffic is judged here.
fn read_file(recorded: &mut RecordedJudge, path: &Path) -> Result<Option<Run>, UnusableRecording> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let named = |error: UnusableRecording| match error {
        UnusableRecording::Unreadable(_, error) => UnusableRecording::Unreadable(name.clone(), error),
        other => other,
    };
    let before = recorded.exchanges();
    let run = source::open(path, &name, |text, attached| read_text(recorded, text, attached, &name)).map_err(named)?;
    let is_empty = run.as_ref().is_none_or(|run| run.trace.exchanges.is_empty());
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
) -> Result<Option<Run>, UnusableRecording> {
    let format = animal_store_traffic::format(&mut text)?;
    let mut parts = Parts::new(recorded);
    let (head, context) = match format {
        Format::Lines => {
            let head =
                lines::read(&mut text, |head, exchange| parts.take(Some(head), &head.context.base_url, exchange))?;
            let context = head.context()?;
            (Some(head), context)
        }
        Format::Har => {
            let chosen = parts.recorded.terms.base_url.clone();
            let summary = har::read(text, chosen.as_deref(), attached, |summary, exchange| {
                let base_url = summary.base_url.as_deref().unwrap_or_default();
                parts.take(None, base_url, exchange)
            })?;
            describe(parts.recorded, &summary, name);
            let base_url = summary.base_url.as_deref().unwrap_or_default();
            (None, parts.recorded.context(base_url, Extent::Sample))
        }
    };
    parts.recorded.recorded_at(&context.base_url)?;
    if let Some(written) = head.as_ref().and_then(|head| head.exchanges).filter(|written| *written != parts.taken) {
        let taken = parts.taken;
        if taken > written {
            // The file was put together from several.
            return Err(Unreadable::Mixed { written, found: taken }.into());
        }
        let note = format!(
            "{name}: {taken} of the {written} recorded exchanges; judged as a sample, because the others are missing"
        );
        parts.recorded.note(note);
        parts.judge(&Context { extent: Extent::Sample, ..context });
        return Ok(None);
    }
    match head.as_ref().filter(|head| head.context.extent == Extent::Run && !parts.is_divided) {
        Some(head) => parts.run(head, context, name).map(Some),
        None => {
            parts.judge(&context);
            Ok(None)
        }
    }
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
