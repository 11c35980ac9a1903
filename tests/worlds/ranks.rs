//! Ranks as threads, each with a runtime and a world.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, Once};

use norn::abi::collective::norn_barrier;
use norn::abi::datatype::*;
use norn::abi::mpi::norn_mpi_register;
use norn::abi::runtime::*;
use norn::abi::slice::norn_slice;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::sim;

pub const HEADER: i32 =
    NORN_VERSION_MAJOR * 1_000_000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH;

/// How a runtime is opened: mode and workers.
#[derive(Clone, Copy, Debug)]
pub struct Way(pub i32, pub i32);

/// Every kind of running: each test must hold in all of them.
pub const WAYS: [Way; 4] = [
    Way(NORN_MODE_ASYNC, 0),
    Way(NORN_MODE_ASYNC, 2),
    Way(NORN_MODE_SYNC, 1),
    Way(NORN_MODE_SHUFFLE, 1),
];

/// One rank.
pub struct Rank {
    pub rt: *mut norn_runtime,
    pub world: *mut norn_world,
    pub rank: i32,
    pub size: i32,
}

pub fn last_error() -> String {
    // SAFETY: a zero-terminated text of this thread.
    unsafe { CStr::from_ptr(norn_last_error()) }
        .to_string_lossy()
        .into_owned()
}

#[track_caller]
pub fn ok(status: norn_status) {
    assert_eq!(status, NORN_OK, "{}", last_error());
}

pub fn config() -> sim::Config {
    sim::Config::default()
}

/// What the environment says of verify mode, whatever the configuration says.
fn verify_of_environment() -> Option<bool> {
    std::env::var_os("NORN_MPI_VERIFY").map(|value| value == "1")
}

/// Whether the environment asks for verify mode.
pub fn verify_is_asked_for() -> bool {
    verify_of_environment() == Some(true)
}

pub fn registered() {
    static ONCE: Once = Once::new();
    // SAFETY: the table is static.
    ONCE.call_once(|| ok(unsafe { norn_mpi_register(sim::table().cast()) }));
}

/// Runs `body` on every rank in every way, closes all, and checks that nothing is left.
pub fn on_ranks(config: &sim::Config, body: impl Fn(&Rank) + Sync) {
    for way in WAYS {
        run_way(way, config, world_config(), &body);
    }
}

/// As `on_ranks`, in verify mode; not at all where the environment refuses it.
pub fn verifying(config: &sim::Config, body: impl Fn(&Rank) + Sync) {
    if verify_of_environment() == Some(false) {
        eprintln!("left out: NORN_MPI_VERIFY takes verify mode away");
        return;
    }
    for way in WAYS {
        let verify = norn_world_config {
            verify: 1,
            ..world_config()
        };
        run_way(way, config, verify, &body);
    }
}

pub fn world_config() -> norn_world_config {
    norn_world_config {
        struct_size: size_of::<norn_world_config>(),
        tag_limit: 0,
        ordered_lanes: 0,
        verify: 0,
        idle_percent: 0,
        reserved: 0,
        flags: 0,
    }
}

/// As `on_ranks`, in one way.
pub fn run_way(
    way: Way,
    config: &sim::Config,
    world_config: norn_world_config,
    body: &(impl Fn(&Rank) + Sync),
) -> sim::Counters {
    run_way_of_job(way, config, world_config, &|rank: &Rank, _: &sim::Job| {
        body(rank);
    })
}

