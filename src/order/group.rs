//! Groups: a count of members, a `done` token, and the first failure.

use super::token::{LAST_GENERATION, Token};
use crate::abi::status::{NORN_E_CLOSED, NORN_E_INVALID, NORN_E_STATE};
use crate::error::{Error, Result};

struct Group {
    generation: u32,
    live: bool,
    /// Node of the `done` token.
    done: u32,
    members: u64,
    closed: bool,
    cancelled: bool,
    cause: u32,
    /// Tokens that were members, for cancelling; completed ones are dropped when it has doubled.
    tokens: Vec<Token>,
    compact_at: usize,
}

/// All groups of one runtime.
#[derive(Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    free: Vec<u32>,
}

/// A group that has ended: its `done` node and the first failure among its members.
pub(crate) struct Ended {
    pub(crate) done: u32,
    pub(crate) cause: u32,
}

impl Groups {
    /// Opens a group and gives its index.
    pub(crate) fn open(&mut self, done: u32) -> u32 {
        if self.groups.is_empty() {
            self.groups.push(Group::vacant());
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.groups.push(Group::vacant());
            self.groups.len() as u32 - 1
        });
        let generation = self.groups[index as usize].generation + 1;
        self.groups[index as usize] = Group {
            generation,
            live: true,
            done,
            ..Group::vacant()
        };
        index
    }

    /// The handle of a group.
    pub(crate) fn handle(&self, runtime: u32, index: u32) -> u64 {
        Token::new(runtime, index, self.groups[index as usize].generation).0
    }

    /// Index of a handle.
    pub(crate) fn resolve(&self, runtime: u32, handle: u64) -> Result<u32> {
        let parts = Token(handle);
        match self.groups.get(parts.index() as usize) {
            Some(group)
                if parts.generation() != 0
                    && parts.runtime() == runtime
                    && group.generation == parts.generation() =>
            {
                if group.live {
                    Ok(parts.index())
                } else {
                    Err(Error::new(
                        NORN_E_CLOSED,
                        format!("group {handle:#x} has ended"),
                    ))
                }
            }
            Some(group)
                if parts.runtime() == runtime
                    && parts.generation() != 0
                    && parts.generation() < group.generation =>
            {
                Err(Error::new(
                    NORN_E_CLOSED,
                    format!("group {handle:#x} has ended"),
                ))
            }
            _ => Err(Error::new(
                NORN_E_INVALID,
                format!("norn_group {handle:#x} is no group of this runtime"),
            )),
        }
    }

    /// Whether there may be a new member.
    pub(crate) fn check_joinable(&self, index: u32, from_member: bool) -> Result<()> {
        let group = &self.groups[index as usize];
        if !group.live || group.cancelled || (group.closed && !from_member) {
            return Err(Error::new(NORN_E_CLOSED, "the group is closed"));
        }
        Ok(())
    }

    /// Counts a new member. From outside the group it must still be open.
    pub(crate) fn join(
        &mut self,
        index: u32,
        token: Token,
        from_member: bool,
        is_complete: impl Fn(Token) -> bool,
    ) -> Result<()> {
        self.check_joinable(index, from_member)?;
        let group = &mut self.groups[index as usize];
        group.members += 1;
        if group.tokens.len() >= group.compact_at {
            group.tokens.retain(|token| !is_complete(*token));
            group.compact_at = (2 * group.tokens.len()).max(64);
        }
        group.tokens.push(token);
        Ok(())
    }

    /// A member has ended.
    pub(crate) fn leave(&mut self, index: u32, cause: u32) -> Option<Ended> {
        let group = &mut self.groups[index as usize];
        group.members -= 1;
        if group.cause == 0 {
            group.cause = cause;
        }
        self.end_if_over(index)
    }

    /// Closes a group by its handle: no more members from outside. Once, also after it was cancelled.
    pub(crate) fn close(&mut self, runtime: u32, handle: u64) -> Result<Option<Ended>> {
        let closed_before = || Error::new(NORN_E_STATE, "the group was closed before");
        let parts = Token(handle);
        let index = match self.resolve(runtime, handle) {
            Ok(index) => index,
            Err(error) if error.status() == NORN_E_CLOSED => {
                // Cancelled and over: the slot was kept for this call.
                let group = &mut self.groups[parts.index() as usize];
                if group.generation != parts.generation() || group.closed {
                    return Err(closed_before());
                }
                group.closed = true;
                self.recycle(parts.index());
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let group = &mut self.groups[index as usize];
        if group.closed {
            return Err(closed_before());
        }
        group.closed = true;
        Ok(self.end_if_over(index))
    }

    fn recycle(&mut self, index: u32) {
        if self.groups[index as usize].generation < LAST_GENERATION {
            self.free.push(index);
        }
    }

    /// Forgets all groups, when the runtime's memory is used again. Generations go on.
    pub(crate) fn clear(&mut self) {
        self.free.clear();
        for index in 1..self.groups.len() as u32 {
            let generation = self.groups[index as usize].generation;
            self.groups[index as usize] = Group {
                generation,
                closed: true,
                ..Group::vacant()
            };
            self.recycle(index);
        }
    }

    /// No more members at all; the group ends when those it has have ended.
    pub(crate) fn cancel(&mut self, index: u32, cause: u32) -> Option<Ended> {
        let group = &mut self.groups[index as usize];
        if !group.live {
            return None;
        }
        group.cancelled = true;
        if group.cause == 0 {
            group.cause = cause;
        }
        self.end_if_over(index)
    }

    fn end_if_over(&mut self, index: u32) -> Option<Ended> {
        let group = &mut self.groups[index as usize];
        if !(group.closed || group.cancelled) || group.members > 0 || !group.live {
            return None;
        }
        group.live = false;
        group.tokens = Vec::new();
        let ended = Ended {
            done: group.done,
            cause: group.cause,
        };
        // The handle of a cancelled group stays good for the one close that its owner may still call.
        if group.closed {
            self.recycle(index);
        }
        Some(ended)
    }

    /// Tokens of the members that may still live.
    pub(crate) fn members(&self, index: u32) -> Vec<Token> {
        self.groups[index as usize].tokens.clone()
    }

    /// Node of the `done` token of a live group.
    pub(crate) fn done(&self, index: u32) -> u32 {
        self.groups
            .get(index as usize)
            .map_or(0, |group| if group.live { group.done } else { 0 })
    }

    /// Group of a `done` node.
    pub(crate) fn of_done(&self, done: u32) -> Option<u32> {
        self.groups
            .iter()
            .position(|group| group.live && group.done == done)
            .map(|index| index as u32)
    }

    /// Groups that nobody has closed yet.
    pub(crate) fn open_ones(&self) -> Vec<u32> {
        (0..self.groups.len() as u32)
            .filter(|index| {
                let group = &self.groups[*index as usize];
                group.live && !group.closed && !group.cancelled
            })
            .collect()
    }
}

impl Group {
    fn vacant() -> Self {
        Self {
            generation: 0,
            live: false,
            done: 0,
            members: 0,
            closed: false,
            cancelled: false,
            cause: 0,
            tokens: Vec::new(),
            compact_at: 64,
        }
    }
}
