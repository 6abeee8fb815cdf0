//! The chart of the rate-limit window: Remaining, Limit, 429 responses and new windows.
//!
//! A run sends a hundred requests in a second and then waits for most of a minute, so a linear time axis would show a few vertical
//! lines. Here each response takes the same width, and a pause takes a fixed width and has a label.

mod geometry;

use jiff::Timestamp;

pub(super) use self::geometry::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use self::geometry::{Places, places, steps};
use super::labels::{figure, seconds};
use animal_store_conformance::layout::counted;
use animal_store_conformance::report::{KeyAlias, WindowPoint};

/// The minimum distance between time labels.
const LABEL_ROOM: f64 = 54.0;
/// The maximum number of events listed.
const MAX_EVENTS: usize = 40;

/// The chart for one key.
#[derive(Debug, Default)]
pub(super) struct Chart {
    /// The key.
    pub(super) title: &'static str,
    /// A description of the chart.
    pub(super) summary: String,
    /// Remaining, as an SVG path.
    pub(super) remaining: String,
    /// The area below Remaining, as an SVG path.
    pub(super) area: String,
    /// Limit, as an SVG path.
    pub(super) limit: String,
    /// The labels of the value axis, with their heights.
    pub(super) figures: Vec<(String, f64)>,
    /// The labels of the time axis, with their positions.
    pub(super) times: Vec<(String, f64)>,
    /// Pauses: left edge, width, and label.
    pub(super) pauses: Vec<(f64, f64, String)>,
    /// The positions of new windows.
    pub(super) windows: Vec<f64>,
    /// The 429 responses.
    pub(super) refused: Vec<Refused>,
    /// The events as text.
    pub(super) events: Vec<String>,
    /// The number of events not listed.
    pub(super) further_events: usize,
}

/// Consecutive 429 responses.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    /// The position of the middle response.
    pub(super) x: f64,
    /// The height of the first response.
    pub(super) y: f64,
    /// The number of responses.
    pub(super) count: usize,
}

/// A response, and its time in seconds since the first one of the run.
struct Sample<'r> {
    point: &'r WindowPoint,
    at: f64,
}

/// A chart for each valid key with at least two responses with rate-limit headers.
pub(super) fn charts(timeline: &[WindowPoint]) -> Vec<Chart> {
    let time = |point: &WindowPoint| point.at.parse::<Timestamp>().ok();
    let Some(start) = timeline.iter().find_map(time) else { return Vec::new() };
    [(KeyAlias::Main, "The main key"), (KeyAlias::Quota, "The quota key")]
        .into_iter()
        .filter_map(|(key, title)| {
            let samples: Vec<Sample> = timeline
                .iter()
                .filter(|point| point.key == key)
                .filter_map(|point| Some(Sample { point, at: time(point)?.duration_since(start).as_secs_f64() }))
                .collect();
            let reported = samples.iter().filter(|sample| sample.point.remaining.is_some()).count();
            (reported >= 2).then(|| Chart { title, ..chart(&samples) })
        })
        .collect()
}

fn chart(samples: &[Sample]) -> Chart {
    let places = places(&samples.iter().map(|sample| sample.at).collect::<Vec<f64>>());
    let height = scale(samples);
    let paths = |value: fn(&WindowPoint) -> Option<i64>| {
        let heights: Vec<Option<f64>> = samples.iter().map(|sample| value(sample.point).map(&height)).collect();
        steps(&places.xs, &heights)
    };
    let (remaining, area) = paths(|point| point.remaining);
    let (limit, _) = paths(|point| point.limit);
    let mut chart = Chart {
        remaining,
        area,
        limit,
        refused: refused(samples, &places, &height),
        times: times(samples, &places),
        figures: figures(samples, &height),
        pauses: places.pauses.iter().map(|(x, gap)| (*x, geometry::PAUSE_WIDTH, seconds(*gap))).collect(),
        ..Chart::default()
    };
    let mut events = Vec::new();
    for (index, (sample, x)) in samples.iter().zip(&places.xs).enumerate() {
        let point = sample.point;
        let before = index.checked_sub(1).and_then(|before| samples.get(before)).map(|sample| sample.point);
        if before.is_some_and(|before| begins_window(before, point)) {
            chart.windows.push(*x);
            let remaining = point.remaining.unwrap_or_default();
            events.push(format!("{}: a new window, {remaining} remaining", place(sample)));
        }
        if point.status == 429 {
            let remaining = point.remaining.map_or_else(String::new, |remaining| format!(", {remaining} remaining"));
            events.push(format!("{}: 429{remaining}", place(sample)));
        }
    }
    chart.summary = summary(samples, &chart);
    chart.further_events = events.len().saturating_sub(MAX_EVENTS);
    events.truncate(MAX_EVENTS);
    chart.events = events;
    chart
}

