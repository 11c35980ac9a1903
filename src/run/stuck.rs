//! What is left when nothing goes on.

use std::sync::atomic::Ordering;

use super::runtime::Runtime;
use super::seat;
use crate::abi::status::NORN_E_DEADLOCK;
use crate::error::Error;
use crate::order::failure::SpreadMap;
use crate::order::node::{BODY_SHARE, flag, kind};

/// Names listed in one line.
const SHOWN: usize = 12;

impl Runtime {
    /// Quick test for `is_stuck`, for a sleeper's look.
    pub(crate) fn may_be_stuck(&self) -> bool {
        self.graph().sealed.load(Ordering::SeqCst)
            && !self.graph().closing.load(Ordering::SeqCst)
            && self.is_stuck()
    }

    /// Whether what is left can never go on: the runtime is sealed, nothing runs, nothing can run.
    pub(crate) fn is_stuck(&self) -> bool {
        let graph = self.graph();
        if !graph.sealed.load(Ordering::SeqCst) || graph.closing.load(Ordering::SeqCst) {
            return false;
        }
        if self.has_operations_under_way() {
            // Whether another rank still sends what is waited for, its lowering finds out.
            if self.is_quiescent() && !self.is_somebody_inside() {
                self.rest();
            }
            return false;
        }
        self.stays(&|| self.rests())
    }

    /// Nothing goes on, and nobody is known who would change that.
    pub(crate) fn rests(&self) -> bool {
        self.is_quiescent()
            && !self.is_somebody_inside()
            && !self.has_operations_under_way()
            && !self.blocked.any_limited()
            && !self.somebody_holds()
    }

    /// A look by a thread that is blocked in a body which it runs inside a wait, drain or close of its own: what that
    /// call would do when nothing goes on, nobody else does. True: what is awaited can never come.
    pub(crate) fn sees_that_nothing_comes(&self) -> bool {
        if self.graph().closing.load(Ordering::SeqCst) {
            self.end_what_is_left();
            return false;
        }
        self.is_stuck()
    }

    /// Whether something holds, and not only because a thread without a slot is in the middle of a change: it has
    /// taken a hold off, say, and the tasks that this lets go are not in their queues yet.
    pub(crate) fn stays(&self, look: &dyn Fn() -> bool) -> bool {
        look() && self.home.let_changes_end() && look()
    }

    /// Nothing runs and nothing is runnable, as far as this thread can see while it waits.
    pub(crate) fn is_quiescent(&self) -> bool {
        if self.blocked.any_ready() || (self.one_thread && !self.serial.is_quiet()) {
            return false;
        }
        if !self.one_thread && self.queues.has_any_work() {
            return false;
        }
        if self.callers_run {
            // This thread sits in the only slot, or who sits there found nothing and sleeps, or nobody sits.
            return seat::slot_in(self).is_some()
                || self.sleep.sleeping() > 0
                || !self.caller_seat.lock().taken;
        }
        self.workers_sleep()
    }

    /// Whether every worker sleeps, but for this thread and an opener outside of norn.
    pub(crate) fn workers_sleep(&self) -> bool {
        let own = usize::from(seat::slot_in(self).is_some());
        let opener_away = usize::from(own == 0 && self.opener_idle.load(Ordering::SeqCst));
        self.sleep.sleeping() + own + opener_away >= self.queues.slots.len()
    }

    /// Whether workers run something or are about to. (Tasks for the opener do not count: they wait for it.)
    pub(crate) fn workers_are_busy(&self) -> bool {
        self.blocked.any_ready()
            || self.queues.has_work_for_workers(seat::slot_in(self))
            || !self.workers_sleep()
    }

    pub(crate) fn stuck_error(&self) -> Error {
        Error::new(
            NORN_E_DEADLOCK,
            format!("nothing can run any more: {}", self.blocked_summary()),
        )
    }

