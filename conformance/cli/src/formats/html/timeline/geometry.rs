//! Positions in the chart.

/// The width of the chart, in its own units.
pub(in super::super) const WIDTH: f64 = 880.0;
/// The height of the chart.
pub(in super::super) const HEIGHT: f64 = 232.0;
/// The left edge of the plot, right of the labels.
pub(in super::super) const LEFT: f64 = 64.0;
/// The right edge of the plot.
pub(in super::super) const RIGHT: f64 = WIDTH - 32.0;
/// The height of the largest value.
pub(in super::super) const TOP: f64 = 40.0;
/// The height of the value 0.
pub(in super::super) const BOTTOM: f64 = HEIGHT - 36.0;

/// The minimum pause that is drawn, in seconds.
const PAUSE: f64 = 1.0;
/// The maximum number of pauses; shorter ones are omitted.
pub(super) const MAX_PAUSES: usize = 10;
/// The width of a pause.
pub(super) const PAUSE_WIDTH: f64 = 46.0;

/// The positions of the responses and the pauses between them.
pub(super) struct Places {
    /// The horizontal positions of the responses.
    pub(super) xs: Vec<f64>,
    /// The left edges of the pauses, and their durations.
    pub(super) pauses: Vec<(f64, f64)>,
    /// The indices of the responses that follow a pause.
    pub(super) after_pause: Vec<usize>,
}

/// The positions of responses at these times.
pub(super) fn places(seconds: &[f64]) -> Places {
    let gaps = seconds.windows(2).map(|pair| pair[1] - pair[0]);
    let mut pauses: Vec<(usize, f64)> =
        gaps.enumerate().filter(|(_, gap)| *gap >= PAUSE).map(|(index, gap)| (index + 1, gap)).collect();
    pauses.sort_by(|a, b| b.1.total_cmp(&a.1));
    pauses.truncate(MAX_PAUSES);
    pauses.sort_by_key(|(index, _)| *index);
    let room = RIGHT - LEFT - PAUSE_WIDTH * pauses.len() as f64;
    let step = room / (seconds.len().max(2) - 1) as f64;
    let mut places = Places { xs: Vec::new(), pauses: Vec::new(), after_pause: Vec::new() };
    let mut x = LEFT;
    let mut pending = pauses.into_iter().peekable();
    for index in 0..seconds.len() {
        if index > 0 {
            x += step;
        }
        if let Some((_, gap)) = pending.next_if(|(at, _)| *at == index) {
            // Half a step on either side belongs to the responses.
            places.pauses.push((x - step / 2.0, gap));
            places.after_pause.push(index);
            x += PAUSE_WIDTH;
        }
        places.xs.push(x);
    }
    places
}

/// A step line through the heights, with gaps where there is none, and the area below it. Of many responses at one position
/// only the highest, the lowest and the last are drawn.
pub(super) fn steps(xs: &[f64], heights: &[Option<f64>]) -> (String, String) {
    let (mut path, mut area) = (String::new(), String::new());
    // The beginning of the current piece of the line, in the path and in the chart.
    let mut piece: Option<(usize, String)> = None;
    let close = |piece: Option<(usize, String)>, path: &str, area: &mut String| {
        if let Some((start, x)) = piece {
            area.push_str(&format!("{}V{BOTTOM}H{x}Z", &path[start..]));
        }
    };
    let mut y = String::new();
    let mut index = 0;
    while index < xs.len() {
        let x = coordinate(xs[index]);
        let end = (index..xs.len()).find(|i| coordinate(xs[*i]) != x).unwrap_or(xs.len());
        let here: Vec<f64> = heights[index..end].iter().copied().flatten().collect();
        index = end;
        let Some(last) = here.last() else {
            close(piece.take(), &path, &mut area);
            continue;
        };
        let lowest = here.iter().copied().fold(*last, f64::max);
        let highest = here.iter().copied().fold(*last, f64::min);
        if piece.is_some() {
            path.push_str(&format!("H{x}"));
        } else {
            y = coordinate(here[0]);
            piece = Some((path.len(), x.clone()));
            path.push_str(&format!("M{x} {y}"));
        }
        for next in [lowest, highest, *last].map(coordinate) {
            if next != y {
                path.push_str(&format!("V{next}"));
                y = next;
            }
        }
    }
    close(piece, &path, &mut area);
    (path, area)
}

/// A number for a path: one digit after the point is finer than a pixel.
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