/// Returns true if `point` is the first response of a new window.
fn begins_window(before: &WindowPoint, point: &WindowPoint) -> bool {
    before.reset.zip(point.reset).is_some_and(|(before, now)| now > before)
        && before.remaining.zip(point.remaining).is_some_and(|(before, now)| now > before)
}

/// The 429 responses; consecutive ones without a pause are grouped.
fn refused(samples: &[Sample], places: &Places, height: &impl Fn(i64) -> f64) -> Vec<Refused> {
    let is_refused = |index: usize| samples.get(index).is_some_and(|sample| sample.point.status == 429);
    let mut all = Vec::new();
    let mut index = 0;
    while index < samples.len() {
        let first = index;
        while is_refused(index) && (index == first || !places.after_pause.contains(&index)) {
            index += 1;
        }
        if index > first {
            let x = f64::midpoint(places.xs[first], places.xs[index - 1]);
            let y = samples[first].point.remaining.map_or(BOTTOM, height);
            all.push(Refused { x, y, count: index - first });
        } else {
            index += 1;
        }
    }
    all
}

fn place(sample: &Sample) -> String {
    format!("request {} after {}", sample.point.exchange, seconds(sample.at))
}

/// The height of a value: the largest at the top, 0 (or less) at the bottom.
fn scale(samples: &[Sample]) -> impl Fn(i64) -> f64 + use<> {
    let largest = largest(samples);
    move |value| BOTTOM - (value as f64 / largest as f64).clamp(0.0, 1.0) * (BOTTOM - TOP)
}

fn largest(samples: &[Sample]) -> i64 {
    samples.iter().flat_map(|sample| [sample.point.limit, sample.point.remaining]).flatten().max().unwrap_or(1).max(1)
}

/// The labels of the value axis: 0 and the reported limits, unless they would overlap.
fn figures(samples: &[Sample], height: &impl Fn(i64) -> f64) -> Vec<(String, f64)> {
    let mut values = vec![largest(samples)];
    values.extend(samples.iter().filter_map(|sample| sample.point.limit));
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.dedup();
    let mut figures = vec![(figure(0), BOTTOM)];
    for value in values {
        let y = height(value);
        if figures.iter().all(|(_, other)| (other - y).abs() >= 16.0) {
            figures.push((figure(value), y));
        }
    }
    figures
}

/// The times of the first and the last response and of those after a pause, unless they would overlap.
fn times(samples: &[Sample], places: &Places) -> Vec<(String, f64)> {
    let last = samples.len().saturating_sub(1);
    let mut times: Vec<(String, f64)> = Vec::new();
    for index in [0, last].into_iter().chain(places.after_pause.iter().copied()) {
        let (Some(sample), Some(x)) = (samples.get(index), places.xs.get(index)) else { continue };
        if times.iter().all(|(_, other)| (other - x).abs() >= LABEL_ROOM) {
            times.push((seconds(sample.at), *x));
        }
    }
    times
}

