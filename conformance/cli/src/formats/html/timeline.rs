//! The chart of the rate-limit window: Remaining, Limit, 429 responses and new windows.
//!
//! A run sends a hundred requests in a second and then waits for most of a minute, so a linear time axis would show a few vertical
//! lines. Here each response takes the same width, and a pause takes a fixed width and has a label.

use super::labels::{figure, seconds};
use animal_store_conformance::layout::counted;
use animal_store_conformance::report::{KeyAlias, WindowPoint};

/// The width of the chart, in its own units.
pub(super) const WIDTH: f64 = 880.0;
/// The height of the chart.
pub(super) const HEIGHT: f64 = 232.0;
/// The left edge of the plot, right of the labels.
pub(super) const LEFT: f64 = 64.0;
/// The right edge of the plot.
pub(super) const RIGHT: f64 = WIDTH - 32.0;
/// The height of the largest value.
pub(super) const TOP: f64 = 40.0;
/// The height of the value 0.
pub(super) const BOTTOM: f64 = HEIGHT - 36.0;
/// The width of a pause.
pub(super) const PAUSE_WIDTH: f64 = 46.0;

/// The minimum pause that is drawn, in seconds.
const PAUSE: f64 = 1.0;
/// The maximum number of pauses; shorter ones are omitted.
const MAX_PAUSES: usize = 10;
/// The minimum distance between labels of the time axis, and between those of the value axis.
const LABEL_ROOM: [f64; 2] = [54.0, 16.0];
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
    /// Limit, as an SVG path.
    pub(super) limit: String,
    /// The labels of the value axis, with their heights.
    pub(super) figures: Vec<(String, f64)>,
    /// The labels of the time axis, with their positions.
    pub(super) times: Vec<(String, f64)>,
    /// Pauses: left edge, and label.
    pub(super) pauses: Vec<(f64, String)>,
    /// The positions of new windows.
    pub(super) windows: Vec<f64>,
    /// The 429 responses.
    pub(super) refused: Vec<Refused>,
    /// The events as text.
    pub(super) events: Vec<String>,
    /// The number of events not listed.
    pub(super) further_events: usize,
}

/// Consecutive 429 responses without a pause between them.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    /// The positions of the first and the last response.
    between: [f64; 2],
    /// The height of the first response.
    pub(super) y: f64,
    /// The number of responses.
    pub(super) count: usize,
}

impl Refused {
    /// The position of the middle response.
    pub(super) fn x(&self) -> f64 {
        f64::midpoint(self.between[0], self.between[1])
    }
}

/// A response, and its time in seconds since the first one of the run.
type Sample<'r> = (f64, &'r WindowPoint);

/// A chart for each valid key with at least two responses with rate-limit headers.
pub(super) fn charts(timeline: &[WindowPoint]) -> Vec<Chart> {
    let Some(start) = timeline.first().map(|point| point.at) else { return Vec::new() };
    let mut charts = Vec::new();
    for (key, title) in [(KeyAlias::Main, "The main key"), (KeyAlias::Quota, "The quota key")] {
        let of_key = timeline.iter().filter(|point| point.key == key);
        let samples: Vec<Sample<'_>> =
            of_key.map(|point| (point.at.duration_since(start).as_secs_f64(), point)).collect();
        if samples.iter().filter(|(_, point)| point.remaining.is_some()).count() >= 2 {
            charts.push(Chart { title, ..chart(&samples) });
        }
    }
    charts
}

