//! One run of a program on norn: the main thread's part, and what to say about the outcome.

use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering::*;
use std::sync::mpsc::channel;

use norn::abi::data::*;
use norn::abi::group::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;

use crate::compare;
use crate::context::{Context, Errand, Setup, last_error, status_text};
use crate::oracle::{End, Expected};
use crate::perform;
use crate::program::{Op, Program, Token, mix};
use crate::watch;

/// What went wrong in a run; empty: nothing.
pub struct Report {
    pub complaints: Vec<String>,
    /// Lines that norn logged, and its dump when it hung.
    pub log: Vec<String>,
}

/// The header's version, as `norn_open` passes it.
const HEADER: i32 = NORN_VERSION_MAJOR * 1_000_000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH;

/// Runs a program once and compares with what must come out.
pub fn run(program: &Program, expected: &Expected, setup: &Setup) -> Report {
    let threads = watch::threads();
    let (sender, errands) = channel();
    let context = Context::new(program, setup, sender);
    let config = config(&context, setup);
    let mut rt = std::ptr::null_mut();
    // SAFETY: the configuration is readable and the output writable.
    let status = unsafe { norn_open_version(HEADER, &config, &mut rt) };
    context.expect(|| "norn_open".into(), status, NORN_OK);
    context.rt.store(rt, Release);
    let mut hung = false;
    if status == NORN_OK {
        // A run that hangs never ends; what it uses must then live for ever.
        let address: &'static Context = forever(&context);
        watch::running(&address.program, setup, rt);
        let foreign = std::thread::Builder::new().name("rg:foreign".into());
        let foreign = foreign
            .spawn(move || perform::foreign(address, &errands))
            .expect("a thread can be made");
        let mut main = Main {
            context: address,
            expected,
            granted: vec![(false, 0, 0); program.holds.len()],
            hung: false,
        };
        main.perform();
        hung = main.hung;
        address.foreign.lock().expect("no panic holds it").take();
        if !hung {
            foreign.join().expect("the foreign thread does not panic");
            compare::after_close(address, expected, &main.granted);
        }
        watch::rest();
    }
    let mut complaints =
        std::mem::take(&mut *context.complaints.lock().expect("no panic holds it"));
    let log = std::mem::take(&mut *context.log.lock().expect("no panic holds it"));
    if hung {
        std::mem::forget(context);
    } else if status == NORN_OK {
        complaints.extend(watch::leaked(&threads));
    }
    Report { complaints, log }
}

/// The context, for as long as anybody may use it.
fn forever(context: &Context) -> &'static Context {
    // SAFETY: `run` drops the context only after the runtime is closed and the foreign
    // thread joined, and forgets it otherwise.
    unsafe { &*std::ptr::from_ref(context) }
}

fn config(context: &Context, setup: &Setup) -> norn_config {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut config: norn_config = unsafe { std::mem::zeroed() };
    config.struct_size = size_of::<norn_config>();
    config.mode = setup.mode;
    config.workers = setup.workers;
    config.flags = setup.flags;
    config.seed = setup.seed;
    config.max_live_tasks = setup.max_live;
    config.spin_ns = setup.spin_ns;
    config.watchdog_ns = 8_000_000_000;
    config.log = Some(perform::log);
    config.log_arg = (&raw const *context) as *mut c_void;
    config
}

/// The main thread of a run.
pub struct Main<'a> {
    pub context: &'a Context,
    pub expected: &'a Expected,
    /// By hold: granted, what it read, its token.
    pub granted: Vec<(bool, u64, u64)>,
    pub hung: bool,
}

