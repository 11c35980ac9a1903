//! Attaching: from a communicator of the application's to a world. Collective.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::calls::{Calls, Failed, Requests};
use super::engine::{Engine, Finished};
use super::lines::KEY_LANES;
use super::load;
use super::table::*;
use super::verify::Verify;
use super::world::{Facts, Found, World};
use super::worlds::{self, Entry};
use crate::abi::datatype::{NORN_BYTE, NORN_I64, NORN_MIN};
use crate::abi::status::{NORN_E_INVALID, NORN_E_MISMATCH, NORN_E_STATE, NORN_E_THREAD};
use crate::abi::types::{norn_world, norn_world_config};
use crate::error::{Error, Result};
use crate::run::config::Mode;
use crate::run::runtime::Runtime;

/// Lanes of ordered edges, unless the configuration says otherwise.
const ORDERED_LANES: i32 = 4;
const MOST_ORDERED_LANES: i32 = 64;
/// Hundredths of a core for late messages, unless something says otherwise.
const IDLE: u32 = 20;

/// What a rank wants, as the ranks agree on it.
struct Wish {
    /// Keys.
    tags: i64,
    /// Tags that ordered edges go round on each lane. The oracle takes all there are, whatever the limit: what it
    /// gives does not depend on a tag being used twice. Of keys it cannot: each of all tags is a key that the
    /// application may use, as often as it likes, so none is left for the second use of another.
    window: i64,
    lanes: i64,
    verify: i64,
    device_aware: i64,
}

/// Attaches a communicator, given by its Fortran integer.
pub(crate) fn attach(
    runtime: &Runtime,
    comm: i32,
    config: &norn_world_config,
) -> Result<*mut norn_world> {
    runtime.refuse_in_body("attaching a world")?;
    let mut calls = Calls::new(load::find()?, comm);
    match calls.state() {
        NORN_MPI_ACTIVE => {}
        NORN_MPI_BEFORE_INIT => {
            return Err(Error::new(
                NORN_E_STATE,
                "MPI is not initialised: call MPI_Init or MPI_Init_thread first",
            ));
        }
        _ => return Err(Error::new(NORN_E_STATE, "MPI has been finalised")),
    }
    let info = calls.comm_info(comm).map_err(|failed| match failed.code {
        NORN_MPI_INVALID => Error::new(
            NORN_E_INVALID,
            "comm is no communicator: MPI_COMM_NULL, or one that was freed",
        ),
        _ => calls.error(failed),
    })?;
    if info.inter != 0 {
        return Err(Error::new(
            NORN_E_INVALID,
            "comm is an intercommunicator: norn works on groups of one kind of ranks",
        ));
    }
    let (level, is_main) = calls.thread(comm).map_err(|failed| calls.error(failed))?;
    calls.set_level(level);
    let error = |failed: Failed| calls.error(failed);
    let alone = level < NORN_MPI_THREAD_SERIALIZED;
    if alone && !is_main {
        return Err(Error::new(
            NORN_E_THREAD,
            format!(
                "MPI provides {}: a world is attached by the thread that initialised MPI",
                level_name(level)
            ),
        ));
    }
    let (aware, device_reason) = calls.device_aware();
    let wish = wish_of(runtime, config, &info, aware)?;
    let mut requests = calls.requests().map_err(error)?;
    let lanes = wish.lanes;
    let opened = open(&calls, &mut requests, comm, wish);
    let (wish, mut comms) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            requests.close();
            return Err(error);
        }
    };
    let control = comms.remove(0);
    let collective_lane = comms.pop().unwrap_or(control);
    let mut engine = Engine::new(
        requests,
        control,
        comms,
        collective_lane,
        calls.type_builtin(NORN_BYTE).map_err(error)?,
        info.size,
        Verify::new(wish.verify != 0, info.rank),
    );
    engine.listen().map_err(error)?;
    calls
        .at_finalize(comm, super::finalize::mpi_ends)
        .map_err(error)?;
    let log = &runtime.settings.hooks.log;
    let library = calls.library_text();
    log.info(format_args!(
        "rank {} of {}: {library}; {}; {} tags on each of {} lanes",
        info.rank,
        info.size,
        level_name(level),
        wish.window,
        lanes
    ));
    if alone {
        log.info(format_args!(
            "MPI provides {}: messages go on only inside norn calls of the thread that initialised MPI",
            level_name(level)
        ));
    }
    let world = Arc::new(World::new(Found {
        runtime: runtime.handle() as usize,
        calls,
        given: comm,
        rank: info.rank,
        size: info.size,
        tags: wish.tags as u64,
        window: wish.window as u64,
        ordered_lanes: wish.lanes as u32,
        verify: wish.verify != 0,
        only: alone.then(crate::sync::thread::current),
        opener_is_main: is_main && runtime.is_opener(),
        facts: Facts {
            thread_level: level,
            device_aware: wish.device_aware != 0,
            device_reason,
            library,
        },
        engine,
    }));
    let handle = worlds::enter(Entry {
        world: world.clone(),
        lane: 0,
    })?;
    let share = match (runtime.settings.idle, config.idle_percent) {
        (Some(share), _) => share,
        (None, 0) => IDLE,
        (None, share) => share as u32,
    };
    runtime.set_idle_share(share);
    let _ = runtime
        .rank
        .compare_exchange(-1, info.rank, Ordering::Relaxed, Ordering::Relaxed);
    runtime.add_lowering(world);
    Ok(handle)
}

