//! What the main thread, the bodies and the foreign thread of one run share.

use std::ffi::{CStr, CString, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::mpsc::Sender;
use std::time::Duration;

use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::types::*;

use crate::perform;
use crate::program::{Access, Program, Task, Token, mix};

/// How one run is made.
#[derive(Clone, Debug)]
pub struct Setup {
    pub mode: i32,
    pub workers: i32,
    pub flags: u64,
    pub seed: u64,
    pub max_live: u64,
    pub spin_ns: i64,
    /// Drains before it awaits.
    pub drain_first: bool,
    /// Registers a completion callback for every task.
    pub watch: bool,
    /// Looks at no token and no datum; close must then report the failure.
    pub blind: bool,
    pub unregister: bool,
    /// Bodies dawdle.
    pub pauses: bool,
    /// Longest wait of the main thread.
    pub patience: Duration,
    /// Longest wait of a body; `None`: no limit.
    pub body_patience: Option<Duration>,
    /// Does not declare this access (task, datum): a planted mistake.
    pub plant: Option<(usize, usize)>,
}

/// Argument of a task.
#[derive(Clone, Copy)]
pub struct Arg {
    pub context: *const Context,
    pub index: usize,
}

/// Work for the foreign thread.
pub enum Errand {
    Resolve(usize),
    Unhold {
        task: usize,
        token: norn_token,
        holds: u32,
    },
}

/// What was seen of one task.
#[derive(Default)]
pub struct Seen {
    pub token: AtomicU64,
    pub started: AtomicU32,
    pub in_body: AtomicU32,
    pub out: AtomicU64,
    pub held: AtomicU64,
    pub drops: AtomicU32,
    pub callbacks: AtomicU32,
    pub callback_status: AtomicI32,
}

pub struct Context {
    pub program: Program,
    pub setup: Setup,
    pub rt: AtomicPtr<norn_runtime>,
    pub tasks: Vec<Seen>,
    pub promises: Vec<AtomicU64>,
    pub resolved: Vec<AtomicU64>,
    pub groups: Vec<AtomicU64>,
    pub dones: Vec<AtomicU64>,
    pub data: Vec<AtomicU64>,
    pub slots: Vec<AtomicU64>,
    /// The test's own memory, for registered data and pure names.
    pub memory: Vec<Vec<AtomicU64>>,
    /// First word of each root.
    pub bases: Vec<AtomicUsize>,
    /// By root and word: readers, or a large negative number for a writer.
    pub busy: Vec<Vec<AtomicI32>>,
    pub args: Vec<Arg>,
    pub promise_args: Vec<Arg>,
    pub names: Vec<CString>,
    pub complaints: Mutex<Vec<String>>,
    pub log: Mutex<Vec<String>>,
    pub foreign: Mutex<Option<Sender<Errand>>>,
    pub merged: Vec<Vec<Access>>,
    pub families: Vec<Vec<usize>>,
    pub members: Vec<Vec<usize>>,
}

// SAFETY: the raw pointers in it are norn's handle and the addresses of its own
// atomics; all shared state is atomic or behind a mutex.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

fn numbers(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Context {
    /// Boxed, because tasks hold its address.
    pub fn new(program: &Program, setup: &Setup, foreign: Sender<Errand>) -> Box<Self> {
        let memory = |root: usize| {
            let words = 0..program.roots[root].words;
            words
                .map(|word| AtomicU64::new(program.initial(root, word)))
                .collect::<Vec<_>>()
        };
        let mut context = Box::new(Self {
            program: program.clone(),
            setup: setup.clone(),
            rt: AtomicPtr::new(std::ptr::null_mut()),
            tasks: program.tasks.iter().map(|_| Seen::default()).collect(),
            promises: numbers(program.promises.len()),
            resolved: numbers(program.promises.len()),
            groups: numbers(program.groups.len()),
            dones: numbers(program.groups.len()),
            data: numbers(program.handles.len()),
            slots: numbers(program.slots.len()),
            memory: (0..program.roots.len()).map(memory).collect(),
            bases: program.roots.iter().map(|_| AtomicUsize::new(0)).collect(),
            busy: program
                .roots
                .iter()
                .map(|root| (0..root.words).map(|_| AtomicI32::new(0)).collect())
                .collect(),
            args: Vec::new(),
            promise_args: Vec::new(),
            names: (0..program.tasks.len())
                .map(|task| CString::new(format!("t{task}")).expect("no zero"))
                .collect(),
            complaints: Mutex::default(),
            log: Mutex::default(),
            foreign: Mutex::new(Some(foreign)),
            merged: program.tasks.iter().map(Task::merged).collect(),
            families: program.families(),
            members: program.members(),
        });
        let address: *const Context = &raw const *context;
        let arg = |index| Arg {
            context: address,
            index,
        };
        context.args = (0..program.tasks.len()).map(arg).collect();
        context.promise_args = (0..program.promises.len()).map(arg).collect();
        context
    }

    pub fn rt(&self) -> *mut norn_runtime {
        self.rt.load(Acquire)
    }

    pub fn complain(&self, text: impl Into<String>) {
        self.complaints
            .lock()
            .expect("no panic holds it")
            .push(text.into());
    }

    /// Complains about an unexpected status. Whether it was the expected one.
    pub fn expect(
        &self,
        what: impl FnOnce() -> String,
        status: norn_status,
        expected: norn_status,
    ) -> bool {
        if status != expected {
            self.complain(format!(
                "{} returned {} ({})",
                what(),
                status_text(status),
                last_error()
            ));
        }
        status == expected
    }

    pub fn token(&self, token: Token) -> norn_token {
        let id = match token {
            Token::Zero => 0,
            Token::Task(task) => self.tasks[task].token.load(Acquire),
            Token::Promise(promise) => self.promises[promise].load(Acquire),
            Token::Group(group) => self.dones[group].load(Acquire),
        };
        if id == 0 && token != Token::Zero {
            self.complain(format!("the test used {token} before it had it"));
        }
        norn_token { id }
    }

    /// Whether there is such a token: a shrunk program may have lost a promise or group, and a nested task
    /// may wrongly not have been submitted.
    pub fn has(&self, token: Token) -> bool {
        match token {
            Token::Promise(promise) => self.promises[promise].load(Acquire) != 0,
            Token::Group(group) => self.dones[group].load(Acquire) != 0,
            Token::Task(task) => self.tasks[task].token.load(Acquire) != 0,
            Token::Zero => true,
        }
    }

    pub fn datum(&self, handle: usize) -> norn_data {
        norn_data {
            id: self.data[handle].load(Acquire),
        }
    }

    pub fn access(&self, access: &Access) -> norn_access {
        let slot = access.slot.map_or(0, |slot| self.slots[slot].load(Acquire));
        norn_access {
            data: self.datum(access.data),
            slot,
            mode: access.mode as i32,
            flags: 0,
        }
    }

    /// What whoever waited for a token can see of it.
    pub fn seen(&self, token: Token) -> u64 {
        let family = match token {
            Token::Zero => return 0,
            Token::Promise(promise) => return self.resolved[promise].load(Acquire),
            Token::Task(task) => &self.families[task],
            Token::Group(group) => &self.members[group],
        };
        family.iter().fold(0, |sum, member| {
            let sum = mix(sum, self.tasks[*member].out.load(Acquire));
            if self.tasks[*member].held.load(Acquire) == 0 {
                sum
            } else {
                mix(sum, 77)
            }
        })
    }

    /// A body that takes its time, now and then.
    pub fn pause(&self) {
        if !self.setup.pauses {
            return;
        }
        match fastrand::u32(..64) {
            0 => std::thread::sleep(Duration::from_micros(fastrand::u64(10..120))),
            1..4 => std::thread::yield_now(),
            4..20 => (0..fastrand::u32(..400)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }

    /// Submits tasks from the calling thread, as a batch when there are several.
    pub fn submit(&self, tasks: &[usize]) -> bool {
        let access = |task: usize| {
            let plan = &self.program.tasks[task];
            let kept = plan
                .accesses
                .iter()
                .filter(move |access| self.setup.plant != Some((task, access.data)));
            kept.map(|access| self.access(access)).collect::<Vec<_>>()
        };
        let accesses: Vec<Vec<norn_access>> = tasks.iter().map(|task| access(*task)).collect();
        let after = |task: usize| {
            self.program.tasks[task]
                .after
                .iter()
                .map(|token| self.token(*token))
                .collect()
        };
        let after: Vec<Vec<norn_token>> = tasks.iter().map(|task| after(*task)).collect();
        let batch = tasks.iter().zip(accesses.iter().zip(&after));
        let batch: Vec<norn_task> = batch
            .map(|(task, (accesses, after))| self.describe(*task, accesses, after))
            .collect();
        let mut tokens = vec![norn_token::default(); tasks.len()];
        // SAFETY: the arrays live on this stack, the arguments and names as long as the context.
        let status = unsafe {
            match batch.as_slice() {
                [task] => norn_submit(self.rt(), task, &mut tokens[0]),
                many => norn_submit_many(
                    self.rt(),
                    many.as_ptr(),
                    many.len() as u64,
                    tokens.as_mut_ptr(),
                ),
            }
        };
        if !self.expect(|| format!("submitting {tasks:?}"), status, NORN_OK) {
            return false;
        }
        for (task, token) in tasks.iter().zip(tokens) {
            let before = self.tasks[*task].token.swap(token.id, AcqRel);
            if token.id == 0 || self.program.tasks[*task].declared && before != token.id {
                self.complain(format!(
                    "t{task} was declared as {before:#x} and submitted as {:#x}",
                    token.id
                ));
            }
        }
        true
    }

    fn describe(&self, task: usize, accesses: &[norn_access], after: &[norn_token]) -> norn_task {
        let plan = &self.program.tasks[task];
        let mut flags = 0;
        for (set, flag) in [
            (plan.held, NORN_HELD),
            (plan.child, NORN_CHILD),
            (plan.always, NORN_RUN_ALWAYS),
            (plan.copy_arg, NORN_COPY_ARG),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let index = match plan.place {
            (NORN_PLACE_CPU, index) if self.setup.workers > 0 && index >= 0 => {
                index % self.setup.workers
            }
            (NORN_PLACE_CPU, _) => -1,
            (_, index) => index,
        };
        norn_task {
            struct_size: size_of::<norn_task>(),
            run: Some(perform::body),
            enqueue: None,
            arg: (&raw const self.args[task]) as *mut c_void,
            drop: Some(perform::dropped),
            name: self.names[task].as_ptr(),
            accesses: accesses.as_ptr(),
            access_count: accesses.len() as u64,
            after: after.as_ptr(),
            after_count: after.len() as u64,
            priority: plan.priority,
            cpus: plan.cpus,
            flags,
            arg_bytes: if plan.copy_arg {
                size_of::<Arg>() as u32
            } else {
                0
            },
            place: norn_place {
                kind: plan.place.0,
                index,
            },
            stream: std::ptr::null_mut(),
            group: norn_group {
                id: plan
                    .group
                    .map_or(0, |group| self.groups[group].load(Acquire)),
            },
            r#as: norn_token {
                id: if plan.declared {
                    self.tasks[task].token.load(Acquire)
                } else {
                    0
                },
            },
        }
    }

    /// Fulfils or fails a promise, from whatever thread this is.
    pub fn resolve(&self, promise: usize) {
        self.resolved[promise].store(mix(promise as u64, 5), Release);
        let token = self.token(Token::Promise(promise));
        // SAFETY: the message is a zero-terminated constant.
        let status = unsafe {
            match self.program.promises[promise].fail {
                None => norn_fulfill(self.rt(), token),
                Some(code) => norn_fail(self.rt(), token, code, c"as planned".as_ptr()),
            }
        };
        self.expect(|| format!("resolving p{promise}"), status, NORN_OK);
    }

    pub fn send(&self, errand: Errand) {
        let foreign = self.foreign.lock().expect("no panic holds it");
        let sent = foreign.as_ref().map(|sender| sender.send(errand));
        if !matches!(sent, Some(Ok(()))) {
            drop(foreign);
            self.complain("the foreign thread is gone before its last errand");
        }
    }
}

pub fn last_error() -> String {
    // SAFETY: norn promises a zero-terminated text, valid until this thread's next error.
    unsafe { CStr::from_ptr(norn_last_error()) }
        .to_string_lossy()
        .into_owned()
}

pub fn status_text(status: norn_status) -> String {
    // SAFETY: norn promises a static zero-terminated name.
    unsafe { CStr::from_ptr(norn_status_name(status)) }
        .to_string_lossy()
        .into_owned()
}
