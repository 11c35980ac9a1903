//! Messages from and to device memory where MPI takes none: a copy by the device's lowering, and a message from or to pinned
//! host memory between the two. Each is an operation of the graph, so the message is posted when the copy down has ended, and
//! the copy up follows the message; neither waits for work that has nothing to do with it.
//!
//! A send's token is that of its message, a receive's that of its copy. Edges that the application adds to a token later come
//! too late for the copy of a send, so a token that is declared or held has none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::declare::Manner;
use super::layout::Layout;
use super::world::World;
use crate::abi::datatype::NORN_OF_MPI;
use crate::abi::slice::norn_slice;
use crate::abi::status::{NORN_E_STATE, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::memory::Memory;
use crate::run::lowering::StagedCopy;
use crate::run::runtime::Runtime;

/// A message to declare.
pub(crate) struct Envelope {
    pub(crate) send: bool,
    pub(crate) peer: i32,
    pub(crate) key: i64,
}

impl World {
    /// Declares a message whose memory is on a device. `layout`: of the slice.
    pub(super) fn declare_staged(
        self: &Arc<Self>,
        runtime: &Runtime,
        slice: &norn_slice,
        layout: &Layout,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        let name = if envelope.send { "from" } else { "to" };
        if slice.r#type & NORN_OF_MPI != 0 {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                format!(
                    "{name}: device memory with a type of MPI's, and MPI takes no device memory ({}); copy it to the host first",
                    self.facts.device_reason
                ),
            ));
        }
        let may_come_later = manner.how.r#as.id != 0 || manner.how.flags & NORN_HELD != 0;
        if envelope.send && may_come_later {
            return Err(Error::new(
                NORN_E_STATE,
                "from: device memory that is staged for MPI is sent by a token that is neither declared before nor held; copy it to the host by an operation of its own",
            ));
        }
        self.tell_of_staging(runtime);
        let staging = runtime.ask_lowerings(
            |lowering| lowering.staging(layout.place, layout.bytes),
            "no device is open in this runtime (norn_device_open)",
        )?;
        let on_device = norn_slice {
            place: layout.place,
            ..*slice
        };
        let copy = runtime.ask_lowerings(
            |lowering| lowering.copy_staged(runtime, &on_device, staging.clone(), !envelope.send),
            "no device is open in this runtime (norn_device_open)",
        )?;
        let on_host = norn_slice {
            data: norn_data::default(),
            ptr: staging.address() as *mut _,
            place: norn_place::default(),
            offset: 0,
            count: layout.bytes / layout.element.bytes.max(1),
            blocks: 1,
            stride: 0,
            planes: 1,
            plane_stride: 0,
            ..*slice
        };
        if envelope.send {
            self.copy_and_send(runtime, &on_host, staging, copy, envelope, manner)
        } else {
            self.receive_and_copy(runtime, &on_host, staging, copy, envelope, manner)
        }
    }

    fn tell_of_staging(&self, runtime: &Runtime) {
        if !self.stages.swap(true, Ordering::Relaxed) {
            runtime.settings.hooks.log.info(format_args!(
                "messages from and to device memory go through pinned host memory: {}",
                self.facts.device_reason
            ));
        }
    }

    fn copy_and_send(
        self: &Arc<Self>,
        runtime: &Runtime,
        on_host: &norn_slice,
        staging: Arc<dyn Memory>,
        copy: StagedCopy,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        let accesses = accesses_and(manner, copy.access);
        let copied =
            runtime.submit_operation(manner.how, &accesses, manner.after, copy.operation)?;
        let behind = Manner {
            how: manner.how,
            accesses: &[],
            after: &[copied],
        };
        self.declare_on_host(runtime, on_host, envelope, &behind, Some(staging))
    }

    fn receive_and_copy(
        self: &Arc<Self>,
        runtime: &Runtime,
        on_host: &norn_slice,
        staging: Arc<dyn Memory>,
        copy: StagedCopy,
        envelope: &Envelope,
        manner: &Manner<'_>,
    ) -> Result<norn_token> {
        // The copy first: what the caller may have described wrongly is in it, and it takes nothing when it is refused. It
        // waits for a token that the message is bound to afterwards.
        let message = runtime.declare(manner.how.name)?;
        let mut after = manner.after.to_vec();
        after.push(message);
        let accesses = accesses_and(manner, copy.access);
        let copied = runtime
            .submit_operation(manner.how, &accesses, &after, copy.operation)
            .inspect_err(|_| {
                let _ = runtime.cancel(message);
            })?;
        // The message needs nothing of what the copy waits for: it is received as early as it comes.
        let how = norn_task {
            r#as: message,
            flags: manner.how.flags & !NORN_HELD,
            ..*manner.how
        };
        let first = Manner {
            how: &how,
            accesses: &[],
            after: &[],
        };
        self.declare_on_host(runtime, on_host, envelope, &first, Some(staging))
            .inspect_err(|_| {
                // Nothing will be received: the copy fails, and the datum with it.
                let _ = runtime.cancel(message);
            })?;
        Ok(copied)
    }
}

fn accesses_and(manner: &Manner<'_>, own: Option<norn_access>) -> Vec<norn_access> {
    let named = manner.accesses.iter().copied();
    named.chain(own).collect()
}
