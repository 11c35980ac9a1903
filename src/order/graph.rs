//! The graph of one runtime: all tables of the ordering core, and the small
//! operations that the other modules build on.

use std::collections::BTreeSet;

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

use super::annex::Annex;
use super::commute::Commutes;
use super::datum::DataTable;
use super::defect::Defect;
use super::epoch::Epoch;
use super::failure::{Cause, Failure, Failures, SpreadMap};
use super::group::Groups;
use super::lane::Lane;
use super::node::{Link, Node, flag, kind};
use super::observers::Observers;
use super::slab::Slab;
use super::sole::Sole;
use super::token::{INDEX_BITS, Token};
use crate::abi::status::{
    NORN_E_CANCELLED, NORN_E_CLOSED, NORN_E_INVALID, NORN_E_RESOURCE, norn_status,
};
use crate::error::{Error, Result};

/// See the module's text.
pub(crate) struct Graph {
    /// Number of the runtime, the upper bits of its tokens.
    pub(crate) id: u32,
    pub(crate) nodes: Slab<Node>,
    pub(crate) links: Slab<Link>,
    pub(crate) epochs: Slab<Epoch>,
    pub(crate) annexes: Slab<Annex>,
    /// The placing lock: whoever takes places in timelines holds it, so that a submission takes all of
    /// them in one step.
    pub(crate) data: CachePadded<Mutex<DataTable>>,
    pub(crate) commutes: Mutex<Commutes>,
    pub(crate) groups: Mutex<Groups>,
    /// Data that bodies hold by `norn_data_acquire`: node of the body to its places. For the deadlock search.
    pub(crate) holds_of_bodies: Mutex<SpreadMap<u32, Vec<u32>>>,
    /// Nodes of the tasks that may only run on the opener's thread. For the deadlock search.
    pub(crate) at_opener: Mutex<BTreeSet<u32>>,
    pub(crate) failures: Failures,
    pub(crate) observers: Observers,
    /// COMMUTE as READ_WRITE.
    pub(crate) deterministic: AtomicBool,
    /// Parity of the drain phase that new tasks are counted in.
    pub(crate) phase: AtomicU32,
    /// Tasks from outside are refused.
    pub(crate) sealed: AtomicBool,
    /// Everything new is refused, but what running tasks need to end.
    pub(crate) closing: AtomicBool,
    /// Cancel what has not started: set by a close with NORN_CANCEL.
    pub(crate) cancelling: AtomicBool,
    /// COMBINE nodes of closed runs that have not completed; a drain waits for them.
    pub(crate) combining: AtomicU64,
    /// Somebody waits for the end of an operation that is issued; see `was_wait_begun`.
    pub(super) awaits_issued: CachePadded<AtomicBool>,
    /// Whether one thread alone has changed it so far.
    pub(crate) sole: Sole,
    /// Whether any of this can be trusted.
    pub(crate) defect: Defect,
}

impl Graph {
    /// An empty graph for runtime number `id`.
    pub(crate) fn new(id: u32) -> Self {
        let limit = 1 << INDEX_BITS;
        Self {
            id,
            nodes: Slab::new(limit),
            links: Slab::new(1 << 30),
            epochs: Slab::new(1 << 27),
            annexes: Slab::new(limit),
            data: CachePadded::new(Mutex::new(DataTable::default())),
            commutes: Mutex::new(Commutes::default()),
            groups: Mutex::new(Groups::default()),
            holds_of_bodies: Mutex::new(SpreadMap::default()),
            at_opener: Mutex::new(BTreeSet::new()),
            failures: Failures::new(),
            observers: Observers::new(),
            deterministic: AtomicBool::new(false),
            phase: AtomicU32::new(0),
            sealed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            cancelling: AtomicBool::new(false),
            combining: AtomicU64::new(0),
            awaits_issued: CachePadded::new(AtomicBool::new(false)),
            sole: Sole::default(),
            defect: Defect::default(),
        }
    }

    /// Makes the graph ready for another life, with everything completed. Generations go on.
    pub(crate) fn renew(&self, deterministic: bool) {
        self.sole.renew();
        self.failures.clear();
        self.deterministic.store(deterministic, Ordering::Relaxed);
        self.phase.store(0, Ordering::Relaxed);
        self.sealed.store(false, Ordering::Relaxed);
        self.cancelling.store(false, Ordering::Relaxed);
        self.combining.store(0, Ordering::Relaxed);
        self.holds_of_bodies.lock().clear();
        self.groups.lock().clear();
        self.closing.store(false, Ordering::Release);
    }

    /// Before a thread that is not the sitter changes or locks anything here; see `sole`.
    #[inline(always)]
    pub(crate) fn share(&self) {
        self.sole.share();
    }

    // ----- slots -----

