//! Reductions: private copies of the members of one REDUCE run, combined in a
//! tree whose shape depends only on the number of members.
//!
//! Member i's copy is leaf i. Two neighbouring subtrees of the same height are
//! combined as soon as both are there, left into left; when the run is closed
//! the remaining subtrees (the binary digits of the number of members) are
//! combined from the right to the left, and the result into the datum. So the
//! answer has the same bits in every mode and with any number of workers, and
//! no more copies live than members that have not found their neighbour.

use core::ffi::c_void;

use crate::sync::Mutex;

use crate::abi::types::norn_reduction;

/// A complete subtree: members `first .. first + 2^height`.
struct Subtree {
    height: u32,
    first: u64,
    copy: Box<[u64]>,
}

/// One run of REDUCE accesses to a datum.
pub(crate) struct ReduceRun {
    operation: norn_reduction,
    bytes: u64,
    /// Address the result goes to.
    target: usize,
    subtrees: Mutex<Vec<Subtree>>,
}

impl ReduceRun {
    /// An empty run over `bytes` bytes at `target`.
    pub(crate) fn new(operation: norn_reduction, target: usize, bytes: u64) -> Self {
        Self {
            operation,
            bytes,
            target,
            subtrees: Mutex::new(Vec::new()),
        }
    }

    /// A private copy holding the neutral element. 8-byte aligned.
    pub(crate) fn make_copy(&self) -> Box<[u64]> {
        let mut copy = vec![0u64; (self.bytes as usize).div_ceil(8).max(1)].into_boxed_slice();
        if let Some(identity) = self.operation.identity {
            plant!("identity.call");
            // SAFETY: the copy has room for `bytes` bytes; function and argument
            // are the application's, promised to fit together at register.
            unsafe { identity(copy.as_mut_ptr().cast(), self.bytes, self.operation.arg) };
            plant!("identity.called");
        }
        copy
    }

    fn combine(&self, into: *mut c_void, from: *const c_void) {
        if let Some(combine) = self.operation.combine {
            plant!("combine.call");
            // SAFETY: both sides have `bytes` bytes, no one else uses them now, and
            // function and argument are the application's, promised at register.
            unsafe { combine(into, from, self.bytes, self.operation.arg) };
            plant!("combine.called");
        }
    }

    /// Takes a member's finished copy and combines whatever has found its neighbour. The application's
    /// function runs without the lock: a subtree being combined is in nobody's reach.
    pub(crate) fn deposit(&self, member: u64, copy: Box<[u64]>) {
        let mut mine = Subtree {
            height: 0,
            first: member,
            copy,
        };
        loop {
            let width = 1u64 << mine.height;
            let neighbour_first = mine.first ^ width;
            let neighbour = {
                let mut subtrees = self.subtrees.lock();
                match subtrees
                    .iter()
                    .position(|other| other.height == mine.height && other.first == neighbour_first)
                {
                    Some(position) => subtrees.swap_remove(position),
                    None => {
                        subtrees.push(mine);
                        return;
                    }
                }
            };
            let (mut left, right) = if neighbour.first < mine.first {
                (neighbour, mine)
            } else {
                (mine, neighbour)
            };
            self.combine(left.copy.as_mut_ptr().cast(), right.copy.as_ptr().cast());
            left.height += 1;
            mine = left;
        }
    }

    /// Combines what is left into the datum. After all members have deposited.
    pub(crate) fn finish(&self) {
        let mut subtrees = core::mem::take(&mut *self.subtrees.lock());
        subtrees.sort_by_key(|subtree| subtree.first);
        let Some(mut right) = subtrees.pop() else {
            return;
        };
        while let Some(mut left) = subtrees.pop() {
            self.combine(left.copy.as_mut_ptr().cast(), right.copy.as_ptr().cast());
            right = left;
        }
        self.combine(self.target as *mut c_void, right.copy.as_ptr().cast());
    }
}

// SAFETY: the operation's argument is only passed to the application's own
// functions, which the manual says may be called from several threads.
unsafe impl Send for ReduceRun {}
// SAFETY: as above; all else is under the mutex or never changes.
unsafe impl Sync for ReduceRun {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the shape of the tree: copies are [length, bytes of text...].
    unsafe extern "C" fn nothing(copy: *mut c_void, _bytes: u64, _arg: *mut c_void) {
        // SAFETY: the copy has at least 8 bytes here.
        unsafe { copy.cast::<u64>().write(0) };
    }

    unsafe extern "C" fn pair(
        into: *mut c_void,
        from: *const c_void,
        bytes: u64,
        _arg: *mut c_void,
    ) {
        let read = |pointer: *const u8| {
            // SAFETY: the copies hold a length and that many bytes.
            unsafe {
                let length = pointer.cast::<u64>().read() as usize;
                String::from_utf8(core::slice::from_raw_parts(pointer.add(8), length).to_vec())
                    .unwrap()
            }
        };
        let text = format!("({}{})", read(into.cast()), read(from.cast()));
        assert!(text.len() + 8 <= bytes as usize);
        // SAFETY: checked just above to fit.
        unsafe {
            into.cast::<u64>().write(text.len() as u64);
            core::ptr::copy_nonoverlapping(text.as_ptr(), into.cast::<u8>().add(8), text.len());
        }
    }

    fn shape(members: u64, order: impl Iterator<Item = u64>) -> String {
        let mut target = vec![0u64; 64];
        let operation = norn_reduction {
            identity: Some(nothing),
            combine: Some(pair),
            arg: core::ptr::null_mut(),
        };
        let run = ReduceRun::new(operation, target.as_mut_ptr() as usize, 512);
        for member in order {
            let mut copy = run.make_copy();
            copy[0] = 1;
            copy[1] = u64::from(b'a' + member as u8);
            run.deposit(member, copy);
        }
        assert!(run.subtrees.lock().len() as u32 == members.count_ones());
        run.finish();
        let length = target[0] as usize;
        let bytes: Vec<u8> = target[1..]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn the_tree_depends_on_the_number_of_members_only() {
        let forward = shape(7, 0..7);
        assert_eq!(forward, "((((ab)(cd))((ef)g)))");
        assert_eq!(shape(7, (0..7).rev()), forward);
        assert_eq!(shape(7, [3, 0, 6, 1, 5, 2, 4].into_iter()), forward);
    }
}
