//! The end of a run: waits for the rest and looks at every token and datum.

use std::time::Instant;

use norn::abi::data::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::token::norn_test;
use norn::abi::types::*;

use crate::compare;
use crate::oracle::End;
use crate::program::{Op, Token};
use crate::runner::Main;

impl Main<'_> {
    /// Waits for the rest and looks at everything.
    pub(crate) fn finish(&mut self) {
        let context = self.context;
        if context.setup.drain_first || context.setup.blind {
            self.drain();
        }
        if context.setup.blind && !self.hung {
            return self.wait_blindly();
        }
        if self.hung {
            return;
        }
        // A nested task has its token once its parent is complete.
        for (task, expected) in self.expected.tasks.iter().enumerate() {
            let token = Token::Task(task);
            if expected.end == End::Absent {
                continue;
            }
            if !context.has(token) {
                context.complain(format!("t{task} was not submitted"));
            } else if !self.wait(token) {
                return;
            }
        }
        // What nobody waits for may still be with the foreign thread.
        let promises = (0..context.program.promises.len()).map(Token::Promise);
        let groups = (0..context.program.groups.len()).map(Token::Group);
        let mut tokens = promises.chain(groups).filter(|token| context.has(*token));
        if !tokens.all(|token| self.wait(token)) {
            return;
        }
        self.drain();
        if self.hung {
            return;
        }
        compare::tokens(context, self.expected);
        self.look_at_data();
        self.look_at_stats();
    }

    /// Waits for the promises that are with others, without asking how they ended.
    fn wait_blindly(&mut self) {
        let context = self.context;
        let deadline = Instant::now() + context.setup.patience;
        let promises = (0..context.program.promises.len()).map(Token::Promise);
        for token in promises.filter(|token| context.has(*token)) {
            let mut done = 0;
            while done == 0 {
                // SAFETY: the output is writable.
                let status = unsafe { norn_test(context.rt(), context.token(token), &mut done) };
                // SAFETY: always safe to call.
                unsafe { norn_progress(context.rt()) };
                if status != NORN_OK || Instant::now() > deadline {
                    return self.stopped(format!("testing {token}"), NORN_E_TIMEOUT);
                }
                std::thread::yield_now();
            }
        }
    }

    pub(crate) fn look_at_data(&mut self) {
        let context = self.context;
        let splits = context.program.splits.iter().enumerate();
        let open = splits.filter(|(split, _)| {
            let has = |op: Op| context.program.script.contains(&op);
            has(Op::Split(*split)) && !has(Op::Join(*split))
        });
        let parts = open.flat_map(|(_, split)| split.parts.iter().copied());
        let roots = context.program.roots.iter().map(|root| root.handle);
        let handles: Vec<usize> = if context.setup.seed.is_multiple_of(2) {
            parts.chain(roots).collect()
        } else {
            roots.chain(parts).collect()
        };
        for handle in handles {
            let plan = &context.program.handles[handle];
            let words = plan
                .words
                .iter()
                .map(|word| (*word, &self.expected.words[plan.root][*word]));
            let access = norn_access {
                data: context.datum(handle),
                slot: 0,
                mode: NORN_READ,
                flags: 0,
            };
            let mut hold = norn_token::default();
            // SAFETY: one access, one writable output.
            let status =
                unsafe { norn_data_acquire(context.rt(), &access, 1, self.patience(), &mut hold) };
            let failed = words.clone().any(|(_, (_, causes))| !causes.is_empty());
            let right = if failed { NORN_E_PROPAGATED } else { NORN_OK };
            if !context.expect(|| format!("acquiring d{handle} at the end"), status, right) {
                self.hung |= status == NORN_E_TIMEOUT;
            }
            if status != NORN_OK {
                continue;
            }
            for (word, (value, _)) in words {
                let found = context.contents(plan.root, word);
                if !failed && value.is_some_and(|value| value != found) {
                    context.complain(format!(
                        "d{handle}, word {word} is {found:#x}, not {:#x}",
                        value.unwrap_or(0)
                    ));
                }
            }
            // SAFETY: the memory is not touched again.
            let status = unsafe { norn_data_release(context.rt(), hold) };
            context.expect(
                || format!("releasing d{handle} at the end"),
                status,
                NORN_OK,
            );
        }
        for root in context
            .program
            .roots
            .iter()
            .filter(|_| context.setup.unregister && !self.hung)
        {
            // SAFETY: always safe to call.
            let status = unsafe { norn_data_unregister(context.rt(), context.datum(root.handle)) };
            context.expect(
                || format!("unregistering d{}", root.handle),
                status,
                NORN_OK,
            );
        }
    }

    pub(crate) fn look_at_stats(&self) {
        let context = self.context;
        let mut stats = norn_runtime_stats {
            struct_size: size_of::<norn_runtime_stats>(),
            ..Default::default()
        };
        // SAFETY: the structure says its own size.
        let status = unsafe { norn_stats(context.rt(), &mut stats) };
        context.expect(|| "norn_stats".into(), status, NORN_OK);
        let submitted = self
            .expected
            .tasks
            .iter()
            .filter(|task| task.end != End::Absent)
            .count() as u64;
        let ends = stats.failed + stats.propagated + stats.cancelled;
        if stats.submitted != stats.completed
            || stats.live != 0
            || stats.submitted < submitted
            || ends > stats.completed
        {
            context.complain(format!(
                "stats after {submitted} tasks: submitted {}, completed {}, live {}, failed {}, propagated {}, cancelled {}",
                stats.submitted, stats.completed, stats.live, stats.failed, stats.propagated, stats.cancelled
            ));
        }
        if stats.blocked_bodies != 0 {
            context.complain(format!("{} bodies are still blocked", stats.blocked_bodies));
        }
    }
}