/// Draws the chart of at least two responses.
fn chart(samples: &[Sample<'_>]) -> Chart {
    let mut chart = Chart::default();
    let gap = |index: usize| samples[index].0 - samples[index - 1].0;
    let mut pauses: Vec<usize> = (1..samples.len()).filter(|index| gap(*index) >= PAUSE).collect();
    pauses.sort_by(|a, b| gap(*b).total_cmp(&gap(*a)));
    pauses.truncate(MAX_PAUSES);
    let step = (RIGHT - LEFT - PAUSE_WIDTH * pauses.len() as f64) / (samples.len() - 1) as f64;

    let mut values: Vec<i64> = samples.iter().filter_map(|(_, point)| point.limit).collect();
    let largest = samples.iter().filter_map(|(_, point)| point.remaining).chain(values.iter().copied()).max();
    let largest = largest.unwrap_or(1).max(1);
    let height = |value: i64| BOTTOM - (value as f64 / largest as f64).clamp(0.0, 1.0) * (BOTTOM - TOP);

    let (mut xs, mut x) = (Vec::with_capacity(samples.len()), LEFT);
    let mut after_pause = Vec::new();
    for (index, (at, point)) in samples.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| samples[before].1);
        if index > 0 {
            x += step;
        }
        let is_after_pause = pauses.contains(&index);
        if is_after_pause {
            // Half a step on either side belongs to the responses.
            chart.pauses.push((x - step / 2.0, seconds(gap(index))));
            x += PAUSE_WIDTH;
            after_pause.push(index);
        }
        xs.push(x);

        let place = format!("request {} after {}", point.exchange, seconds(*at));
        let begins_window = before.is_some_and(|before| {
            before.reset.zip(point.reset).is_some_and(|(before, now)| now > before)
                && before.remaining.zip(point.remaining).is_some_and(|(before, now)| now > before)
        });
        if begins_window {
            chart.windows.push(x);
            let remaining = point.remaining.unwrap_or_default();
            chart.events.push(format!("{place}: a new window, {remaining} remaining"));
        }
        if point.status == 429 {
            let remaining = point.remaining.map_or_else(String::new, |remaining| format!(", {remaining} remaining"));
            chart.events.push(format!("{place}: 429{remaining}"));
            let goes_on = before.is_some_and(|before| before.status == 429) && !is_after_pause;
            match chart.refused.last_mut().filter(|_| goes_on) {
                Some(group) => (group.between[1], group.count) = (x, group.count + 1),
                None => {
                    let y = point.remaining.map_or(BOTTOM, height);
                    chart.refused.push(Refused { between: [x, x], y, count: 1 });
                }
            }
        }
    }

    chart.remaining = steps(&xs, samples.iter().map(|(_, point)| point.remaining.map(height)));
    chart.limit = steps(&xs, samples.iter().map(|(_, point)| point.limit.map(height)));
    for index in [0, samples.len() - 1].into_iter().chain(after_pause) {
        label(&mut chart.times, seconds(samples[index].0), xs[index], LABEL_ROOM[0]);
    }
    values.sort_unstable();
    values.dedup();
    chart.summary = summary(samples, &values, chart.windows.len());
    label(&mut chart.figures, figure(0), BOTTOM, LABEL_ROOM[1]);
    for value in std::iter::once(largest).chain(values.into_iter().rev()) {
        label(&mut chart.figures, figure(value), height(value), LABEL_ROOM[1]);
    }
    chart.further_events = chart.events.len().saturating_sub(MAX_EVENTS);
    chart.events.truncate(MAX_EVENTS);
    chart
}

/// Adds a label at a place of an axis, unless it would overlap with another one.
fn label(labels: &mut Vec<(String, f64)>, text: String, at: f64, room: f64) {
    if labels.iter().all(|(_, other)| (other - at).abs() >= room) {
        labels.push((text, at));
    }
}

/// A step line through the heights, with gaps where there is none. Of many responses at one position only the highest, the lowest and the
/// last are drawn.
fn steps(xs: &[f64], heights: impl Iterator<Item = Option<f64>>) -> String {
    let (mut path, mut y) = (String::new(), None);
    let places: Vec<(String, Option<f64>)> = xs.iter().map(|x| coordinate(*x)).zip(heights).collect();
    for here in places.chunk_by(|one, other| one.0 == other.0) {
        let x = &here[0].0;
        let heights: Vec<f64> = here.iter().filter_map(|(_, height)| *height).collect();
        let (Some(first), Some(last)) = (heights.first(), heights.last()) else {
            y = None;
            continue;
        };
        let lowest = heights.iter().copied().fold(*last, f64::max);
        let highest = heights.iter().copied().fold(*last, f64::min);
        if y.is_some() {
            path.push_str(&format!("H{x}"));
        } else {
            let first = coordinate(*first);
            path.push_str(&format!("M{x} {first}"));
            y = Some(first);
        }
        for next in [lowest, highest, *last].map(coordinate) {
            if y.as_ref() != Some(&next) {
                path.push_str(&format!("V{next}"));
                y = Some(next);
            }
        }
    }
    path
}

/// A number for a path: one digit after the point is finer than a pixel.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The description of a chart with these limits, each once and in order, and this number of new windows.
fn summary(samples: &[Sample<'_>], limits: &[i64], windows: usize) -> String {
    let remaining: Vec<i64> = samples.iter().filter_map(|(_, point)| point.remaining).collect();
    let limits = match limits {
        [] => "no limit reported".to_owned(),
        [limit] => format!("limit {}", figure(*limit)),
        [first, .., last] => format!("limits from {} to {}", figure(*first), figure(*last)),
    };
    let missing = samples.len() - remaining.len();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} without Remaining") };
    format!(
        "{} responses, {limits}, Remaining between {} and {}, {} with 429, {}{missing}.",
        samples.len(),
        figure(remaining.iter().copied().min().unwrap_or_default()),
        figure(remaining.iter().copied().max().unwrap_or_default()),
        samples.iter().filter(|(_, point)| point.status == 429).count(),
        counted(windows, "new window"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(exchange: usize, second: f64, status: u16, remaining: Option<i64>, reset: i64) -> WindowPoint {
        let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs_f64(second);
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
        let (x, label) = &chart.pauses[0];
        assert_eq!((chart.pauses.len(), label.as_str()), (1, "60.0 s"));
        assert!(chart.refused[0].x() < *x && x + PAUSE_WIDTH < RIGHT, "the pause is between the two responses");
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
