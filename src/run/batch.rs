//! `norn_submit_many`: all tasks are checked before the first is submitted.

use std::collections::HashSet;

use super::calls::at_opener;
use super::runtime::Runtime;
use crate::abi::status::{NORN_E_DEADLOCK, NORN_E_STATE};
use crate::abi::types::{NORN_PLACE_MPI, norn_access, norn_task, norn_token};
use crate::error::{Error, Result};
use crate::order::lane::Lane;
use crate::order::node::kind;
use crate::order::token::Token;

struct Entry<'a> {
    task: norn_task,
    accesses: &'a [norn_access],
    after: &'a [norn_token],
}

/// Tasks that were checked and not submitted yet.
pub(crate) struct Batch<'a> {
    runtime: &'a Runtime,
    body: u32,
    entries: Vec<Entry<'a>>,
    bound: HashSet<u64>,
    filled: HashSet<u64>,
    /// What checks work with. It never touches the graph.
    scratch: Lane,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(runtime: &'a Runtime, body: u32) -> Self {
        Self {
            runtime,
            body,
            entries: Vec::new(),
            bound: HashSet::new(),
            filled: HashSet::new(),
            scratch: Lane::default(),
        }
    }

    /// Checks one task and keeps it.
    pub(crate) fn check(
        &mut self,
        task: &norn_task,
        accesses: &'a [norn_access],
        after: &'a [norn_token],
    ) -> Result<()> {
        let graph = self.runtime.graph();
        self.runtime.check_place(task)?;
        let mapped;
        let task = match task.place.kind {
            NORN_PLACE_MPI => {
                mapped = at_opener(task);
                &mapped
            }
            _ => task,
        };
        graph.check_task(self.body, task, after)?;
        if task.enqueue.is_some() {
            self.runtime.operation_of_task(task)?;
        }
        let bound = self.check_bound(task)?;
        graph.check_admission(&mut self.scratch, self.body, bound, task, accesses, after)?;
        // A later task of the batch comes after those who wait for the first writer, not before them.
        let firsts = self
            .scratch
            .wanted
            .iter()
            .filter(|wanted| wanted.first_writer);
        let firsts = firsts.map(|wanted| wanted.datum);
        self.scratch.first_written.extend(firsts);
        for access in accesses {
            if access.slot != 0 && !self.filled.insert(access.slot) {
                return Err(Error::new(
                    NORN_E_STATE,
                    format!("the reserved place {:#x} is filled twice", access.slot),
                ));
            }
        }
        self.entries.push(Entry {
            task: *task,
            accesses,
            after,
        });
        Ok(())
    }

    /// The node of the declared token that a task binds, which no other task of the batch does.
    fn check_bound(&mut self, task: &norn_task) -> Result<Option<u32>> {
        if task.r#as.id == 0 {
            return Ok(None);
        }
        match self.runtime.graph().live_node(Token::from(task.r#as))? {
            Some((index, node))
                if node.kind() == kind::DECLARED && self.bound.insert(task.r#as.id) =>
            {
                Ok(Some(index))
            }
            _ => Err(Error::new(
                NORN_E_STATE,
                format!(
                    "task.as {:#x} is no declared token without a task",
                    task.r#as.id
                ),
            )),
        }
    }

    /// Submits all. Each was checked against the graph as it is. What can still fail is a cycle that several tasks of
    /// the batch close together: one through their `after` edges alone is looked for first, one through data of
    /// the batch as well is not. And memory for tokens may run out.
    pub(crate) fn submit(self) -> Result<Vec<norn_token>> {
        self.refuse_cycle()?;
        let mut tokens = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            match self
                .runtime
                .submit(&entry.task, entry.accesses, entry.after)
            {
                Ok(token) => tokens.push(token),
                Err(error) => {
                    for token in tokens {
                        // As far as it goes: what has started cannot be taken back.
                        let _ = self.runtime.cancel(token);
                    }
                    return Err(error);
                }
            }
        }
        Ok(tokens)
    }

    /// Refuses a cycle of `after` edges among the tokens bound in this batch.
    fn refuse_cycle(&self) -> Result<()> {
        if self.bound.is_empty() {
            return Ok(());
        }
        let position_of = |token: &norn_token| {
            self.entries
                .iter()
                .position(|entry| entry.task.r#as.id != 0 && entry.task.r#as == *token)
        };
        let predecessors: Vec<Vec<usize>> = self
            .entries
            .iter()
            .map(|entry| {
                if entry.task.r#as.id == 0 {
                    return Vec::new();
                }
                entry.after.iter().filter_map(position_of).collect()
            })
            .collect();
        // Repeatedly strike out what waits for nothing in the batch; what remains is on a cycle or behind one.
        let mut waiting: Vec<usize> = predecessors.iter().map(Vec::len).collect();
        let mut done: Vec<usize> = (0..waiting.len())
            .filter(|index| waiting[*index] == 0)
            .collect();
        let mut struck = done.len();
        while let Some(index) = done.pop() {
            for (other, list) in predecessors.iter().enumerate() {
                let count = list
                    .iter()
                    .filter(|predecessor| **predecessor == index)
                    .count();
                if count > 0 {
                    waiting[other] -= count;
                    if waiting[other] == 0 {
                        done.push(other);
                        struck += 1;
                    }
                }
            }
        }
        if struck == self.entries.len() {
            return Ok(());
        }
        let left: Vec<String> = (0..waiting.len())
            .filter(|index| waiting[*index] > 0)
            .take(12)
            .map(|index| format!("tasks[{index}]"))
            .collect();
        Err(Error::new(
            NORN_E_DEADLOCK,
            format!("cycle among the tasks of the batch: {}", left.join(", ")),
        ))
    }
}
