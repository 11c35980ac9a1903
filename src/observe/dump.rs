//! `norn_dump`: the live graph as text or in Graphviz's language.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use crate::abi::status::NORN_E_INVALID;
use crate::abi::types::{NORN_DUMP_DOT, NORN_DUMP_TEXT};
use crate::error::{Error, Result};
use crate::order::failure::SpreadMap;
use crate::order::graph::Graph;
use crate::order::node::{DATA_MASK, GUARD, Node, flag, kind, meta};
use crate::run::runtime::Runtime;

/// One live node and what it waits for.
struct Entry {
    index: u32,
    state: u32,
    waits_for: Vec<u32>,
}

impl Runtime {
    /// The text of a dump.
    pub(crate) fn dump(&self, format: i32) -> Result<String> {
        if format != NORN_DUMP_TEXT && format != NORN_DUMP_DOT {
            return Err(Error::new(
                NORN_E_INVALID,
                format!("format {format} is none"),
            ));
        }
        let graph = self.graph();
        let entries = snapshot(graph);
        let mut text = String::new();
        if format == NORN_DUMP_TEXT && !self.one_thread {
            text = format!(
                "norn: {} of {} workers asleep; runnable: {}\n",
                self.sleep.sleeping(),
                self.queues.slots.len(),
                self.queues.summary()
            );
        }
        // Writing to a String cannot fail.
        let _ = if format == NORN_DUMP_DOT {
            write_dot(graph, &entries, &mut text)
        } else {
            write_text(graph, &entries, &mut text)
        };
        Ok(text)
    }
}

fn snapshot(graph: &Graph) -> Vec<Entry> {
    let _data = graph.data.lock();
    let mut predecessors: SpreadMap<u32, Vec<u32>> = SpreadMap::default();
    let mut live = Vec::new();
    let mut dependants = Vec::new();
    for index in graph.nodes.indices() {
        let state = graph.nodes.get(index).load_state();
        let buried = flag::CANCELLED | flag::CANCEL_DONE;
        if state & kind::MASK == kind::FREE || state & buried == buried {
            continue;
        }
        live.push((index, state));
        dependants.clear();
        graph.dependants(index, &mut dependants);
        for dependant in &dependants {
            let list = predecessors.entry(*dependant).or_default();
            if !list.contains(&index) {
                list.push(index);
            }
        }
    }
    live.into_iter()
        .map(|(index, state)| Entry {
            index,
            state,
            waits_for: predecessors.remove(&index).unwrap_or_default(),
        })
        .collect()
}

fn kind_name(state: u32) -> &'static str {
    match state & kind::MASK {
        kind::TASK => "task",
        kind::DECLARED => "declared",
        kind::PROMISE => "promise",
        kind::PLACE if state & flag::HOLD != 0 => "hold",
        kind::PLACE => "reserved place",
        kind::GROUP => "group",
        kind::GATE => "gate",
        kind::COMBINE => "combine",
        kind::CALLBACK => "callback",
        _ => "free",
    }
}

fn condition(graph: &Graph, index: u32, state: u32) -> String {
    let node = graph.nodes.get(index);
    let pending = node.pending.load(Ordering::Acquire);
    match state & kind::MASK {
        kind::DECLARED => return "has no task yet".into(),
        kind::PROMISE if state & flag::STARTED != 0 => {
            return "kept, to be delivered when nothing else runs".into();
        }
        kind::PROMISE => return "not fulfilled yet".into(),
        kind::GROUP => return "has members or is open".into(),
        _ => {}
    }
    if let Some(operation) = graph.operation_of(node) {
        let waits = pending & !GUARD != 0 && state & flag::STARTED == 0;
        let before = if waits { "waits to begin: " } else { "" };
        return format!("{before}{}", operation.describe());
    }
    if state & flag::BLOCKED != 0 {
        "running, blocked in an await".into()
    } else if state & flag::ENDED != 0 {
        let left = node.holds.load(Ordering::Acquire);
        format!("ended, {left} holds or children left")
    } else if state & flag::STARTED != 0 {
        "running".into()
    } else if state & flag::HELD != 0 {
        "held, not started".into()
    } else if state & flag::QUEUED_COMMUTE != 0 {
        "waits for its turn (COMMUTE)".into()
    } else if pending & !GUARD == 0 {
        match state & kind::MASK {
            kind::PLACE if state & flag::HOLD != 0 => "held by an application thread".into(),
            kind::PLACE => "reached, not filled yet".into(),
            _ => "ready".into(),
        }
    } else {
        format!(
            "waits for {} predecessors",
            (pending & DATA_MASK) + (pending >> 32 & 0x3fff_ffff)
        )
    }
}

fn mode_name(bits: u32) -> &'static str {
    match bits & meta::MODE {
        1 => "READ",
        2 => "WRITE",
        3 => "READ_WRITE",
        4 => "COMMUTE",
        5 => "REDUCE",
        _ => "?",
    }
}

/// Accesses of a task, as "READ of datum "x"". Only for nodes that have not started: they change nothing.
fn accesses(graph: &Graph, index: u32, state: u32) -> Vec<(u32, &'static str)> {
    let mut list = Vec::new();
    if state & flag::MORE_ACCESSES == 0 && Node::slots_in(state) > 0 {
        graph.for_each_access(index, |datum, bits, _| list.push((datum, mode_name(bits))));
    }
    list
}

fn write_text(graph: &Graph, entries: &[Entry], text: &mut String) -> std::fmt::Result {
    writeln!(text, "norn: {} live tokens", entries.len())?;
    for entry in entries {
        write!(
            text,
            "{} {}: {}",
            kind_name(entry.state),
            graph.label(entry.index),
            condition(graph, entry.index, entry.state)
        )?;
        for (position, predecessor) in entry.waits_for.iter().enumerate() {
            let lead = if position == 0 { "; waits for " } else { ", " };
            write!(text, "{lead}{}", graph.label(*predecessor))?;
        }
        let accesses = accesses(graph, entry.index, entry.state);
        if !accesses.is_empty() {
            let data = graph.data.lock();
            for (position, (datum, mode)) in accesses.iter().enumerate() {
                let lead = if position == 0 { "; accesses " } else { ", " };
                write!(text, "{lead}{mode} of {}", data.get(*datum).label(*datum))?;
            }
        }
        writeln!(text)?;
    }
    Ok(())
}

fn write_dot(graph: &Graph, entries: &[Entry], text: &mut String) -> std::fmt::Result {
    writeln!(text, "digraph norn {{")?;
    writeln!(text, "  node [shape=box, fontname=\"sans-serif\"];")?;
    for entry in entries {
        let label = format!(
            "{} {}\n{}",
            kind_name(entry.state),
            graph.label(entry.index),
            condition(graph, entry.index, entry.state)
        );
        let escaped = label
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        writeln!(text, "  n{} [label=\"{escaped}\"];", entry.index)?;
        for predecessor in &entry.waits_for {
            writeln!(text, "  n{predecessor} -> n{};", entry.index)?;
        }
    }
    writeln!(text, "}}")
}