/// As `run_way`, for bodies that do something to the job.
pub fn run_way_of_job(
    way: Way,
    config: &sim::Config,
    world_config: norn_world_config,
    body: &(impl Fn(&Rank, &sim::Job) + Sync),
) -> sim::Counters {
    registered();
    let job = sim::Job::start(config.clone());
    let job = &job;
    std::thread::scope(|scope| {
        for rank in 0..config.size {
            scope.spawn(move || {
                job.initialise_here(rank);
                let rt = open(way);
                let mut world = std::ptr::null_mut();
                let comm = job.comms[rank];
                // SAFETY: the pointers are of live variables.
                ok(unsafe { norn_world_attach_f(rt, comm, &world_config, &mut world) });
                let here = Rank {
                    rt,
                    world,
                    rank: rank as i32,
                    size: config.size as i32,
                };
                let ended = catch_unwind(AssertUnwindSafe(|| body(&here, job)));
                if let Err(panic) = ended {
                    // The others would wait for this rank for ever, and hide what it has to say.
                    // SAFETY: the text is zero-terminated.
                    unsafe {
                        let _ = norn_world_fail(world, 1, c"the test has failed".as_ptr());
                        let _ = norn_close_with(rt, NORN_CANCEL, 5_000_000_000);
                    }
                    resume_unwind(panic);
                }
                // SAFETY: nothing uses the handle any more.
                let closed = unsafe { norn_close(rt) };
                assert!(
                    // NORN_E_INVALID: the test has closed it.
                    closed != NORN_E_INTERNAL && closed != NORN_E_TIMEOUT,
                    "{way:?}: {}",
                    last_error()
                );
            });
        }
    });
    // A rank whose MPI has ended leaves them to it.
    if !job.has_ended() {
        // One that MPI still has a collective on, which was given up, cannot be freed.
        let stuck = job.stuck_communicators();
        assert_eq!(
            job.communicators(),
            stuck,
            "{way:?}: communicators are left"
        );
        assert_eq!(job.leftovers(), 0, "{way:?}: messages are left");
    }
    job.counters()
}

pub fn open(way: Way) -> *mut norn_runtime {
    let config = norn_config {
        struct_size: size_of::<norn_config>(),
        mode: way.0,
        workers: way.1,
        seed: 7,
        watchdog_ns: -1,
        // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
        ..unsafe { std::mem::zeroed() }
    };
    let mut rt = std::ptr::null_mut();
    // SAFETY: the configuration is readable and the output writable.
    ok(unsafe { norn_open_version(HEADER, &config, &mut rt) });
    rt
}

// SAFETY: both handles are numbers, which any thread may use.
unsafe impl Sync for Rank {}

unsafe extern "C" fn keep(lines: *mut c_void, _: i32, text: *const c_char) {
    // SAFETY: the test's lines, which outlive the runtime, and a zero-terminated text.
    unsafe {
        let lines = &*lines.cast::<Mutex<String>>();
        let mut lines = lines.lock().expect("no panic holds it");
        lines.push_str(&CStr::from_ptr(text).to_string_lossy());
        lines.push('\n');
    }
}

/// A runtime with one worker, whose watchdog speaks after 50 ms; `lines`, which outlive it, keep what the log says.
pub fn open_with_watchdog(lines: &Mutex<String>) -> *mut norn_runtime {
    let config = norn_config {
        struct_size: size_of::<norn_config>(),
        workers: 1,
        watchdog_ns: 50_000_000,
        log: Some(keep),
        log_arg: std::ptr::from_ref(lines).cast_mut().cast(),
        // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
        ..unsafe { std::mem::zeroed() }
    };
    let mut rt = std::ptr::null_mut();
    // SAFETY: the pointers are of live variables.
    ok(unsafe { norn_open_version(HEADER, &config, &mut rt) });
    rt
}

/// Memory that norn only reads. What it writes must be a `Room`: the compiler may take what it lent out as shared for
/// unchanged.
/// A rank of a job, attached to a runtime by the thread that is to be the one that has initialised MPI.
pub fn attach(rt: *mut norn_runtime, job: &sim::Job, rank: usize) -> Rank {
    attach_with(rt, job, rank, std::ptr::null())
}

/// As `attach`; `config`: readable, or null.
pub fn attach_with(
    rt: *mut norn_runtime,
    job: &sim::Job,
    rank: usize,
    config: *const norn_world_config,
) -> Rank {
    job.initialise_here(rank);
    let mut world = std::ptr::null_mut();
    // SAFETY: the pointers are of live variables, or null.
    ok(unsafe { norn_world_attach_f(rt, job.comms[rank], config, &mut world) });
    Rank {
        rt,
        world,
        rank: rank as i32,
        size: job.comms.len() as i32,
    }
}

/// Longer than a rank rests before it says so.
pub fn a_while() {
    std::thread::sleep(std::time::Duration::from_millis(400));
}

pub fn slice<T>(memory: &[T]) -> norn_slice {
    bytes_at(memory.as_ptr().cast_mut().cast(), size_of_val(memory))
}

