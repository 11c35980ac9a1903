//! Declaring messages: from the arguments of a call to an exchange in the graph.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::calls::{Elements, Failed};
use super::engine::Engine;
use super::exchange::{Exchange, Message, Staging, What};
use super::layout::{Layout, Side};
use super::record;
use super::stage::Envelope;
use super::table::*;
use super::world::{Note, World};
use crate::abi::datatype::{NORN_OF_MPI, norn_type};
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_INVALID, NORN_E_THREAD, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::memory::Memory;
use crate::run::runtime::Runtime;
use crate::run::slice::Element;

/// What a caller says about the operation beside what it is.
pub(crate) struct Manner<'a> {
    /// Of which name, priority, flags, group, place, stream and as are read.
    pub(crate) how: &'a norn_task,
    pub(crate) accesses: &'a [norn_access],
    pub(crate) after: &'a [norn_token],
}

pub(super) fn invalid(text: impl Into<String>) -> Error {
    Error::new(NORN_E_INVALID, text.into())
}

impl World {
    /// Declares a message.
    pub(crate) fn declare_message(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        match self.declare_straight(runtime, slice, envelope, manner) {
            Some(token) => Ok(token),
            None => self.declare_on_host(runtime, slice, envelope, manner, None),
        }
    }

    /// Declares a message; one whose memory MPI does not take is staged. `staging`: what its slice lies in, to be kept
    /// until it has ended.
    pub(super) fn declare_on_host(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        envelope: &Envelope,
        manner: &Manner<'_>,
        staging: Option<Arc<dyn Memory>>,
    ) -> Result<norn_token> {
        let &Envelope { send, peer, key } = envelope;
        self.check_open()?;
        if peer < 0 || peer >= self.size {
            return Err(invalid(format!(
                "peer is {peer}, the world has ranks 0 to {}",
                self.size - 1
            )));
        }
        if key != NORN_KEY_ORDER && (key < 0 || key as u64 >= self.tags) {
            return Err(invalid(format!(
                "key is {key}: keys are 0 to {} here (norn_world_info.key_limit), or NORN_KEY_ORDER",
                self.tags - 1
            )));
        }
        let (name, side) = if send {
            ("from", Side::Source)
        } else {
            ("to", Side::Target)
        };
        let layout = self.layout_of_any(runtime, slice, name, side)?;
        if i64::try_from(layout.bytes).is_err() {
            return Err(invalid(format!("{name}: a message of {} B", layout.bytes)));
        }
        if layout.place.kind == NORN_PLACE_DEVICE {
            if !self.facts.device_aware {
                return self.declare_staged(runtime, slice, &layout, envelope, manner);
            }
            self.on_device.store(true, Ordering::SeqCst);
        }
        let turn = match key {
            NORN_KEY_ORDER => Some(self.lines.next_ordered(send, peer)?),
            _ => None,
        };
        let (wire, number) = match &turn {
            Some(turn) => (turn.wire, turn.number),
            None => (self.lines.wire_of_key(key), 0),
        };
        let own = peer == self.rank;
        let datum = slice.data.id;
        if own && self.lines.meets_itself(send, wire, datum) {
            return Err(invalid(format!(
                "{name}: both ends of a message from rank {peer} to itself are the same datum: neither could go before the other"
            )));
        }
        let mut message = Message {
            send,
            peer,
            wire,
            key,
            number,
            layout,
            datatype: slice.r#type,
            staging: Staging(staging),
        };
        if turn.is_none() && self.verify {
            message.number = self.lines.next_of_key(send, peer, key);
        }
        let all: SmallVec<[norn_access; 4]>;
        let accesses = match &layout.access {
            None => manner.accesses,
            Some(access) if manner.accesses.is_empty() => core::slice::from_ref(access),
            Some(access) => {
                all = manner.accesses.iter().chain([access]).copied().collect();
                &all[..]
            }
        };
        let token = self.submit(runtime, What::Message(message), accesses, manner)?;
        if let Some(turn) = turn {
            turn.take();
        }
        if own {
            self.lines.enter_own(send, wire, datum);
        }
        Ok(token)
    }

    pub(super) fn submit(
        self: &Arc<Self>,
        runtime: &Runtime,
        what: What,
        accesses: &[norn_access],
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        let mut how = *manner.how;
        how.flags &= !NORN_UNGUARDED;
        let always = how.flags & NORN_RUN_ALWAYS != 0;
        let name = how.name as usize;
        let exchange = match what {
            What::Message(message) => record::take(self, message, always, name),
            what => Exchange::new(self.clone(), what, always, name),
        };
        self.lines.enter(&exchange);
        match runtime.submit_operation(&how, accesses, manner.after, exchange.clone()) {
            Ok(token) => {
                exchange.set_token(token.into());
                if let Some(node) = exchange.leave_declaration() {
                    self.post_at_once(runtime, node, exchange);
                }
                Ok(token)
            }
            Err(error) => {
                self.ended(&exchange);
                self.note(Note::Refused(exchange));
                runtime.offer_duty();
                Err(error)
            }
        }
    }

