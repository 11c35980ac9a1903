//! The opener as a worker (`NORN_CALLER_WORKS`), and tasks that run on the opener.
//!
//! The opener keeps a slot between its waits, so that what it submits goes to
//! that slot's queue without a lock. Inside a wait it works like any worker, and
//! may lose the slot to a body that was blocked; another comes back when one is free.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::blocked::Grant;
use super::runtime::Runtime;
use super::seat;
use super::wait::{ASK_EVERY, Goal, Watching, park_until, timed_out};
use crate::error::Result;

impl Runtime {
    /// Runs an OPENER task on the opener, in the slot it sits in, if any.
    pub(crate) fn run_opener_task(&self, node: u32) {
        let slot = seat::slot_in(self);
        // In no slot: that all workers sleep says nothing of this body.
        let counted = i64::from(slot.is_none());
        self.running.fetch_add(counted, Ordering::SeqCst);
        let before = self.graph().nodes.get(node).load_state();
        if self.begin(node, before) == crate::order::body::Begin::Run {
            self.run_body(slot, node, 0);
        }
        self.running.fetch_sub(counted, Ordering::SeqCst);
        self.wake_watchers();
    }

    /// The opener works, in a slot that it keeps between its waits.
    pub(crate) fn wait_as_worker(&self, deadline: Option<Instant>, goal: Goal<'_>) -> Result<()> {
        let done = goal.reached;
        let mut bodies = 0u32;
        self.opener_idle.store(false, Ordering::SeqCst);
        self.gang.opener_comes();
        let _watching = Watching::new(self, true);
        let grant = Grant::new();
        grant.expect_here();
        let mut waits_for_slot = false;
        // Only what was lent before this call: in here the opener lends itself.
        let mut may_be_lent = true;
        let waited = loop {
            if goal.reached_after(bodies) {
                break Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Err(timed_out());
            }
            let Some(slot) = seat::slot_in(self) else {
                bodies = 0;
                // The slot went to a body that was blocked; another comes when a worker has one to spare.
                if !waits_for_slot {
                    waits_for_slot = true;
                    self.make_ready(grant.clone());
                }
                if let Some(slot) = grant.take() {
                    waits_for_slot = false;
                    seat::settle_in(self, slot);
                } else if let Some(node) = self.queues.opener.pop() {
                    self.run_opener_task(node);
                } else if self.is_stuck() {
                    break if done() {
                        Ok(())
                    } else {
                        Err(self.stuck_error())
                    };
                } else {
                    park_until(deadline);
                }
                continue;
            };
            if self.blocked.any_ready() && self.blocked.resume_one(slot) {
                seat::stand();
                continue;
            }
            if self.gang.wants() {
                self.gang.lend();
                continue;
            }
            if let Some(node) = self.queues.opener.pop() {
                self.run_opener_task(node);
                continue;
            }
            if may_be_lent {
                if self.gang.holds_opener() {
                    park_until(deadline);
                    continue;
                }
                may_be_lent = false;
            }
            if let Some(node) = self.next_task(slot) {
                let before = self.lane(slot).bodies;
                self.run_task(slot, node, || {
                    (!goal.dear && done())
                        || !self.queues.opener.is_empty()
                        || deadline.is_some_and(|deadline| Instant::now() >= deadline)
                });
                // As many as it has run one after the other. After a wait in a body the thread may sit elsewhere.
                let ran = match seat::slot_in(self) {
                    Some(now) if now == slot => self.lane(slot).bodies.wrapping_sub(before),
                    _ => 1,
                };
                bodies = bodies.saturating_add(ran.max(1));
                if bodies >= ASK_EVERY {
                    bodies = 0;
                }
                self.pass_by_the_way();
                continue;
            }
            bodies = 0;
            if goal.dear && done() {
                break Ok(());
            }
            if self.is_stuck() {
                break if done() {
                    Ok(())
                } else {
                    Err(self.stuck_error())
                };
            }
            let wake = || done() || !self.queues.opener.is_empty() || self.may_be_stuck();
            self.search(slot, deadline, true, &wake);
        };
        if waits_for_slot && !self.blocked.withdraw(&grant) {
            // A slot is on its way and must not be lost.
            loop {
                match grant.take() {
                    Some(slot) => {
                        seat::settle_in(self, slot);
                        break;
                    }
                    // After a defect none comes.
                    None if self.graph().defect.is_caught() => break,
                    None => crate::sync::thread::park_timeout(Duration::from_millis(1)),
                }
            }
        }
        self.leave_slot_idle();
        waited
    }

    /// The opener goes outside with the slot it holds.
    pub(crate) fn leave_slot_idle(&self) {
        let holds_slot = seat::slot_in(self).is_some();
        self.opener_idle.store(holds_slot, Ordering::SeqCst);
        if holds_slot {
            self.gang.opener_goes();
        }
    }
}
