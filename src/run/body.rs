//! What a running body can learn of itself.

use std::sync::atomic::Ordering;

use super::runtime::Runtime;
use super::seat;
use crate::abi::types::*;
use crate::order::node::flag;

impl Runtime {
    /// Where a body runs: the place that its task names, else the device that it queues its work on, if it does.
    fn place_of_body(&self, index: u32) -> norn_place {
        let named = self.place_of(index);
        if named.kind != NORN_PLACE_ANY {
            return named;
        }
        let graph = self.graph();
        let operation = graph.operation_of(graph.nodes.get(index));
        match operation.map_or(-1, |operation| operation.device()) {
            -1 => named,
            device => norn_place {
                kind: NORN_PLACE_DEVICE,
                index: device,
            },
        }
    }

    /// `norn_self_get`.
    pub(crate) fn self_info(&self, index: u32) -> norn_self_info {
        let graph = self.graph();
        let node = graph.nodes.get(index);
        let group = graph
            .annex(node)
            .map_or(0, |annex| annex.group.load(Ordering::Relaxed));
        norn_self_info {
            struct_size: size_of::<norn_self_info>(),
            runtime: self.handle(),
            token: node.token(graph.id, index).into(),
            group: norn_group {
                id: if group == 0 {
                    0
                } else {
                    graph.groups.lock().handle(graph.id, group)
                },
            },
            place: self.place_of_body(index),
            stream: seat::stream_in(self),
            worker: seat::slot_in(self).map_or(-1, |slot| slot as i32),
            cancelled: i32::from(node.has(flag::CANCELLED)),
        }
    }
}
