//! `norn_stats`.

use crate::sync::atomic::{AtomicU64, Ordering};

use crate::abi::types::norn_runtime_stats;
use crate::order::lane::Counters;
use crate::run::runtime::Runtime;

impl Runtime {
    /// Counters since the runtime was opened.
    pub(crate) fn stats(&self) -> norn_runtime_stats {
        let sum = |read: fn(&Counters) -> u64| self.home.sum(read);
        let both = |pair: &[AtomicU64; 2]| {
            pair.iter()
                .map(|counter| counter.load(Ordering::Acquire))
                .sum::<u64>()
        };
        let completed = self.completed_tasks();
        let submitted = self.home.sum(|counters| both(&counters.submitted));
        let graph = self.graph();
        let (parks, wakes) = self.sleep.totals();
        norn_runtime_stats {
            struct_size: size_of::<norn_runtime_stats>(),
            submitted,
            completed,
            failed: sum(|counters| counters.failed.load(Ordering::Relaxed)),
            propagated: sum(|counters| counters.propagated.load(Ordering::Relaxed)),
            cancelled: sum(|counters| counters.cancelled.load(Ordering::Relaxed)),
            live: submitted.saturating_sub(completed),
            edges: sum(|counters| counters.edges.load(Ordering::Relaxed)),
            steals: sum(|counters| counters.steals.load(Ordering::Relaxed)),
            parks,
            wakes,
            data: graph.data.lock().live(),
            memory_bytes: graph.nodes.bytes()
                + graph.links.bytes()
                + graph.epochs.bytes()
                + graph.annexes.bytes()
                + graph.failures.bytes(),
            sampled_bodies: sum(|counters| counters.sampled_bodies.load(Ordering::Relaxed)),
            sampled_body_ns: sum(|counters| counters.sampled_body_ns.load(Ordering::Relaxed)),
            sampled_wait_ns: sum(|counters| counters.sampled_wait_ns.load(Ordering::Relaxed)),
            workers: if self.one_thread {
                1
            } else if self.callers_run {
                0
            } else {
                self.queues.slots.len() as i32
            },
            threads: self.thread_count.load(Ordering::Relaxed) as i32,
            blocked_bodies: self.blocked.count() as i32,
            mode: self.settings.mode.code(),
        }
    }
}