fn summary(samples: &[Sample], chart: &Chart) -> String {
    let remaining = samples.iter().filter_map(|sample| sample.point.remaining);
    let (lowest, highest) =
        remaining.fold((i64::MAX, i64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let mut limits: Vec<i64> = samples.iter().filter_map(|sample| sample.point.limit).collect();
    limits.sort_unstable();
    limits.dedup();
    let limits = match limits[..] {
        [] => "no limit reported".to_owned(),
        [limit] => format!("limit {}", figure(limit)),
        [first, .., last] => format!("limits from {} to {}", figure(first), figure(last)),
    };
    let missing = samples.iter().filter(|sample| sample.point.remaining.is_none()).count();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} without Remaining") };
    format!(
        "{} responses, {limits}, Remaining between {} and {}, {} with 429, {}{missing}.",
        samples.len(),
        figure(lowest),
        figure(highest),
        samples.iter().filter(|sample| sample.point.status == 429).count(),
        counted(chart.windows.len(), "new window"),
    )
}

#[cfg(test)]
mod tests {
    use super::geometry::MAX_PAUSES;
    use super::*;

    fn point(exchange: usize, second: f64, status: u16, remaining: Option<i64>, reset: i64) -> WindowPoint {
        let at = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs_f64(second);
        serde_json::from_value(serde_json::json!({
            "exchange": exchange, "at": at.to_string(), "key": "main", "status": status, "limit": 3, "remaining": remaining, "reset": reset,
        }))
        .unwrap()
    }

    /// A window of three requests that is exhausted, a 429, a pause, and the next window.
    fn exhausted() -> Vec<WindowPoint> {
        vec![
            point(1, 0.0, 200, Some(2), 60),
            point(2, 0.1, 200, Some(1), 60),
            point(3, 0.2, 200, Some(0), 60),
            point(4, 0.3, 429, Some(0), 60),
            point(5, 60.3, 200, Some(2), 120),
        ]
    }

    #[test]
    fn a_refusal_a_pause_and_a_new_window_are_drawn_where_they_happened() {
        let chart = &charts(&exhausted())[0];
        assert_eq!((chart.refused.len(), chart.refused[0].y, chart.refused[0].count), (1, BOTTOM, 1));
        assert_eq!(chart.windows, [RIGHT]);
        let (x, width, label) = &chart.pauses[0];
        assert_eq!((chart.pauses.len(), label.as_str()), (1, "60.0 s"));
        assert!(chart.refused[0].x < *x && x + width < RIGHT, "the pause is between the two responses");
        assert_eq!(
            chart.events,
            ["request 4 after 0.3 s: 429, 0 remaining", "request 5 after 60.3 s: a new window, 2 remaining"]
        );
        assert_eq!(chart.summary, "5 responses, limit 3, Remaining between 0 and 2, 1 with 429, 1 new window.");
    }

    #[test]
    fn invalid_values_stay_inside_the_chart() {
        let mut points = exhausted();
        points[1].remaining = Some(i64::MIN);
        points[2].limit = Some(i64::MAX);
        let chart = &charts(&points)[0];
        let numbers = chart.remaining.split(['M', 'H', 'V', ' ']).filter(|text| !text.is_empty());
        for number in numbers.map(|text| text.parse::<f64>().unwrap()) {
            assert!((0.0..=WIDTH).contains(&number), "{number}");
        }
    }

    #[test]
    fn a_long_run_is_drawn_in_a_bounded_path() {
        let points: Vec<WindowPoint> = (0..50_000)
            .map(|n| {
                point(n, 0.0001 * f64::from(u32::try_from(n).unwrap()), 200, Some((n % 2).cast_signed() as i64), 60)
            })
            .collect();
        let chart = &charts(&points)[0];
        assert!(chart.remaining.len() < 200_000, "{}", chart.remaining.len());
        assert!(chart.remaining.contains('V'), "the lowest and the highest of one place are both drawn");
    }

    #[test]
    fn many_pauses_leave_room_for_the_responses() {
        let points: Vec<WindowPoint> =
            (0..200).map(|n| point(n, 2.0 * f64::from(u32::try_from(n).unwrap()), 200, Some(1), 60)).collect();
        let chart = &charts(&points)[0];
        assert_eq!(chart.pauses.len(), MAX_PAUSES);
    }
}