fn level_name(level: i32) -> &'static str {
    match level {
        NORN_MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        NORN_MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        NORN_MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}

fn wish_of(
    runtime: &Runtime,
    config: &norn_world_config,
    info: &norn_mpi_comm_info,
    aware: i32,
) -> Result<Wish> {
    let refuse = |what: String| Err(Error::new(NORN_E_INVALID, what));
    if config.reserved != 0 || config.flags != 0 {
        return refuse("config.flags and config.reserved must be 0".into());
    }
    if !(0..=MOST_ORDERED_LANES).contains(&config.ordered_lanes) {
        return refuse(format!(
            "config.ordered_lanes is {}: 1 to {MOST_ORDERED_LANES}, or 0",
            config.ordered_lanes
        ));
    }
    if !(0..=1).contains(&config.verify) {
        return refuse(format!("config.verify is {}: 0 or 1", config.verify));
    }
    if !(0..=100).contains(&config.idle_percent) {
        return refuse(format!(
            "config.idle_percent is {}: 1 to 100, or 0 for {IDLE}",
            config.idle_percent
        ));
    }
    let limit = match (runtime.settings.tag_limit, config.tag_limit) {
        (Some(limit), _) => limit,
        (None, 0) => u64::MAX,
        (None, limit) => limit,
    };
    let all = info.tag_ub as u64 + 1;
    Ok(Wish {
        tags: limit.min(all) as i64,
        window: match runtime.settings.mode {
            Mode::Sync => all as i64,
            _ => limit.min(all) as i64,
        },
        lanes: i64::from(match config.ordered_lanes {
            0 => ORDERED_LANES,
            lanes => lanes,
        }),
        verify: match runtime.settings.mpi_verify {
            Some(verify) => i64::from(verify),
            None => i64::from(config.verify),
        },
        device_aware: i64::from(aware == 1),
    })
}

/// How long other ranks are looked for without a pause, in what is collective.
const EAGER: Duration = Duration::from_micros(100);
/// Between two later looks. Who only yields on a busy machine comes last of all each time, and takes seconds to attach; and
/// where a rank comes late, the others need not use up a core each.
const PAUSE: Duration = Duration::from_micros(50);

/// Between two looks at what other ranks have to join. `since`: when the wait began.
fn pause(since: Instant) {
    match since.elapsed() < EAGER {
        true => std::thread::yield_now(),
        false => std::thread::sleep(PAUSE),
    }
}

/// Waits for the requests of a set, outside of any pass.
fn finish_all(
    requests: &mut Requests,
    slots: &[i32],
) -> core::result::Result<Vec<norn_mpi_done>, Failed> {
    let mut left = slots.to_vec();
    let mut ended = Vec::new();
    let mut done = Vec::new();
    let since = Instant::now();
    while !left.is_empty() {
        requests.test(&left, &mut done)?;
        left.retain(|slot| done.iter().all(|done| done.slot != *slot));
        ended.append(&mut done);
        if !left.is_empty() {
            pause(since);
        }
    }
    Ok(ended)
}

/// Duplicates a communicator.
fn duplicate(requests: &mut Requests, comm: i32) -> core::result::Result<i32, Failed> {
    let slot = requests.duplicate(comm)?;
    let done = finish_all(requests, &[slot])?;
    match done.first() {
        Some(done) if done.outcome == NORN_MPI_DONE => Ok(done.comm),
        Some(done) => Err(Failed {
            call: "MPI_Comm_idup",
            code: done.error,
        }),
        None => Ok(comm),
    }
}

