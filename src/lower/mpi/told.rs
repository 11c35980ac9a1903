//! Control messages on their way: told to other ranks, heard from them, obeyed.

use super::across::Fact;
use super::calls::{Address, Elements, Failed};
use super::control::{Control, LARGEST};
use super::engine::{Cancelled, Engine, Finished, Flight};
use super::table::*;
use super::world::World;
use crate::run::runtime::Runtime;

impl Engine {
    /// Posts the receive of the next control message.
    pub(crate) fn listen(&mut self) -> Result<(), Failed> {
        let what = Elements {
            address: self.control_buffer.as_mut_ptr() as usize,
            count: LARGEST as u64,
            datatype: self.byte,
        };
        let from = Address {
            peer: NORN_MPI_ANY,
            tag: 0,
            comm: self.control,
        };
        // SAFETY: the buffer is boxed, lives until the request is over (`close`), and is read in between two of them.
        let slot = unsafe { self.requests.receive(what, from) }?;
        self.enter(slot, Flight::ControlReceive);
        Ok(())
    }

    /// Sends a control message.
    pub(crate) fn tell(&mut self, peer: i32, control: &Control) {
        if self.peers[peer].lost {
            return;
        }
        let bytes = control.encode();
        let what = Elements {
            address: bytes.as_ptr() as usize,
            count: bytes.len() as u64,
            datatype: self.byte,
        };
        let to = Address {
            peer,
            tag: 0,
            comm: self.control,
        };
        // SAFETY: the bytes move into the flight, which keeps them where they are until the request is over.
        match unsafe { self.requests.send(what, to) } {
            Ok(slot) => self.enter(slot, Flight::Control { peer, bytes }),
            Err(_) => self.peers.is_lost(peer),
        }
    }

    /// Sends a control message to all other ranks.
    pub(crate) fn tell_all(&mut self, own_rank: i32, control: &Control) {
        for peer in 0..self.peers.size() {
            if peer != own_rank {
                self.tell(peer, control);
            }
        }
    }

    pub(crate) fn heard(
        &mut self,
        world: &World,
        runtime: &Runtime,
        done: &norn_mpi_done,
        finished: &mut Finished,
    ) {
        if done.outcome == NORN_MPI_CANCELLED {
            return;
        }
        let length = usize::try_from(done.bytes).unwrap_or(0).min(LARGEST);
        let control = match done.outcome {
            NORN_MPI_DONE => Control::decode(&self.control_buffer[..length]),
            _ => None,
        };
        if let Err(failed) = self.listen() {
            world.complain(runtime, &self.calls().describe(failed));
        }
        match control {
            Some(control) => self.obey(world, done.source, control, finished),
            None if done.outcome == NORN_MPI_DONE => world.complain(
                runtime,
                &format!("rank {} sent a control message that this norn does not know; do all ranks run the same version?", done.source),
            ),
            None => {}
        }
    }

    pub(crate) fn obey(
        &mut self,
        world: &World,
        source: i32,
        control: Control,
        finished: &mut Finished,
    ) {
        match control {
            Control::Poison(wire, record) => self.poison_told(source, wire, record, finished),
            Control::Query(wire) => self.tell(source, &Control::Answer(wire)),
            Control::Answer(wire) => self.query_answered(world, source, wire, finished),
            Control::Bye { messages, takes } => {
                self.heard_leave = true;
                self.peers.says_bye(source, messages, takes);
                self.check_bye(source);
                self.call_leaver(source);
            }
            Control::Declined { .. } | Control::Waits { .. } | Control::Ends { .. } => {
                self.obey_on_lane(world, source, control, finished);
            }
            Control::Quit => self.has_quit(source),
            Control::TakeIn => self.resting.takes_in = true,
            Control::Fin => self.peers.says_fin(source),
            Control::Rest { wave, rest } => self.rest_told(source, wave, rest),
            Control::Confirm { wave } => self.confirm_rest(world, wave),
            Control::Rested { by_tags } => self.all_rest(world, by_tags, finished),
            Control::Ask => self.ask_awaited(),
            Control::Asks => self.answer_asked(world, source),
            Control::Answers {
                rests,
                sent,
                wires,
                last,
            } => self.asked_answered(world, source, (rests, sent), wires, last),
            Control::Asked { any } => self.asked_told(source, any),
            Control::Fail(record) => {
                if self.failed.is_none() {
                    self.fail_world(world, record, finished);
                }
            }
            Control::Still { epoch, sent, calls } => self.still_told(source, epoch, sent, calls),
            Control::Suppose { wave, members } => {
                self.still.suppose_told(source, wave, members);
            }
            Control::Blocked {
                leader,
                wave,
                sent,
                wires,
                relies,
            } => self.blocked_told(source, (leader, wave), sent, (wires, relies)),
            Control::Frozen {
                leader,
                wave,
                lanes,
                relies,
            } => self.frozen_told(source, (leader, wave), (lanes, relies)),
            Control::Stuck {
                wave,
                is_stuck,
                relies,
                last,
            } => self.stuck_told(source, wave, is_stuck.then_some(relies), last),
            Control::Fact {
                wave,
                version,
                relies,
                last,
            } => self.fact_told(source, wave, Fact { version, relies }, last),
            Control::Conclude { wave, spares } => {
                self.conclude_told(world, (source, wave), spares, finished);
            }
            Control::Never {
                leader,
                wave,
                epoch,
                spares,
                last,
            } => self.never_told(source, (leader, wave), epoch, spares, last),
            Control::Cut { leader, wave, any } => self.cut_told((leader, wave), any),
            Control::AllCut { wave, any } => self.all_cut_told(source, wave, any),
            Control::Declared(wire, identity) => {
                self.identity_told(world, source, wire, identity, finished);
            }
        }
    }

    /// After Bye and all that was sent, nothing more comes from a peer: the receives left get nothing.
    pub(crate) fn check_bye(&mut self, peer: i32) {
        if self.peers.cuts_off(peer) {
            self.cancel_receives(Some(peer), Cancelled::Left);
        }
    }

    /// Cancels the control receive, the last request of a world that ends.
    pub(crate) fn stop_listening(&mut self) {
        if self.control_slot >= 0 {
            self.requests.cancel(self.control_slot);
        }
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.control_slot >= 0
    }
}
