//! Where things stand in the picture.

/// The width of the picture, in its own units.
pub(in super::super) const WIDTH: f64 = 880.0;
/// The height of the picture.
pub(in super::super) const HEIGHT: f64 = 232.0;
/// Where the plot begins, right of the figures.
pub(in super::super) const LEFT: f64 = 64.0;
/// Where the plot ends.
pub(in super::super) const RIGHT: f64 = WIDTH - 32.0;
/// The height of the limit, when it is the largest figure.
pub(in super::super) const TOP: f64 = 40.0;
/// The height of nothing remaining.
pub(in super::super) const BOTTOM: f64 = HEIGHT - 36.0;

/// A pause of at least this many seconds is drawn.
const PAUSE: f64 = 1.0;
/// No more pauses are drawn; the shorter ones are left out.
pub(super) const MAX_PAUSES: usize = 10;
/// The room that a pause takes.
pub(super) const PAUSE_WIDTH: f64 = 46.0;

/// Where the answers and the pauses between them stand from left to right.
pub(super) struct Places {
    /// The answers.
    pub(super) xs: Vec<f64>,
    /// The left edges of the pauses, and how long they were.
    pub(super) pauses: Vec<(f64, f64)>,
    /// The answers that follow a pause.
    pub(super) after_pause: Vec<usize>,
}

/// Places for answers that came at these times.
pub(super) fn places(seconds: &[f64]) -> Places {
    let gaps = seconds.windows(2).map(|pair| pair[1] - pair[0]);
    let mut pauses: Vec<(usize, f64)> =
        gaps.enumerate().filter(|(_, gap)| *gap >= PAUSE).map(|(index, gap)| (index + 1, gap)).collect();
    pauses.sort_by(|a, b| b.1.total_cmp(&a.1));
    pauses.truncate(MAX_PAUSES);
    pauses.sort_by_key(|(index, _)| *index);
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer answers than a float has whole numbers")]
    let step = {
        let room = RIGHT - LEFT - PAUSE_WIDTH * pauses.len() as f64;
        room / (seconds.len().max(2) - 1) as f64
    };
    let mut places = Places { xs: Vec::new(), pauses: Vec::new(), after_pause: Vec::new() };
    let mut x = LEFT;
    let mut pending = pauses.into_iter().peekable();
    for index in 0..seconds.len() {
        if index > 0 {
            x += step;
        }
        if let Some((_, gap)) = pending.next_if(|(at, _)| *at == index) {
            // Half a step on either side belongs to the answers.
            places.pauses.push((x - step / 2.0, gap));
            places.after_pause.push(index);
            x += PAUSE_WIDTH;
        }
        places.xs.push(x);
    }
    places
}

/// A line of steps through the heights, broken where there is none, and the area below it. Of many answers in one place
/// only the highest, the lowest and the last are drawn.
pub(super) fn steps(xs: &[f64], heights: &[Option<f64>]) -> (String, String) {
    let (mut path, mut area) = (String::new(), String::new());
    // Where the present piece of the line begins, in the text and in the picture.
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