/// Makes the communicators and agrees on what all ranks can do: control, keys, ordered lanes, collectives.
fn open(calls: &Calls, requests: &mut Requests, comm: i32, wish: Wish) -> Result<(Wish, Vec<i32>)> {
    let error = |failed: Failed| calls.error(failed);
    let control = duplicate(requests, comm).map_err(error)?;
    let mut comms = vec![control];
    let made = agree(calls, requests, control, wish).and_then(|wish| {
        for _ in 0..i64::from(KEY_LANES) + wish.lanes + 1 {
            comms.push(duplicate(requests, comm).map_err(error)?);
        }
        Ok(wish)
    });
    match made {
        Ok(wish) => Ok((wish, comms)),
        Err(error) => {
            for comm in comms {
                let _ = calls.comm_free(comm);
            }
            Err(error)
        }
    }
}

/// The least of what the ranks have, where that is enough; else all refuse.
fn agree(calls: &Calls, requests: &mut Requests, comm: i32, wish: Wish) -> Result<Wish> {
    let error = |failed: Failed| calls.error(failed);
    let mine = [
        wish.tags,
        wish.device_aware,
        wish.lanes,
        -wish.lanes,
        wish.verify,
        -wish.verify,
        wish.window,
    ];
    let mut least = [0i64; 7];
    let datatype = calls.type_builtin(NORN_I64).map_err(error)?;
    let what = norn_mpi_collective {
        kind: NORN_MPI_ALLREDUCE,
        comm,
        root: 0,
        op: calls.op_builtin(NORN_MIN).map_err(error)?,
        send: mine.as_ptr().cast(),
        recv: least.as_mut_ptr().cast(),
        send_count: mine.len() as i64,
        recv_count: mine.len() as i64,
        send_counts: core::ptr::null(),
        send_displs: core::ptr::null(),
        recv_counts: core::ptr::null(),
        recv_displs: core::ptr::null(),
        send_type: datatype,
        recv_type: datatype,
    };
    // SAFETY: both arrays outlive the request, which is waited for below.
    let slot = unsafe { requests.collective("MPI_Iallreduce", &what) }.map_err(error)?;
    finish_all(requests, &[slot]).map_err(error)?;
    let [
        tags,
        device_aware,
        lanes,
        most_lanes,
        verify,
        most_verify,
        window,
    ] = least;
    for (name, least, most) in [
        ("config.ordered_lanes", lanes, -most_lanes),
        ("verify mode (NORN_MPI_VERIFY)", verify, -most_verify),
    ] {
        if least != most {
            return Err(Error::new(
                NORN_E_MISMATCH,
                format!("{name} is {least} on some ranks and {most} on others"),
            ));
        }
    }
    Ok(Wish {
        tags,
        window,
        lanes,
        verify,
        device_aware,
    })
}

impl World {
    /// A further lane for collectives. Collective.
    pub(crate) fn add_lane(self: &Arc<Self>, runtime: &Runtime) -> Result<*mut norn_world> {
        runtime.refuse_in_body("making a lane")?;
        self.check_open()?;
        if !self.may_call() {
            return Err(Error::new(
                NORN_E_THREAD,
                "below MPI_THREAD_SERIALIZED lanes are made by the thread that initialised MPI",
            ));
        }
        // The engine is locked for moments only: the other ranks may need its messages before they come here.
        let slot = {
            let mut engine = self.engine_to_call();
            self.check_mpi()?;
            let control = engine.control;
            engine
                .requests
                .duplicate(control)
                .map_err(|failed| self.calls.error(failed))?
        };
        let mut done = Vec::new();
        let since = Instant::now();
        let comm = loop {
            {
                let mut engine = self.engine_to_call();
                self.check_mpi()?;
                let tested = engine.requests.test(&[slot], &mut done);
                tested.map_err(|failed| self.calls.error(failed))?;
                match done.first() {
                    Some(done) if done.outcome == NORN_MPI_DONE => break done.comm,
                    Some(done) => {
                        return Err(self.calls.error(Failed {
                            call: "MPI_Comm_idup",
                            code: done.error,
                        }));
                    }
                    None => {}
                }
            }
            runtime.progress_once();
            pause(since);
        };
        let mut finished = Finished::new();
        let mut engine = self.engine_to_call();
        let lane = engine.open_lane(self, comm, &mut finished);
        drop(engine);
        debug_assert!(finished.is_empty(), "nothing was declared on it yet");
        worlds::enter(Entry {
            world: self.clone(),
            lane,
        })
    }
}