pub fn numbers(memory: &[i64]) -> norn_slice {
    norn_slice {
        r#type: NORN_I64,
        count: memory.len() as u64,
        ..slice(memory)
    }
}

/// Memory that norn writes.
pub struct Room(norn_slice);

impl std::ops::Deref for Room {
    type Target = norn_slice;
    fn deref(&self) -> &norn_slice {
        &self.0
    }
}

impl Room {
    /// Elements of a type, all of memory.
    pub fn of_type(memory: &mut [i64], datatype: norn_type) -> Self {
        let r#type = datatype;
        Self(norn_slice {
            r#type,
            ..room_of_numbers(memory).0
        })
    }

    /// Blocks of a room.
    pub fn from_parts(room: &Room, count: u64, blocks: u64, stride: u64) -> Self {
        Self(norn_slice {
            count,
            blocks,
            stride: stride as _,
            ..room.0
        })
    }
}

pub fn room<T>(memory: &mut [T]) -> Room {
    Room(bytes_at(memory.as_mut_ptr().cast(), size_of_val(memory)))
}

pub fn room_of_numbers(memory: &mut [i64]) -> Room {
    Room(norn_slice {
        r#type: NORN_I64,
        count: memory.len() as u64,
        ..*room(memory)
    })
}

fn bytes_at(ptr: *mut c_void, bytes: usize) -> norn_slice {
    norn_slice {
        data: norn_data::default(),
        ptr,
        place: norn_place::default(),
        r#type: NORN_BYTE,
        flags: 0,
        reserved: 0,
        offset: 0,
        count: bytes as u64,
        blocks: 0,
        stride: 0,
        planes: 0,
        plane_stride: 0,
    }
}

pub fn how() -> norn_task {
    // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
    norn_task {
        struct_size: size_of::<norn_task>(),
        ..unsafe { std::mem::zeroed() }
    }
}

impl Rank {
    pub fn send(&self, from: &norn_slice, peer: i32, key: i64, after: &[norn_token]) -> norn_token {
        let mut how = how();
        how.after = after.as_ptr();
        how.after_count = after.len() as u64;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_send(self.world, from, peer, key, &how, &mut token) });
        token
    }

    pub fn recv(&self, to: &Room, peer: i32, key: i64, after: &[norn_token]) -> norn_token {
        let mut how = how();
        how.after = after.as_ptr();
        how.after_count = after.len() as u64;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_recv(self.world, &**to, peer, key, &how, &mut token) });
        token
    }

    /// A task that answers `code`.
    pub fn barrier(&self, after: &[norn_token]) -> norn_token {
        let mut token = norn_token::default();
        let mut how = how();
        how.after = after.as_ptr();
        how.after_count = after.len() as u64;
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_barrier(self.world, &how, &mut token) });
        token
    }

    pub fn task(&self, code: i32, after: &[norn_token]) -> norn_token {
        unsafe extern "C" fn body(_: *mut norn_self, arg: *mut c_void) -> i32 {
            arg as usize as i32
        }
        let mut task = how();
        task.run = Some(body);
        task.arg = code as usize as *mut c_void;
        task.name = c"the task".as_ptr();
        task.after = after.as_ptr();
        task.after_count = after.len() as u64;
        let mut token = norn_token::default();
        // SAFETY: the pointers are of live variables.
        ok(unsafe { norn_submit(self.rt, &task, &mut token) });
        token
    }

    pub fn wait(&self, token: norn_token) -> norn_status {
        // So many ranks on so few cores take their time.
        let limit = 20_000_000_000 * (1 + i64::from(self.size) / 50);
        // SAFETY: always safe.
        unsafe { norn_await(self.rt, token, limit) }
    }

    pub fn record(&self, token: norn_token) -> norn_error_info {
        // SAFETY: integers and arrays of them.
        let mut info = norn_error_info {
            struct_size: size_of::<norn_error_info>(),
            ..unsafe { std::mem::zeroed() }
        };
        // SAFETY: writable as far as its size says.
        ok(unsafe { norn_error(self.rt, token, &mut info) });
        info
    }
}

pub fn text(characters: &[std::ffi::c_char]) -> String {
    // SAFETY: norn ends its texts.
    unsafe { CStr::from_ptr(characters.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}
