//! The main thread's calls on tokens.

use std::ffi::c_void;
use std::sync::atomic::Ordering::*;

use norn::abi::body::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::bodies::{cancel, keep, see};
use crate::driver::Driver;
use crate::fate::{Fates, PENDING, of_status};
use crate::model::{Kind, Named, Node};
use crate::run::{CALLBACKS, Callback};
use crate::watch;

/// How a token may end.
const ENDS: [norn_status; 5] = [
    NORN_OK,
    NORN_E_TASK_FAILED,
    NORN_E_PROPAGATED,
    NORN_E_CANCELLED,
    NORN_E_CLOSED,
];

pub unsafe extern "C" fn completed(arg: *mut c_void, token: norn_token, status: norn_status) {
    // SAFETY: `on_complete` passes a callback of a run that is not over.
    let callback = unsafe { &*arg.cast::<Callback>() };
    if callback.calls.fetch_add(1, SeqCst) != 0 || callback.id.load(SeqCst) != token.id {
        crate::watch::end(
            "a callback was called twice, or for another token",
            std::ptr::null_mut(),
        );
    }
    callback.status.store(status, SeqCst);
}

impl Driver<'_> {
    pub fn new_token(&mut self, kind: Kind) {
        let mut token = norn_token { id: 0 };
        let mut model = self.run.model();
        // SAFETY: the name is static, the output writable.
        let status = unsafe {
            match kind {
                Kind::Declared => norn_declare(self.run.rt(), c"declared".as_ptr(), &mut token),
                _ => norn_promise(self.run.rt(), c"promise".as_ptr(), &mut token),
            }
        };
        let allowed = if model.sealed { NORN_E_CLOSED } else { NORN_OK };
        self.run.expect(
            format_args!("a new {kind:?}, node {}", model.nodes.len()),
            status,
            &[allowed],
        );
        if status == NORN_OK {
            let mut node = Node::new(kind);
            node.id = token.id;
            model.nodes.push(node);
        }
    }

    pub fn keep(&mut self) {
        let fails = self.choices.one_in(3);
        let any = self.choices.one_in(4);
        let which = self.choices.below(16);
        if !any {
            let model = self.run.model();
            let open = |node: &&(usize, &Node)| node.1.kind == Kind::Promise;
            let open: Vec<_> = model
                .nodes
                .iter()
                .enumerate()
                .filter(|node| open(&node))
                .collect();
            if let Some((node, it)) = open.get(which % open.len().max(1)) {
                let (node, id) = (*node, it.id);
                drop(model);
                keep(&self.run, node, id, fails);
            }
            return;
        }
        match self.token() {
            (Named::Node(node), token) => keep(&self.run, node, token.id, fails),
            (_, token) => {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_fulfill(self.rt(), token) };
                self.run.expect(
                    "norn_fulfill of garbage",
                    status,
                    &[NORN_E_INVALID, NORN_E_STATE],
                );
            }
        }
    }

    pub fn edge(&mut self) {
        let (before, before_token) = self.token();
        let (after, after_token) = self.token();
        let mut model = self.run.model();
        let mut allowed = Vec::new();
        let old = model.clone();
        match (before, after) {
            (_, Named::Wrong) | (Named::Wrong, _) => allowed.extend([NORN_E_INVALID, NORN_E_STATE]),
            (_, Named::Zero) => allowed.extend([NORN_E_STATE, NORN_E_INVALID]),
            (Named::Node(one), Named::Node(two)) if one == two => {
                allowed.extend([NORN_E_INVALID, NORN_E_STATE]);
            }
            (_, Named::Node(after)) => {
                let it = &mut model.nodes[after];
                let open = matches!(it.kind, Kind::Declared) || it.held;
                if !open || it.cancelled || it.seen.is_some() {
                    allowed.push(NORN_E_STATE);
                } else {
                    if let Named::Node(before) = before {
                        it.preds.push(before);
                    }
                    let doubt = it.perhaps_cancelled || model.bad;
                    if model.in_cycle(after, false) {
                        allowed.push(NORN_E_DEADLOCK);
                        if doubt {
                            allowed.push(NORN_OK);
                        }
                    } else {
                        allowed.push(NORN_OK);
                        if model.in_cycle(after, true) {
                            allowed.push(NORN_E_DEADLOCK);
                        }
                    }
                    if doubt {
                        allowed.push(NORN_E_STATE);
                    }
                    if model.sealed {
                        allowed.push(NORN_E_CLOSED);
                    }
                }
            }
        }
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_edge(self.run.rt(), before_token, after_token) };
        self.run.expect(
            format_args!("norn_edge {before:?} -> {after:?}"),
            status,
            &allowed,
        );
        if status != NORN_OK {
            *model = old;
        }
    }

    pub fn start(&mut self) {
        let number = self.choices.below(16);
        let held = {
            let model = self.run.model();
            let held = (0..model.nodes.len())
                .filter(|node| model.nodes[*node].held && model.nodes[*node].id != 0);
            let held: Vec<usize> = held.collect();
            held.get(number % held.len().max(1)).map(|node| {
                (
                    Named::Node(*node),
                    norn_token {
                        id: model.nodes[*node].id,
                    },
                )
            })
        };
        let (named, token) = match held {
            Some(held) if number < 12 => held,
            _ => self.token(),
        };
        let mut model = self.run.model();
        let allowed: &[norn_status] = match named {
            Named::Node(node) => {
                let it = &mut model.nodes[node];
                let held = std::mem::replace(&mut it.held, false);
                // A task that was cancelled may be told either.
                match held {
                    true if it.cancelled || it.perhaps_cancelled || it.seen.is_some() => {
                        &[NORN_OK, NORN_E_STATE]
                    }
                    true if model.sealed || model.bad => &[NORN_OK, NORN_E_CLOSED, NORN_E_STATE],
                    true => &[NORN_OK],
                    false => &[NORN_E_STATE, NORN_E_INVALID],
                }
            }
            _ => &[NORN_E_INVALID, NORN_E_STATE],
        };
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_start(self.run.rt(), token) };
        self.run
            .expect(format_args!("norn_start of {named:?}"), status, allowed);
    }

    pub fn wait(&mut self) {
        let (named, token) = self.token();
        let number = self.choices.below(4);
        let Named::Node(node) = named else {
            // SAFETY: garbage gives a status.
            let status = unsafe { norn_await(self.rt(), token, -1) };
            let allowed = if named == Named::Zero {
                NORN_OK
            } else {
                NORN_E_INVALID
            };
            return self
                .run
                .expect(format_args!("norn_await of {named:?}"), status, &[allowed]);
        };
        self.wait_for(node, token, number);
    }

    fn wait_for(&mut self, node: usize, token: norn_token, number: usize) {
        let (pending, sealed, held) = {
            let model = self.run.model();
            let pending = Fates::new(&model).of(node) & PENDING != 0;
            (pending, model.sealed, Self::holds(&model))
        };
        let endless = !pending || (sealed && !held);
        let limit = match number {
            0 => 0,
            1 => 100_000,
            _ if endless => -1,
            _ => 0,
        };
        let mut allowed = ENDS.to_vec();
        if limit >= 0 {
            allowed.push(NORN_E_TIMEOUT);
        }
        if pending {
            allowed.push(NORN_E_DEADLOCK);
        }
        watch::note(|| format!("norn_await of node {node} begins, limit {limit}"));
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_await(self.rt(), token, limit) };
        self.run.expect(
            format_args!("norn_await of node {node}, limit {limit}"),
            status,
            &allowed,
        );
        if ENDS.contains(&status) {
            see(&self.run, node, status);
        }
    }

    pub fn wait_for_many(&mut self) {
        let any = self.choices.one_in(2);
        let count = self.choices.below(4);
        let named: Vec<(Named, norn_token)> = (0..count).map(|_| self.token()).collect();
        let tokens: Vec<norn_token> = named.iter().map(|(_, token)| *token).collect();
        let wrong = named.iter().any(|(named, _)| *named == Named::Wrong);
        let mut allowed = if wrong {
            vec![NORN_E_INVALID]
        } else {
            [&ENDS[..], &[NORN_E_TIMEOUT, NORN_E_DEADLOCK]].concat()
        };
        if count == 0 {
            allowed = vec![if any { NORN_E_INVALID } else { NORN_OK }];
        }
        let mut index = u64::MAX;
        // SAFETY: the array has so many tokens, the output is writable.
        let status = unsafe {
            match any {
                true => {
                    norn_await_any(self.rt(), tokens.as_ptr(), count as u64, 50_000, &mut index)
                }
                false => norn_await_all(self.rt(), tokens.as_ptr(), count as u64, 50_000),
            }
        };
        self.run.expect(
            format_args!("an await of any: {any} of {named:?}"),
            status,
            &allowed,
        );
        if !ENDS.contains(&status) || count == 0 {
            return;
        }
        if any {
            match named.get(index as usize) {
                Some((Named::Node(node), _)) => see(&self.run, *node, status),
                Some(_) => {}
                None => self
                    .run
                    .complain("norn_await_any gives no index of its array"),
            }
        } else {
            // The first failed one in the array.
            for (named, _) in &named {
                if let Named::Node(node) = named {
                    let one = self.status_of(*node);
                    if one != NORN_OK {
                        return self
                            .run
                            .expect("norn_await_all's first failure", status, &[one]);
                    }
                }
            }
            self.run
                .expect("norn_await_all of good tokens", status, &[NORN_OK]);
        }
    }

    /// How a token that is complete has ended.
    pub fn status_of(&self, node: usize) -> norn_status {
        let id = self.run.model().nodes[node].id;
        // SAFETY: garbage gives a status.
        let status = unsafe { norn_await(self.rt(), norn_token { id }, 0) };
        self.run.expect(
            format_args!("norn_await of node {node}, which is complete"),
            status,
            &ENDS,
        );
        see(&self.run, node, status);
        status
    }

    /// After a drain everything is complete.
    pub fn see_all(&self) {
        let count = self.run.model().nodes.len();
        for node in 0..count {
            if self.run.model().nodes[node].id != 0 {
                self.status_of(node);
            }
        }
    }

    /// `norn_test` and `norn_error`.
    pub fn ask(&mut self) {
        let (named, token) = self.token();
        // Before the calls: meanwhile a body may see the end.
        let seen = match named {
            Named::Node(node) => self.run.model().nodes[node].seen,
            _ => None,
        };
        let mut done = -1;
        // SAFETY: zero is valid; the structure is as long as it says; the outputs are writable.
        let (test, status, info) = unsafe {
            let test = norn_test(self.rt(), token, &mut done);
            let mut info: norn_error_info = std::mem::zeroed();
            info.struct_size = size_of::<norn_error_info>();
            (test, norn_error(self.rt(), token, &mut info), info)
        };
        let what = format!("norn_test and norn_error of {named:?}");
        if named == Named::Wrong {
            self.run.expect(&what, test, &[NORN_E_INVALID]);
            return self.run.expect(&what, status, &[NORN_E_INVALID]);
        }
        self.run.expect(&what, test, &[NORN_OK]);
        self.run.expect(
            &what,
            status,
            if done == 1 {
                &[NORN_OK]
            } else {
                &[NORN_OK, NORN_E_STATE]
            },
        );
        if let Named::Node(node) = named {
            if seen.is_some() && done != 1 {
                self.run
                    .complain(format_args!("node {node} was complete and is no more"));
            }
            if status == NORN_OK {
                if of_status(info.status) == 0 || info.token != token {
                    self.run.complain(format_args!(
                        "the record of node {node} says {}",
                        info.status
                    ));
                }
                see(&self.run, node, info.status);
                if info.status != NORN_E_PROPAGATED && info.cause != token && info.status != NORN_OK
                {
                    self.run.complain("a first cause is another token");
                }
            }
        }
    }

    pub fn cancel(&mut self) {
        match self.token() {
            (Named::Node(node), token) => cancel(&self.run, node, token.id),
            (named, token) => {
                // SAFETY: garbage gives a status.
                let status = unsafe { norn_cancel(self.rt(), token) };
                let allowed = if named == Named::Zero {
                    NORN_E_TOO_LATE
                } else {
                    NORN_E_INVALID
                };
                self.run
                    .expect(format_args!("norn_cancel of {named:?}"), status, &[allowed]);
            }
        }
    }

    pub fn on_complete(&mut self) {
        let (named, token) = self.token();
        let fd = self.choices.one_in(3);
        if fd {
            let mut fd = -1;
            // SAFETY: the output is writable.
            let status = unsafe { norn_eventfd(self.rt(), token, &mut fd) };
            let allowed = if named == Named::Wrong {
                NORN_E_INVALID
            } else {
                NORN_OK
            };
            self.run.expect(
                format_args!("norn_eventfd of {named:?}"),
                status,
                &[allowed],
            );
            if status == NORN_OK {
                // SAFETY: the descriptor is ours.
                drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
            }
            return;
        }
        let free = self
            .run
            .callbacks
            .iter()
            .position(|callback| callback.node.load(SeqCst) == 0);
        let Some(callback) = free
            .filter(|index| *index < CALLBACKS)
            .map(|index| &self.run.callbacks[index])
        else {
            return;
        };
        callback.id.store(token.id, SeqCst);
        let arg = (&raw const *callback).cast_mut().cast();
        // SAFETY: the callback lives as long as the run.
        let status = unsafe { norn_on_complete(self.rt(), token, Some(completed), arg) };
        let allowed = if named == Named::Wrong {
            NORN_E_INVALID
        } else {
            NORN_OK
        };
        self.run.expect(
            format_args!("norn_on_complete of {named:?}"),
            status,
            &[allowed],
        );
        if status == NORN_OK {
            // 1: the zero token; from 2 on: nodes.
            let node = if let Named::Node(node) = named {
                node + 2
            } else {
                1
            };
            callback.node.store(node, SeqCst);
        }
    }

    /// A `norn_self` on a thread that is not its body's, or whose body has ended.
    pub fn stray_self(&mut self) {
        let stray = self.run.stray_self.load(SeqCst);
        if stray.is_null() {
            return;
        }
        // SAFETY: garbage gives a status; the structure is as long as it says.
        unsafe {
            let mut info: norn_self_info = std::mem::zeroed();
            info.struct_size = size_of::<norn_self_info>();
            self.run
                .expect_error("norn_self_get outside", norn_self_get(stray, &mut info));
            self.run
                .expect_error("norn_self_hold outside", norn_self_hold(stray, 1));
            let status = norn_self_release(stray, norn_data { id: 0 });
            self.run.expect_error("norn_self_release outside", status);
        }
    }
}
