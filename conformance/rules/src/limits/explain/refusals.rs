//! Refusals: whether there was no room for the requests that were refused.

use super::super::hypothesis::{Cut, Others, Outcome, Written};
use super::super::timeline::{DAY, Event, MINUTE, Micros, SECOND};
use super::{Bound, Evaluator, FAR, Kind};
use crate::tolerance::Tolerance;
use jiff::SignedDuration;

/// The largest of these bounds on the use of one window each, and the limit. `None` if a window is full, or has no bound.
fn with_room(bounds: impl Iterator<Item = Option<Bound>>, limit: i64) -> Option<(Bound, i64)> {
    let bounds: Vec<Bound> = bounds.collect::<Option<_>>()?;
    Some((bounds.into_iter().max_by_key(|bound| bound.value)?, limit)).filter(|(used, _)| used.value < limit)
}

impl Evaluator<'_, '_, '_> {
    /// Checks that there was no room for the requests that were refused. Other clients used at most as much before a refusal as before any
    /// later response. If no other clients use the key, that holds of any response.
    pub(super) fn refusals(&mut self) {
        // For each window, the lowest upper bound on the rest by a later response, and that response.
        let mut later: Vec<Option<Bound>> = vec![None; self.others.len()];
        let mut refusals: Vec<usize> = Vec::new();
        let mut sent_later = (0..self.events.len()).rev().peekable();
        for &at in self.timeline.by_received.iter().rev() {
            let event = &self.events[at];
            while let Some(other) = sent_later.next_if(|other| self.events[*other].sent >= event.received) {
                if let Some((rest, epoch)) = self.rests[other].zip(self.shares.reported[other])
                    && later[epoch].is_none_or(|least| rest.most < least.value)
                {
                    later[epoch] = Some(Bound { value: rest.most, at: Some(other) });
                }
            }
            if event.outcome != Outcome::Refused || self.is_stopped() {
                continue;
            }
            if self.may_be_for_longer(at) {
                continue;
            }
            if let Some((used, limit)) = self.interrupted(at, &later) {
                refusals.push(at);
                self.contradict(Kind::Interrupted, at, used.at, used.value, limit);
                continue;
            }
            if event.may_be_ban {
                continue;
            }
            refusals.push(at);
            if self.is_earned(at) {
                self.evaluation.earned = Some(at);
                self.reset(at);
            }
            if let Some((used, limit)) = self.early(at, &later)
                && !self.is_exhausted_unseen(at, limit)
            {
                self.contradict(Kind::Early, at, used.at, used.value, limit);
            }
        }
        refusals.reverse();
        self.evaluation.refusals = refusals;
    }

    /// Returns true if other clients may have exhausted the window of a refusal unseen: it reports that nothing remains of this limit, and no
    /// other window was exhausted by them.
    fn is_exhausted_unseen(&mut self, at: usize, limit: i64) -> bool {
        let event = &self.events[at];
        let is_exhausted = event.is_capped() && event.report.is_some_and(|report| report.limit == limit);
        if self.hypothesis().others != Others::Unseen || !is_exhausted {
            return false;
        }
        let first = *self.evaluation.exhausted_unseen.get_or_insert(at);
        self.report_one_window(first, at)
    }

    /// Returns true if a refusal is the first of the key, and the requests of the run alone had used the rest that the response before it
    /// reported. Any other refusal may belong to a ban, which other clients or an earlier run may have caused.
    fn is_earned(&self, at: usize) -> bool {
        let event = &self.events[at];
        let mut refused = self.events.iter().filter(|other| other.is_own_refusal());
        if !refused.all(|other| std::ptr::eq(other, event) || event.precedes(other)) {
            return false;
        }
        let mut earlier = self.earlier(at).map(|other| &self.events[other]);
        let last = earlier.find_map(|before| Some((before, before.report?)));
        let Some((before, report)) = last else { return false };
        let mut sent = -before.cost;
        for other in self.events.iter().filter(|other| other.received > before.sent && other.sent < event.received) {
            sent += other.cost;
        }
        let minute = self.hypothesis().figures.minute.filter(|_| self.shares.reports_day(before));
        let is_exhausted = report.limit - report.used <= sent
            || minute.is_some_and(|minute| self.shares.in_last_minute(at).0.hi >= minute);
        is_exhausted && event.date().unwrap_or(event.received) <= report.reset && !self.timeline.falls_by_more
    }

    /// The later response that shows that there was room for a refused request, with the most that was used, and the limit. No ban that
    /// began in the window explains such a refusal: a ban follows refusals in a window without room, and a full window stays full.
    fn interrupted(&self, at: usize, later: &[Option<Bound>]) -> Option<(Bound, i64)> {
        let limit = self.hypothesis().figures.minute?;
        let is_fixed_minute = self.hypothesis().cut.is_fixed() && !self.shares.reports_day(&self.events[at]);
        if !is_fixed_minute || self.is_in_ban_of_before(at) {
            return None;
        }
        let minutes = &self.shares.minutes.members[at];
        let used = minutes.iter().map(|member| self.most_used_by_later(at, member.epoch, later));
        let first = minutes.first();
        with_room(used, limit).filter(|_| self.decided_before(at, first.map(|member| member.epoch)).is_none())
    }

    /// Returns true if a refusal may belong to a ban that began in an earlier minute: no request was admitted since the last refusal in one.
    fn is_in_ban_of_before(&self, at: usize) -> bool {
        let minute = |at: usize| self.shares.minutes.members[at].first().map(|member| member.epoch);
        let mut series = self.earlier(at).take_while(|before| self.events[*before].outcome == Outcome::Refused);
        self.events[at].may_be_ban && series.any(|before| minute(before) < minute(at))
    }

    /// The minute before a minute, if header fields are written when the response goes out, and the request may have been dealt with in the
    /// minute before: no response had reported the minute when it was sent.
    fn decided_before(&self, at: usize, epoch: Option<usize>) -> Option<usize> {
        let before = epoch?.checked_sub(1)?;
        let may_be_before = self.events[at].arrival.0 < self.shares.epochs[before].end + SECOND;
        if self.hypothesis().written != Written::OnAnswer || !may_be_before {
            return None;
        }
        let has_begun = self.earlier(at).any(|other| self.shares.reported[other] == epoch);
        (!has_begun).then_some(before)
    }

    /// The response that shows that there was room for a refused request, with the most that was used, and the limit.
    fn early(&self, at: usize, later: &[Option<Bound>]) -> Option<(Bound, i64)> {
        let event = &self.events[at];
        let hypothesis = self.hypothesis();
        if self.shares.reports_day(event) {
            let (limit, epoch) = (hypothesis.figures.day?, self.shares.reported[at]?);
            let used = self.most_used(at, epoch, later)?;
            return (used.value < limit && !self.may_hide_a_full_minute(at)).then_some((used, limit));
        }
        let limit = hypothesis.figures.minute?;
        let members = &self.shares.minutes.members[at];
        if hypothesis.cut.is_fixed() && !members.is_empty() {
            let minutes = members.iter().map(|member| member.epoch);
            let minutes = minutes.chain(self.decided_before(at, self.shares.reported[at]));
            return with_room(minutes.map(|epoch| self.most_used(at, epoch, later)), limit);
        }
        let (used, has_room) = if hypothesis.cut.is_fixed() {
            // If no response reports the minute, at most the requests of the last minute count.
            let used = self.shares.in_last_minute(at).0.hi;
            let is_unopened = hypothesis.cut == Cut::First && event.report.is_some();
            (used, (used < limit || is_unopened) && self.shares.knows_minutes())
        } else {
            let used = self.shares.sliding(at).0.hi + self.prior_at(at);
            (used, used < limit)
        };
        (has_room && hypothesis.others != Others::Shown).then(|| (Bound { value: used, at: self.before(at) }, limit))
    }

    /// The most that may have been used before the run, where minutes slide.
    fn prior_at(&self, at: usize) -> i64 {
        if self.events[at].sent >= self.sliding.prior_until {
            return 0;
        }
        // The reports before this request bound the use before the run, which drops out of the count little by little.
        let rests = self.earlier(at).filter_map(|before| self.rests[before]);
        rests.map(|rest| rest.most).min().map_or(FAR, |most| most.max(0))
    }

    /// The most that was used of a window when a request was refused, by a later response.
    fn most_used_by_later(&self, at: usize, epoch: usize, later: &[Option<Bound>]) -> Option<Bound> {
        let most = later[epoch]?;
        Some(Bound { value: most.value.saturating_add(self.shares.before_at_most(at, epoch)), ..most })
    }

    /// The most that was used of a window when a request was refused. `None` if no response bounds the use by other clients.
    fn most_used(&self, at: usize, epoch: usize, later: &[Option<Bound>]) -> Option<Bound> {
        let mut bounds: Vec<Bound> = Vec::new();
        // Requests of yesterday that counted then may have dropped out of a log of the last day since.
        let may_have_fallen = self.hypothesis().day_drains && self.shares.days.places.contains(&epoch);
        bounds.extend(self.most_used_by_later(at, epoch, later).filter(|_| !may_have_fallen));
        if let Some(report) = self.events[at].report
            && self.shares.reported[at] == Some(epoch)
            && !self.events[at].is_capped()
        {
            // Requests that are given back while the response is under way still counted when the request was dealt with.
            bounds.push(Bound { value: report.used + self.shares.refundable(at, epoch), at: self.before(at) });
        }
        if self.hypothesis().others != Others::Shown {
            let own = self.shares.in_epoch(at, epoch).0.hi;
            let seen = self.seen_before[at].filter(|(of, _)| *of == epoch).map(|(_, bound)| bound);
            if let Some(bound) = seen.filter(|bound| bound.value < FAR) {
                bounds.push(Bound { value: bound.value.saturating_add(own), ..bound });
            }
            if self.is_fresh(epoch) && !self.others[epoch].goes_on {
                bounds.push(Bound { value: own, at: seen.and_then(|bound| bound.at).or_else(|| self.before(at)) });
            }
        }
        // Of equal bounds, the first one counts.
        bounds.into_iter().min_by_key(|bound| bound.value)
    }

    /// Returns true if a refusal asks for a wait that outlasts any minute, or ends with a day, and no request was admitted before its
    /// end. A day that no header field shows may be exhausted, or the key may be banned for requests of other clients.
    fn may_be_for_longer(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(wait) = event.wait else { return false };
        let longest = Tolerance::LONGEST_MINUTE.duration() + Tolerance::LONGER_WAIT.duration();
        let wait_micros = (wait.as_micros() as Micros).clamp(0, 3 * DAY);
        let ends = event.answer.1 + wait_micros;
        let to_midnight = (event.arrival.0.div_euclid(DAY) + 1) * DAY - 3 * SECOND;
        let is_long = wait > longest || ends >= to_midnight && event.answer.0 < to_midnight + DAY;
        let slack = Tolerance::LONGER_WAIT.seconds() * SECOND;
        let until = event.received + (wait_micros - slack).max(0);
        let first = self.events.partition_point(|other| other.sent < event.received);
        let is_served = self.events[first..].iter().take_while(|other| other.received < until).any(Event::is_admitted);
        is_long && !is_served && wait > SignedDuration::ZERO
    }

    /// Returns true if the minute behind a reported day may be exhausted.
    fn may_hide_a_full_minute(&self, at: usize) -> bool {
        let Some(minute) = self.hypothesis().figures.minute else { return true };
        if self.hypothesis().others == Others::Shown {
            return true;
        }
        let cut = self.hypothesis().cut;
        let own = if cut.is_fixed() || cut.is_log() {
            self.shares.in_last_minute(at).0.hi
        } else {
            self.shares.in_last_two_minutes(at)
        };
        let is_early =
            self.events.first().is_some_and(|first| self.events[at].sent - first.received < MINUTE + 2 * SECOND);
        own >= minute || is_early
    }
}
