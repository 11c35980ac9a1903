//! What came of an interpreted program, and what about it is unfair.

use crate::oracle::{End, Expected, Fault, Oracle, Run, TaskEnd};
use crate::program::{Mode, Step, Token};
use crate::timeline::Causes;

impl Oracle<'_> {
    pub(crate) fn expected(&self) -> Expected {
        let mut or_from = vec![Causes::new(); self.tasks.len()];
        for members in self.lines.commutes.values() {
            for (index, (task, _)) in members.iter().enumerate() {
                let others = members
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != index);
                or_from[*task].extend(others.flat_map(|(_, (_, causes))| causes).copied());
            }
        }
        let task = |(run, or_from): (&Run, Causes)| TaskEnd {
            end: run.end,
            causes: run.causes.clone(),
            or_from: if run.end == End::Propagated && or_from.is_subset(&run.causes) {
                Causes::new()
            } else {
                or_from
            },
            ran: run.ran,
            out: run.out,
        };
        Expected {
            tasks: self.tasks.iter().zip(or_from).map(task).collect(),
            promises: self
                .promises
                .iter()
                .map(|end| end.unwrap_or(End::Absent))
                .collect(),
            groups: self.groups.iter().map(|group| group.2.clone()).collect(),
            holds: self.holds.iter().map(|hold| (hold.1, hold.2)).collect(),
            words: self
                .lines
                .words
                .iter()
                .map(|words| {
                    words
                        .iter()
                        .map(|word| (word.value, word.base.clone()))
                        .collect()
                })
                .collect(),
        }
    }

    /// Adds the faults that show only in the outcome.
    pub(crate) fn judge(&mut self, expected: &Expected) {
        let looked_at = self.program.looked_at();
        for (task, end) in expected.tasks.iter().enumerate() {
            let plan = &self.program.tasks[task];
            let unfair = plan
                .predecessors()
                .any(|token| !self.causes_of(token).is_empty());
            if end.end == End::Cancelled && unfair {
                self.faults.push(Fault::Cancel(task));
            }
            if end.or_from.is_empty() {
                continue;
            }
            let commutes = || {
                plan.merged()
                    .into_iter()
                    .filter(|access| access.mode == Mode::Commute)
            };
            let sink = !looked_at.contains(&Token::Task(task))
                && end.end != End::Cancelled
                && self.program.group_of(task).is_none()
                && !plan.child
                && plan
                    .merged()
                    .iter()
                    .filter(|access| access.mode.writes())
                    .count()
                    == 1
                && plan
                    .steps
                    .iter()
                    .all(|step| matches!(step, Step::Touch | Step::Fail(_)));
            if !sink {
                let roots = commutes().map(|access| self.program.handles[access.data].root);
                self.faults
                    .extend(roots.map(|root| Fault::Loose(task, root)));
            }
        }
    }
}
