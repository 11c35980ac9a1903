//! What the data hold at the end, and in which order the bodies ran, against the model.

use std::sync::atomic::Ordering::*;

use norn::abi::types::*;

use crate::bodies::written;
use crate::model::{Datum, Kind, Model};
use crate::run::Run;

/// The words of a datum as they are now.
pub fn words(datum: &Datum) -> Vec<u64> {
    let base = datum.base as *const u64;
    // SAFETY: the datum has so many words, and nobody has an access.
    (0..datum.words.len())
        .map(|word| unsafe { base.add(word).read() })
        .collect()
}

/// Every word was read and left as a sequential run of its timeline would.
pub fn check_values(run: &Run, model: &Model) {
    for (index, datum) in model
        .data
        .iter()
        .enumerate()
        .filter(|(_, datum)| datum.part_of.is_none())
    {
        let ended = model
            .ended
            .iter()
            .find(|(ended, _)| *ended == index)
            .map(|(_, words)| words);
        for word in datum.words.clone() {
            let last = sequential(run, model, word);
            let at = word - datum.words.start;
            let now = match (ended, datum.owned) {
                (Some(words), false) => words[at],
                // norn's own memory is gone.
                (_, true) => continue,
                (None, false) => words(datum)[at],
            };
            if last.is_some_and(|last| last != now) {
                run.complain(format_args!(
                    "word {word} of datum {index} ends as {now:#x}, not {last:#x?}"
                ));
            }
        }
    }
}

/// The last value of a word; None where a failure leaves it open.
fn sequential(run: &Run, model: &Model, word: usize) -> Option<u64> {
    let mut on: Vec<usize> = (0..model.places.len())
        .filter(|place| model.places[*place].words.contains(&word))
        .collect();
    on.sort_by(|one, two| model.places[*one].key.cmp(&model.places[*two].key));
    let mut value = Some(0);
    for place in on {
        let it = &model.places[place];
        let (Some(node), Some(saw)) = (it.node, it.saw.as_ref()) else {
            continue;
        };
        if it.mode == NORN_REDUCE && model.bad {
            value = None;
            continue;
        }
        let at = it
            .words
            .iter()
            .position(|other| *other == word)
            .expect("it was filtered so");
        let reads = matches!(it.mode, NORN_READ | NORN_READ_WRITE);
        if let Some(value) = value
            && reads
            && saw[at] != value
        {
            run.complain(format_args!(
                "node {node} read {:#x} from word {word}, not {value:#x}",
                saw[at]
            ));
        }
        value = match it.mode {
            NORN_WRITE => Some(written(NORN_WRITE, 0, node)),
            mode => value.map(|value| written(mode, value, node)),
        };
    }
    value
}

/// What ran after something began after its end.
pub fn check_order(run: &Run, model: &Model) {
    let span = |node: usize| {
        let track = &run.tracks[model.nodes[node].track?];
        let (from, to) = (track.started.load(SeqCst), track.ended.load(SeqCst));
        (from != 0).then_some((from, to))
    };
    let check = |first: usize, second: usize, end: Option<u64>, why: &str| {
        if let (Some((_, to)), Some((from, _))) = (span(first), span(second))
            && first != second
            && end.unwrap_or(to) >= from
        {
            run.complain(format_args!(
                "node {second} began before the end of node {first}: {why}"
            ));
        }
    };
    for (node, it) in model.nodes.iter().enumerate() {
        for pred in &it.preds {
            check(*pred, node, None, "an edge");
            if let Kind::Done(group) = model.nodes[*pred].kind {
                for member in model.members(group) {
                    check(member, node, None, "a group");
                }
            }
        }
    }
    for (place, it) in model.places.iter().enumerate() {
        // A reduction's body works on its own copy; only the combination waits.
        let Some(node) = it.node.filter(|_| it.mode != NORN_REDUCE) else {
            continue;
        };
        for first in model.before(place) {
            let first = &model.places[first];
            if let Some(first_node) = first.node {
                check(first_node, node, first.released, "a datum");
            }
        }
    }
}