    /// A node of a kind with its guard on, known to nobody yet.
    #[inline(always)]
    pub(crate) fn take_node(&self, lane: &mut Lane, state: u32) -> Result<u32> {
        let Some(index) = self.nodes.take(&mut lane.nodes) else {
            return Err(out_of("tokens (2^26 are live)"));
        };
        let node = self.nodes.get(index);
        node.begin();
        node.destroy.store(0, Ordering::Relaxed);
        // Release: reports that see the kind see the fields above.
        node.state.store(state, Ordering::Release);
        Ok(index)
    }

    /// A node of norn's own: not counted, runs whatever happens.
    pub(crate) fn new_internal(&self, lane: &mut Lane, node_kind: u32) -> Result<u32> {
        let index = self.take_node(lane, node_kind)?;
        let node = self.nodes.get(index);
        node.set_name_priority(internal_name(node_kind).as_ptr(), 0);
        for slot in &node.slots {
            slot.datum.store(0, Ordering::Relaxed);
            slot.epoch.store(0, Ordering::Relaxed);
            slot.meta.store(0, Ordering::Relaxed);
        }
        Ok(index)
    }

    /// The annex of a node that the caller owns, made when first asked for.
    pub(crate) fn annex_of(&self, lane: &mut Lane, index: u32) -> Result<&Annex> {
        let node = self.nodes.get(index);
        let mut annex = node.annex.load(Ordering::Relaxed);
        if annex == 0 {
            annex = self
                .annexes
                .take(&mut lane.annexes)
                .ok_or_else(|| out_of("task annexes"))?;
            self.annexes.get(annex).occupy();
            node.annex.store(annex, Ordering::Release);
        }
        Ok(self.annexes.get(annex))
    }

    /// The annex of a node, if it has one.
    #[inline(always)]
    pub(crate) fn annex(&self, node: &Node) -> Option<&Annex> {
        match node.annex.load(Ordering::Acquire) {
            0 => None,
            annex => Some(self.annexes.get(annex)),
        }
    }

    #[inline(always)]
    pub(crate) fn take_link(&self, lane: &mut Lane) -> Result<u32> {
        self.links
            .take(&mut lane.links)
            .ok_or_else(|| out_of("edges (2^30 are waited for)"))
    }

    #[inline(always)]
    pub(crate) fn take_epoch(&self, lane: &mut Lane) -> Result<u32> {
        let index = self
            .epochs
            .take(&mut lane.epochs)
            .ok_or_else(|| out_of("epochs (2^27 are open)"))?;
        self.epochs.get(index).reset();
        Ok(index)
    }

    /// As `take_epoch`, of which `stock` has said that there is one.
    #[inline(always)]
    pub(crate) fn take_epoch_in_stock(&self, lane: &mut Lane) -> u32 {
        let index = self.epochs.take_in_stock(&mut lane.epochs, 1);
        self.epochs.get(index).reset();
        index
    }

    /// Gives a node and its annex back. The caller is its last owner.
    #[inline(always)]
    pub(crate) fn free_node(&self, lane: &mut Lane, index: u32) {
        let node = self.nodes.get(index);
        let annex = node.annex.load(Ordering::Relaxed);
        if annex != 0 && node.has(flag::AT_OPENER) {
            self.at_opener.lock().remove(&index);
        }
        node.state.store(kind::FREE, Ordering::Release);
        if annex != 0 {
            node.annex.store(0, Ordering::Relaxed);
            // SAFETY: the caller is the node's last owner.
            unsafe { self.annexes.get(annex).clear() };
            self.annexes.give(&mut lane.annexes, annex);
        }
        if !Node::is_worn_out(node.load_successors().generation()) {
            self.nodes.give(&mut lane.nodes, index);
        }
    }

    // ----- tokens -----

    /// Checks that a token from outside was issued by this runtime, and gives its node if it still lives
    /// (`None`: it has completed).
    #[inline]
    pub(crate) fn live_node(&self, token: Token) -> Result<Option<(u32, &Node)>> {
        if token.is_zero() {
            return Ok(None);
        }
        if token.runtime() != self.id {
            return Err(not_a_token(token, "belongs to another runtime"));
        }
        let Some(node) = self.nodes.get_checked(token.index()) else {
            return Err(not_a_token(token, "was never issued"));
        };
        let now = node.load_successors().generation();
        if token.generation() == 0 || token.generation() > now {
            return Err(not_a_token(token, "was never issued"));
        }
        if token.generation() < now {
            return Ok(None);
        }
        // Acquire: who sees the slot free sees the generation that it was left with.
        if node.state.load(Ordering::Acquire) & kind::MASK == kind::FREE {
            // The generation may have moved on between the two loads.
            if node.load_successors().generation() != now {
                return Ok(None);
            }
            return Err(not_a_token(token, "was never issued"));
        }
        Ok(Some((token.index(), node)))
    }

    /// Whether a token that norn itself keeps has completed.
    #[inline(always)]
    pub(crate) fn is_complete(&self, token: Token) -> bool {
        token.is_zero()
            || self.nodes.get(token.index()).load_successors().generation() != token.generation()
            || self.defect.is_caught()
    }