    // ----- memory -----

    /// On whichever side of a device; the application's own address may be a device's without saying so.
    fn layout_of_any(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        name: &str,
        side: Side,
    ) -> Result<Layout> {
        let element = self.element_of(slice, name)?;
        let mut layout = match Layout::of_one_block(slice, element) {
            Some(layout) => layout,
            None => Layout::of(&runtime.resolve_slice(slice, name, element)?, name, side)?,
        };
        if slice.data.id == 0
            && layout.bytes != 0
            && layout.place.kind != NORN_PLACE_DEVICE
            && let Some(place) = runtime.place_of_address(layout.address)
        {
            layout.place = place;
        }
        Ok(layout)
    }

    pub(super) fn layout_of(
        &self,
        runtime: &Runtime,
        slice: &norn_slice,
        name: &str,
        side: Side,
    ) -> Result<Layout> {
        let layout = self.layout_of_any(runtime, slice, name, side)?;
        if layout.place.kind == NORN_PLACE_DEVICE {
            if !self.facts.device_aware {
                return Err(Error::new(
                    NORN_E_UNSUPPORTED,
                    format!(
                        "{name}: device memory, and MPI takes none ({}); copy it to the host first",
                        self.facts.device_reason
                    ),
                ));
            }
            self.on_device.store(true, Ordering::SeqCst);
        }
        Ok(layout)
    }

    fn element_of(&self, slice: &norn_slice, name: &str) -> Result<Element> {
        let datatype = slice.r#type;
        if let Some(element) = Element::of(datatype) {
            return Ok(element);
        }
        if datatype & !0xffff_ffff != NORN_OF_MPI {
            return Err(invalid(format!("{name}: type {datatype} is none")));
        }
        let info = self.ask_about_type(datatype as i32, name)?;
        let inside = info.true_lb >= 0 && info.true_lb + info.true_extent <= info.extent;
        if info.extent < 0 || info.size < 0 || (slice.data.id != 0 && !inside) {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!("{name}: a type that reaches outside its extent; name its memory by ptr"),
            ));
        }
        Ok(Element {
            bytes: info.size as u64,
            extent: info.extent as u64,
        })
    }

    /// Asks MPI about a type, where the calling thread may.
    fn ask_about_type(&self, handle: i32, name: &str) -> Result<norn_mpi_type_info> {
        if !self.may_call() {
            return Err(Error::new(
                NORN_E_THREAD,
                "below MPI_THREAD_SERIALIZED only the thread that initialised MPI may use types of MPI",
            ));
        }
        // Until MPI has said all, its text too. In the middle of a pass it is held already.
        let _engine = (!self.is_inside()).then(|| self.engine_to_call());
        self.check_open()?;
        self.check_mpi()?;
        self.calls
            .type_info(self.control_hint(), handle)
            .map_err(|failed| match failed.code {
                NORN_MPI_INVALID => invalid(format!(
                    "{name}.type is no datatype of MPI's: MPI_DATATYPE_NULL, or one that was freed"
                )),
                _ => invalid(format!(
                    "MPI does not take {name}.type, which must be committed: {}",
                    self.calls.describe(failed)
                )),
            })
    }
}

impl Engine {
    /// A layout as MPI takes it, with the type made for it, if one had to be made.
    pub(crate) fn elements(
        &self,
        layout: &Layout,
        datatype: norn_type,
    ) -> core::result::Result<(Elements, Option<i32>), Failed> {
        let calls = self.calls();
        let address = layout.address;
        let predefined = datatype & NORN_OF_MPI == 0;
        if predefined && layout.is_contiguous() {
            let what = Elements {
                address,
                count: layout.bytes,
                datatype: self.byte,
            };
            return Ok((what, None));
        }
        let base = if predefined {
            calls.type_builtin(datatype)?
        } else {
            datatype as i32
        };
        if layout.blocks == 1 && layout.planes == 1 {
            let what = Elements {
                address,
                count: layout.count,
                datatype: base,
            };
            return Ok((what, None));
        }
        let made = calls.type_blocks(
            base,
            layout.count,
            (layout.blocks, layout.stride),
            (layout.planes, layout.plane_stride),
        )?;
        let what = Elements {
            address,
            count: 1,
            datatype: made,
        };
        Ok((what, Some(made)))
    }
}