    /// Whether a body that has ended waits for holds of somebody outside (not for its children).
    pub(crate) fn somebody_holds(&self) -> bool {
        let graph = self.graph();
        let mut children: SpreadMap<u32, u32> = SpreadMap::default();
        for index in graph.nodes.indices() {
            let node = graph.nodes.get(index);
            if node.has(flag::CHILD)
                && node.kind() != kind::FREE
                && let Some(annex) = graph.annex(node)
            {
                *children
                    .entry(annex.parent.load(Ordering::Relaxed))
                    .or_default() += 1;
            }
        }
        graph.nodes.indices().any(|index| {
            let node = graph.nodes.get(index);
            let holds = node.holds.load(Ordering::Acquire);
            node.kind() == kind::TASK
                && node.has(flag::ENDED)
                && holds & BODY_SHARE == 0
                && holds > children.get(&index).copied().unwrap_or(0)
        })
    }

    /// One line naming what waits and what it waits for.
    pub(crate) fn blocked_summary(&self) -> String {
        let graph = self.graph();
        let (mut roots, mut groups) = (List::default(), List::default());
        let (mut running, mut waiting) = (List::default(), List::default());
        for index in graph.nodes.indices() {
            let node = graph.nodes.get(index);
            let state = node.load_state();
            let label = || graph.label(index);
            match state & kind::MASK {
                _ if state & flag::CANCELLED != 0 => {}
                kind::GROUP => {
                    groups.push(|| format!("the group {} is open or has members", label()));
                }
                kind::DECLARED => {
                    roots.push(|| format!("{} was declared, but has no task", label()));
                }
                kind::PROMISE if state & flag::STARTED == 0 => {
                    roots.push(|| format!("{} was promised, but not fulfilled", label()));
                }
                kind::TASK if state & flag::HELD != 0 => {
                    roots.push(|| format!("{} is held and was not started", label()));
                }
                kind::TASK if state & flag::BLOCKED != 0 => {
                    roots.push(|| format!("{} awaits another token", label()));
                }
                kind::TASK if state & flag::ENDED != 0 => {
                    roots.push(|| format!("{} has ended, but holds or children are left", label()));
                }
                kind::PLACE if state & (flag::FILLED | flag::HOLD) == 0 => {
                    roots.push(|| {
                        format!(
                            "the first writer or reserved place of {} is missing",
                            graph.place_label(index)
                        )
                    });
                }
                kind::PLACE
                    if state & (flag::HOLD | flag::ARRIVED) == flag::HOLD | flag::ARRIVED =>
                {
                    roots.push(|| {
                        format!(
                            "{} is held by an application thread",
                            graph.place_label(index)
                        )
                    });
                }
                kind::TASK
                    if state & flag::PARTICULAR != 0 && graph.operation_of(node).is_some() =>
                {
                    if let Some(operation) = graph.operation_of(node) {
                        let arrived = node.pending.load(Ordering::Acquire) == 0;
                        let list = if arrived { &mut roots } else { &mut waiting };
                        list.push(|| format!("{}: {}", label(), operation.describe()));
                    }
                }
                kind::TASK if state & flag::STARTED == 0 => waiting.push(label),
                kind::TASK => running.push(label),
                _ => {}
            }
        }
        roots.append(groups);
        let named = [("", &roots), ("running: ", &running)];
        let mut parts: Vec<String> = named
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| format!("{name}{}", list.shorten()))
            .collect();
        if !waiting.is_empty() {
            let name = match parts.is_empty() {
                true => "waiting: ",
                false => "waiting for these: ",
            };
            parts.push(format!("{name}{}", waiting.shorten()));
        }
        if parts.is_empty() {
            parts.push("nothing is left".into());
        }
        parts.join("; ")
    }
}

/// Names, of which only the first are made and shown: there may be millions.
#[derive(Default)]
struct List {
    shown: Vec<String>,
    count: usize,
}

impl List {
    fn push(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(name());
        }
    }

    fn append(&mut self, other: Self) {
        self.count += other.count;
        self.shown.extend(other.shown);
        self.shown.truncate(SHOWN);
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn shorten(&self) -> String {
        let more = self.count - self.shown.len();
        let mut text = self.shown.join(", ");
        if more > 0 {
            text = format!("{text}, ... and {more} more");
        }
        text
    }
}
