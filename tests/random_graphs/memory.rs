//! The data of a run: registering them, and touching them as a task's body does.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::*};

use norn::abi::data::*;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::context::Context;
use crate::perform;
use crate::program::{Access, Mode, Reduction, Storage, combine, contribution, mix, stored};

/// What a writer adds to the count of those at a word.
const WRITING: i32 = -1_000_000;

impl Context {
    pub fn register(&self, root: usize) {
        let plan = &self.program.roots[root];
        let bytes = 8 * plan.words as u64;
        let own = self.memory[root].as_ptr() as usize;
        let reduces = plan.reduction != Reduction::None;
        let desc = norn_data_desc {
            struct_size: size_of::<norn_data_desc>(),
            ptr: if plan.storage == Storage::Registered {
                own as *mut c_void
            } else {
                std::ptr::null_mut()
            },
            bytes: if plan.storage == Storage::Name {
                0
            } else {
                bytes
            },
            place: norn_place::default(),
            kind: NORN_MEMORY_HOST,
            flags: if plan.unwritten { NORN_UNWRITTEN } else { 0 },
            name: std::ptr::null(),
            reduce: norn_reduction {
                identity: reduces.then_some(perform::identity as _),
                combine: reduces.then_some(perform::combine as _),
                arg: plan.reduction as usize as *mut c_void,
            },
        };
        let mut data = norn_data::default();
        // SAFETY: the description and the output live on this stack; the memory lives as long as the context.
        let status = unsafe {
            match plan.storage {
                Storage::Allocated => norn_data_alloc(self.rt(), &desc, &mut data),
                _ => norn_data_register(self.rt(), &desc, &mut data),
            }
        };
        if !self.expect(|| format!("registering d{}", plan.handle), status, NORN_OK) {
            return;
        }
        self.data[plan.handle].store(data.id, Release);
        let base = match plan.storage {
            Storage::Allocated => self.pointer(plan.handle).0,
            _ => own,
        };
        self.bases[root].store(base, Release);
    }

    /// `norn_data_pointer`.
    pub fn pointer(&self, handle: usize) -> (usize, u64) {
        let (mut pointer, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: both outputs are writable.
        let status =
            unsafe { norn_data_pointer(self.rt(), self.datum(handle), &mut pointer, &mut bytes) };
        self.expect(|| format!("norn_data_pointer(d{handle})"), status, NORN_OK);
        (pointer as usize, bytes)
    }

    fn word(&self, root: usize, word: usize) -> &AtomicU64 {
        let base = self.bases[root].load(Acquire) as *const AtomicU64;
        assert!(!base.is_null(), "root {root} has no memory");
        // SAFETY: the root has at least this many words from `base`, and lives until the runtime is closed.
        unsafe { &*base.add(word) }
    }

    pub fn contents(&self, root: usize, word: usize) -> u64 {
        self.word(root, word).load(Relaxed)
    }

    /// Contents that outlive the runtime.
    pub fn own_contents(&self, root: usize, word: usize) -> Option<u64> {
        (self.program.roots[root].storage != Storage::Allocated)
            .then(|| self.memory[root][word].load(Relaxed))
    }

    /// Reads and writes what `accesses` say, and complains when somebody else is at it.
    pub fn touch(&self, who: &str, mut hash: u64, accesses: &[Access]) -> u64 {
        self.occupy(who, accesses, true);
        self.pause();
        for access in accesses
            .iter()
            .filter(|access| matches!(access.mode, Mode::Read | Mode::ReadWrite))
        {
            let handle = &self.program.handles[access.data];
            for word in &handle.words {
                hash = mix(hash, self.word(handle.root, *word).load(Relaxed));
            }
        }
        let mut read = Vec::new();
        for access in accesses
            .iter()
            .filter(|access| access.mode == Mode::Commute)
        {
            let handle = &self.program.handles[access.data];
            read.extend(
                handle
                    .words
                    .iter()
                    .map(|word| self.word(handle.root, *word).load(Relaxed)),
            );
        }
        let mut read = read.into_iter();
        self.pause();
        for access in accesses {
            let handle = &self.program.handles[access.data];
            if access.mode == Mode::Reduce {
                self.reduce(access.data, hash);
                continue;
            }
            for word in &handle.words {
                let new = stored(hash, access.data, *word);
                match access.mode {
                    Mode::Write | Mode::ReadWrite => {
                        self.word(handle.root, *word).store(new, Relaxed)
                    }
                    Mode::Commute => {
                        let old = read.next().expect("was read above");
                        self.word(handle.root, *word)
                            .store(old.wrapping_add(new), Relaxed);
                    }
                    Mode::Read | Mode::Reduce => {}
                }
            }
        }
        self.pause();
        self.occupy(who, accesses, false);
        hash
    }

    fn reduce(&self, data: usize, hash: u64) {
        let handle = &self.program.handles[data];
        let (copy, bytes) = self.pointer(data);
        if copy == 0 || bytes != 8 * handle.words.len() as u64 {
            return self.complain(format!("private copy of d{data}: {copy:#x}, {bytes} bytes"));
        }
        let adds: Vec<u64> = handle
            .words
            .iter()
            .map(|word| contribution(hash, *word))
            .collect();
        // SAFETY: norn says that this private copy has as many words as the datum.
        let copy = unsafe { std::slice::from_raw_parts_mut(copy as *mut u64, handle.words.len()) };
        combine(self.program.roots[handle.root].reduction, copy, &adds);
    }

    fn occupy(&self, who: &str, accesses: &[Access], enter: bool) {
        for access in accesses.iter().filter(|access| access.mode != Mode::Reduce) {
            let handle = &self.program.handles[access.data];
            let own = if access.mode == Mode::Read {
                1
            } else {
                WRITING
            };
            for word in &handle.words {
                let busy = &self.busy[handle.root][*word];
                if !enter {
                    busy.fetch_sub(own, AcqRel);
                } else {
                    let before = busy.fetch_add(own, AcqRel);
                    if before < 0 || own < 0 && before != 0 {
                        self.complain(format!(
                            "{who} ({:?}) is not alone at d{}, word {word}",
                            access.mode, access.data
                        ));
                    }
                }
            }
        }
    }
}
