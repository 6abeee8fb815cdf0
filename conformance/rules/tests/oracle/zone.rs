//! Sets of points in time that nobody saw, as bounds on their differences: the "zones" of model checkers for timed automata. Bounds
//! are in whole milliseconds, so the sets are exact.

/// Stands for no bound. Three of them can be added.
const NONE: i64 = i64::MAX / 4;

/// No bound is meant by a figure from here on.
const FAR: i64 = NONE / 4;

/// A set of assignments of times to the variables `0..len`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Zone {
    len: usize,
    /// Row by row: the most by which each variable can exceed each other one. Always as tight as can be.
    bounds: Vec<i64>,
}

impl Zone {
    /// Every assignment.
    pub(crate) fn new(len: usize) -> Zone {
        let mut zone = Zone { len: 0, bounds: Vec::new() };
        (0..len).for_each(|_| zone.push());
        zone
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn most(&self, x: usize, y: usize) -> i64 {
        self.bounds[x * self.len + y]
    }

    /// Adds a variable that may have any value.
    pub(crate) fn push(&mut self) {
        let mut bounds = Vec::with_capacity((self.len + 1) * (self.len + 1));
        for row in self.bounds.chunks(self.len.max(1)) {
            bounds.extend_from_slice(row);
            bounds.push(NONE);
        }
        bounds.extend(std::iter::repeat_n(NONE, self.len));
        bounds.push(0);
        self.bounds = bounds;
        self.len += 1;
    }

    /// Takes a variable away. Those behind it move up.
    pub(crate) fn remove(&mut self, x: usize) {
        let (len, mut at) = (self.len, 0);
        self.bounds.retain(|_| {
            at += 1;
            (at - 1) / len != x && (at - 1) % len != x
        });
        self.len -= 1;
    }

    /// Gives `x` the value of `y`.
    pub(crate) fn assign(&mut self, x: usize, y: usize) {
        let len = self.len;
        self.bounds.chunks_mut(len).for_each(|row| row[x] = row[y]);
        self.bounds.copy_within(y * len..(y + 1) * len, x * len);
        self.bounds[x * len + x] = 0;
    }

    /// Lets `x` have any value.
    pub(crate) fn forget(&mut self, x: usize) {
        let len = self.len;
        self.bounds.chunks_mut(len).for_each(|row| row[x] = NONE);
        self.bounds[x * len..(x + 1) * len].fill(NONE);
        self.bounds[x * len + x] = 0;
    }

    /// Keeps the assignments with `x - y <= most`; whether there are any.
    pub(crate) fn at_most(&mut self, x: usize, y: usize, most: i64) -> bool {
        if most >= FAR || most >= self.most(x, y) {
            return true;
        }
        if self.most(y, x).saturating_add(most) < 0 {
            return false;
        }
        let from_y = self.bounds[y * self.len..(y + 1) * self.len].to_vec();
        for row in self.bounds.chunks_mut(self.len) {
            let to_x = row[x];
            if to_x >= NONE {
                continue;
            }
            for (bound, on) in row.iter_mut().zip(&from_y) {
                if *on < NONE {
                    *bound = (*bound).min(to_x + most + on);
                }
            }
        }
        true
    }

    /// Keeps the assignments with `least <= x - y <= most`; whether there are any.
    pub(crate) fn within(&mut self, x: usize, y: usize, least: i64, most: i64) -> bool {
        self.at_most(x, y, most) && self.at_most(y, x, -least)
    }

    /// The least and the most of `x - y`.
    pub(crate) fn range(&self, x: usize, y: usize) -> (i64, i64) {
        (-self.most(y, x), self.most(x, y))
    }
}

#[test]
fn bounds_follow_from_each_other() {
    let mut zone = Zone::new(3);
    assert!(zone.within(1, 0, 10, 20) && zone.within(2, 1, 5, 5));
    assert_eq!(zone.range(2, 0), (15, 25));
    assert!(zone.at_most(2, 0, 16));
    assert_eq!(zone.range(1, 0), (10, 11));
    assert!(!zone.clone().within(1, 0, 12, 30), "there is no such time");
    zone.remove(1);
    assert_eq!((zone.len(), zone.range(1, 0)), (2, (15, 16)));
    zone.push();
    zone.assign(2, 1);
    zone.forget(1);
    assert_eq!((zone.range(2, 0), zone.range(2, 1).1 >= FAR), ((15, 16), true));
}