impl Main<'_> {
    pub(crate) fn perform(&mut self) {
        let context = self.context;
        (0..context.program.roots.len()).for_each(|root| context.register(root));
        let mut script = context.program.script.iter().enumerate();
        let broken = !script.all(|(at, op)| {
            watch::at(at);
            self.op(op)
        });
        watch::at(usize::MAX);
        if !broken && !self.hung {
            self.finish();
        }
        if self.hung {
            let log = watch::dump(context.rt());
            return context.log.lock().expect("no panic holds it").push(log);
        }
        let flags = if broken { NORN_CANCEL } else { NORN_DRAIN };
        let failed = self
            .expected
            .tasks
            .iter()
            .any(|task| matches!(task.end, End::Failed(_)));
        let expected = if context.setup.blind && failed {
            NORN_E_TASK_FAILED
        } else {
            NORN_OK
        };
        // SAFETY: the foreign thread only sends what running bodies wait for.
        let status = unsafe { norn_close_with(context.rt(), flags, self.patience()) };
        if status == NORN_E_TIMEOUT {
            self.hung = true;
            context.complain(format!("close hangs: {}", last_error()));
        } else if !(broken || context.setup.blind && self.excused(status)) {
            context.expect(|| "norn_close".into(), status, expected);
        }
    }

    /// A failed promise that nobody looked at may also be what close reports.
    pub(crate) fn excused(&self, status: norn_status) -> bool {
        let failed = |end: &End| matches!(end, End::Failed(_));
        status == NORN_E_TASK_FAILED && self.expected.promises.iter().any(failed)
    }

    pub(crate) fn patience(&self) -> i64 {
        self.context.setup.patience.as_nanos() as i64
    }

    /// False: the script cannot go on.
    pub(crate) fn op(&mut self, op: &Op) -> bool {
        let context = self.context;
        let rt = context.rt();
        let mut token = norn_token::default();
        let what = || format!("{op:?}");
        // SAFETY: all outputs are writable, all arrays as long as said, names and
        // arguments live as long as the context.
        unsafe {
            match op {
                Op::Declare(task) => {
                    let status = norn_declare(rt, context.names[*task].as_ptr(), &mut token);
                    context.tasks[*task].token.store(token.id, Release);
                    context.expect(what, status, NORN_OK)
                }
                Op::Promise(promise) => {
                    let status = if context.program.promises[*promise].declared {
                        norn_declare(rt, c"never bound".as_ptr(), &mut token)
                    } else {
                        norn_promise(rt, c"promise".as_ptr(), &mut token)
                    };
                    context.promises[*promise].store(token.id, Release);
                    context.expect(what, status, NORN_OK)
                }
                Op::Reserve(slots) => {
                    let plans = slots.iter().map(|slot| &context.program.slots[*slot]);
                    let accesses: Vec<norn_access> = plans
                        .map(|plan| norn_access {
                            data: context.datum(plan.data),
                            slot: 0,
                            mode: plan.mode as i32,
                            flags: 0,
                        })
                        .collect();
                    let mut numbers = vec![0; slots.len()];
                    let status = norn_reserve(
                        rt,
                        accesses.as_ptr(),
                        slots.len() as u64,
                        numbers.as_mut_ptr(),
                    );
                    for (slot, number) in slots.iter().zip(numbers) {
                        context.slots[*slot].store(number, Release);
                    }
                    context.expect(what, status, NORN_OK)
                }
                Op::Abandon(slot) => context.expect(
                    what,
                    norn_reserve_abandon(rt, context.slots[*slot].load(Acquire)),
                    NORN_OK,
                ),
                Op::Submit(tasks) => context.submit(tasks) && self.watch(tasks),
                Op::Edge(before, after) => {
                    let status = norn_edge(
                        rt,
                        context.token(*before),
                        context.token(Token::Task(*after)),
                    );
                    context.expect(what, status, NORN_OK)
                }
                Op::Start(task) => context.expect(
                    what,
                    norn_start(rt, context.token(Token::Task(*task))),
                    NORN_OK,
                ),
                Op::Cancel(token) => {
                    context.expect(what, norn_cancel(rt, context.token(*token)), NORN_OK)
                }
                Op::Resolve(promise) => {
                    context.resolve(*promise);
                    true
                }
                Op::Foreign(promise) => {
                    context.send(Errand::Resolve(*promise));
                    true
                }
                Op::Callback(token, promise) => {
                    let arg = (&raw const context.promise_args[*promise]) as *mut c_void;
                    let status =
                        norn_on_complete(rt, context.token(*token), Some(perform::resolve), arg);
                    context.expect(what, status, NORN_OK)
                }
                Op::GroupOpen(group) => {
                    let parent = context.program.groups[*group]
                        .map_or(0, |parent| context.groups[parent].load(Acquire));
                    let (mut opened, mut done) = (norn_group::default(), norn_token::default());
                    let status = norn_group_open(
                        rt,
                        c"group".as_ptr(),
                        norn_group { id: parent },
                        &mut opened,
                        &mut done,
                    );
                    context.groups[*group].store(opened.id, Release);
                    context.dones[*group].store(done.id, Release);
                    context.expect(what, status, NORN_OK)
                }
                Op::GroupClose(group) => {
                    let group = norn_group {
                        id: context.groups[*group].load(Acquire),
                    };
                    context.expect(what, norn_group_close(rt, group), NORN_OK)
                }
                Op::Split(split) => self.split(*split),
                Op::Join(split) => {
                    let data = context.datum(context.program.splits[*split].data);
                    context.expect(what, norn_data_join(rt, data), NORN_OK)
                }
                Op::Acquire(hold) => self.acquire(*hold),
                Op::Release(hold) => match self.granted[*hold] {
                    (true, _, id) => {
                        context.expect(what, norn_data_release(rt, norn_token { id }), NORN_OK)
                    }
                    _ => true,
                },
                Op::Await(token) => self.wait(*token),
                Op::Drain => self.drain(),
                Op::Progress => context.expect(what, norn_progress(rt), NORN_OK),
            }
        }
    }

    pub(crate) fn watch(&self, tasks: &[usize]) -> bool {
        let context = self.context;
        for task in tasks.iter().filter(|_| context.setup.watch) {
            let arg = (&raw const context.args[*task]) as *mut c_void;
            // SAFETY: the argument lives as long as the context.
            let status = unsafe {
                norn_on_complete(
                    context.rt(),
                    context.token(Token::Task(*task)),
                    Some(perform::watched),
                    arg,
                )
            };
            context.expect(|| format!("norn_on_complete(t{task})"), status, NORN_OK);
        }
        true
    }

    pub(crate) fn split(&self, split: usize) -> bool {
        let context = self.context;
        let plan = &context.program.splits[split];
        let bytes = |words: usize| 8 * words as u64;
        let piece = |part: &usize| {
            let piece = context.program.handles[*part]
                .piece
                .expect("parts are pieces");
            norn_piece {
                offset: bytes(piece.offset),
                bytes: bytes(piece.length),
                rows: piece.rows as u64,
                stride: bytes(piece.stride),
            }
        };
        let pieces: Vec<norn_piece> = plan.parts.iter().map(piece).collect();
        let mut parts = vec![norn_data::default(); pieces.len()];
        let (data, count) = (context.datum(plan.data), pieces.len() as u64);
        // SAFETY: both arrays are as long as said.
        let status = unsafe {
            norn_data_split(
                context.rt(),
                data,
                pieces.as_ptr(),
                count,
                parts.as_mut_ptr(),
            )
        };
        for (part, data) in plan.parts.iter().zip(parts) {
            context.data[*part].store(data.id, Release);
        }
        context.expect(|| format!("splitting d{}", plan.data), status, NORN_OK)
    }

    pub(crate) fn acquire(&mut self, hold: usize) -> bool {
        let context = self.context;
        let plan = &context.program.holds[hold];
        let accesses: Vec<norn_access> = plan.iter().map(|access| context.access(access)).collect();
        let mut token = norn_token::default();
        // SAFETY: the array is as long as said, the output writable.
        let status = unsafe {
            norn_data_acquire(
                context.rt(),
                accesses.as_ptr(),
                accesses.len() as u64,
                self.patience(),
                &mut token,
            )
        };
        match status {
            NORN_OK => {
                let hash = mix(context.program.seed, !(hold as u64));
                self.granted[hold] = (true, context.touch("the main thread", hash, plan), token.id);
            }
            NORN_E_PROPAGATED => {}
            _ => self.stopped(format!("acquiring h{hold}"), status),
        }
        !self.hung && matches!(status, NORN_OK | NORN_E_PROPAGATED)
    }

    pub(crate) fn stopped(&mut self, what: String, status: norn_status) {
        self.hung |= status == NORN_E_TIMEOUT;
        self.context.complain(format!(
            "{what}: {} ({})",
            status_text(status),
            last_error()
        ));
    }

    /// Awaits a token. False: it did not complete.
    pub(crate) fn wait(&mut self, token: Token) -> bool {
        let context = self.context;
        // SAFETY: always safe to call.
        let status = unsafe { norn_await(context.rt(), context.token(token), self.patience()) };
        let ended = matches!(
            status,
            NORN_OK | NORN_E_TASK_FAILED | NORN_E_PROPAGATED | NORN_E_CANCELLED
        );
        if ended {
            context.check_dropped(token);
        } else {
            self.stopped(format!("awaiting {token}"), status);
        }
        ended
    }

    /// False: it did not end.
    pub(crate) fn drain(&mut self) -> bool {
        // SAFETY: always safe to call.
        let status = unsafe { norn_drain(self.context.rt(), self.patience()) };
        if status != NORN_OK {
            self.stopped("norn_drain".into(), status);
        }
        status == NORN_OK
    }
}

/// Texts of `norn_dump` arrive in pieces.
pub unsafe extern "C" fn collect(arg: *mut c_void, text: *const c_char, bytes: u64) -> i32 {
    // SAFETY: `watch::dump` passes a Vec, norn passes `bytes` readable bytes.
    unsafe {
        (*arg.cast::<Vec<u8>>()).extend(std::slice::from_raw_parts(
            text.cast::<u8>(),
            bytes as usize,
        ))
    };
    0
}