    /// How a complete token failed, if it did.
    pub(crate) fn failure_of(&self, token: Token) -> Option<Failure> {
        if token.is_zero()
            || !self
                .nodes
                .get(token.index())
                .load_successors()
                .ever_failed()
        {
            return None;
        }
        self.failures.get(token)
    }

    /// Status an await returns for a complete token, and marks its failure as looked at.
    pub(crate) fn outcome(&self, token: Token) -> Result<()> {
        if self.defect.is_caught() {
            return Err(self.defect.error());
        }
        match self.failure_of(token) {
            None => Ok(()),
            Some(failure) => {
                failure.cause.looked_at.store(true, Ordering::Relaxed);
                Err(Error::new(failure.status(), describe(&failure)))
            }
        }
    }

    /// Records a first cause for a node.
    pub(crate) fn new_cause(
        &self,
        lane: &mut Lane,
        index: u32,
        status: norn_status,
        code: i32,
        operation: &'static str,
        text: &str,
    ) -> u32 {
        let node = self.nodes.get(index);
        let number = self.failures.add_cause(Cause {
            token: node.token(self.id, index),
            status,
            code,
            rank: -1,
            name: node.name() as usize,
            operation: operation.into(),
            text: text.into(),
            worker: lane.worker,
            device: self
                .operation_of(node)
                .map_or(-1, |operation| operation.device()),
            looked_at: AtomicBool::new(false),
            doomed_a_task: AtomicBool::new(false),
        });
        if !matches!(status, NORN_E_CANCELLED | NORN_E_CLOSED) {
            lane.ripple.new_causes.push(number);
        }
        number
    }

    /// Name of a node for messages.
    pub(crate) fn label(&self, index: u32) -> String {
        let node = self.nodes.get(index);
        // SAFETY: names outlive the runtime, which the manual demands.
        let name = unsafe { crate::abi::guard::string(node.name()) };
        match name {
            Some(name) => format!("\"{}\" (#{index})", name.to_string_lossy()),
            None => format!("#{index}"),
        }
    }

    /// Name of a place for messages: that of its datum. Takes the placing lock.
    pub(crate) fn place_label(&self, index: u32) -> String {
        let datum = self.nodes.get(index).run.load(Ordering::Relaxed) as u32;
        let data = self.data.lock();
        match data.is_live(datum) {
            true => format!("{} (#{index})", data.get(datum).label(datum)),
            false => format!("#{index}"),
        }
    }

    /// Refuses what comes too late: from outside after a seal or close, from tasks after a close that cancels,
    /// unless it is cleanup.
    #[inline(always)]
    pub(crate) fn check_open(&self, inside_task: bool, cleanup: bool) -> Result<()> {
        if self.sealed.load(Ordering::Relaxed)
            && (!inside_task || (!cleanup && self.cancelling.load(Ordering::Relaxed)))
        {
            return Err(refused(self.closing.load(Ordering::Relaxed)));
        }
        Ok(())
    }
}

#[cold]
fn refused(closing: bool) -> Error {
    Error::new(
        crate::abi::status::NORN_E_CLOSED,
        if closing {
            "the runtime is closing"
        } else {
            "the runtime is sealed: nothing more may come from outside tasks"
        },
    )
}

#[cold]
fn out_of(what: &str) -> Error {
    Error::new(NORN_E_RESOURCE, format!("out of {what}"))
}

#[cold]
pub(crate) fn not_a_token(token: Token, why: &str) -> Error {
    Error::new(NORN_E_INVALID, format!("token {:#x} {why}", token.0))
}

/// The sentence an await shows for a failure.
pub(crate) fn describe(failure: &Failure) -> String {
    let cause = &failure.cause;
    // SAFETY: names outlive the runtime, which the manual demands.
    let name = unsafe { crate::abi::guard::string(cause.name()) }.map_or_else(
        || format!("#{}", cause.token.index()),
        |name| format!("\"{}\"", name.to_string_lossy()),
    );
    let mut how = match cause.status {
        crate::abi::status::NORN_E_CANCELLED => "was cancelled".to_string(),
        crate::abi::status::NORN_E_CLOSED => "was closed".to_string(),
        _ => format!("failed with code {}", cause.code),
    };
    if cause.rank >= 0 {
        how = format!("{how} on rank {}", cause.rank);
    }
    let separator = if cause.text.is_empty() { "" } else { ": " };
    if failure.propagated {
        format!(
            "did not succeed because {name} {how}{separator}{}",
            cause.text
        )
    } else {
        format!("{name} {how}{separator}{}", cause.text)
    }
}

fn internal_name(node_kind: u32) -> &'static core::ffi::CStr {
    match node_kind & kind::MASK {
        kind::GATE => c"(gate)",
        kind::COMBINE => c"(combine)",
        kind::CALLBACK => c"(on_complete)",
        kind::PLACE => c"(place)",
        kind::GROUP => c"(group)",
        _ => c"(internal)",
    }
}

/// Flags of a node that norn makes for itself and that must run whatever happens to its predecessors.
pub(crate) const ALWAYS: u32 = flag::RUN_ALWAYS;
