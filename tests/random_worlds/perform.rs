//! One run of a program on norn over sim.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use norn::abi::collective::*;
use norn::abi::data::*;
use norn::abi::datatype::*;
use norn::abi::runtime::*;
use norn::abi::slice::norn_slice;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::token::*;
use norn::abi::types::*;
use norn::abi::world::*;

use crate::oracle::Value;
use crate::program::{Blow, Program, Step, mix};
use crate::ranks::*;
use crate::sim;

/// What a body works on.
struct Work {
    step: usize,
    elements: usize,
    sources: Vec<usize>,
    target: usize,
    fails: bool,
}

unsafe extern "C" fn compute(_: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: the work is kept until the runtime is closed; the data are this task's to read and write.
    unsafe {
        let work = &*arg.cast::<Work>();
        if work.fails {
            return work.step as i32 + 1;
        }
        let results: Vec<i64> = (0..work.elements)
            .map(|at| {
                let read = |source: &usize| (*source as *const i64).add(at).read();
                let sum = work.sources.iter().map(read).fold(0, i64::wrapping_add);
                mix(work.step, at, sum)
            })
            .collect();
        for (at, result) in results.into_iter().enumerate() {
            (work.target as *mut i64).add(at).write(result);
        }
    }
    0
}

unsafe extern "C" fn nothing(_: *mut norn_self, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn show(_: *mut c_void, text: *const std::ffi::c_char, bytes: u64) -> i32 {
    // SAFETY: as many bytes as said.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes as usize) };
    eprint!("{}", String::from_utf8_lossy(text));
    0
}

/// Runs the program; complaints about what ended otherwise.
pub fn run(program: &Program, expected: &[Vec<Value>], way: Way) -> Vec<String> {
    let complaints = Mutex::new(Vec::new());
    let config = sim::Config {
        size: program.ranks,
        seed: program.seed,
        delay: program.delay,
        level: program.level,
        eager: program.eager,
        ..sim::Config::default()
    };
    let world = norn_world_config {
        tag_limit: program.tag_limit,
        ordered_lanes: program.lanes,
        verify: i32::from(program.verify),
        ..world_config()
    };
    let further: Vec<sim::Job> = (1..)
        .zip(&program.worlds[1..])
        .map(|(number, members)| {
            sim::Job::start(sim::Config {
                size: members.len(),
                seed: program.seed + number,
                ..config.clone()
            })
        })
        .collect();
    run_way_of_job(way, &config, world, &|rank: &Rank, job: &sim::Job| {
        let worlds = attach_further(program, rank, &further, &world);
        let expected = &expected[rank.rank as usize];
        let told = of_rank(program, expected, rank, job, &worlds);
        complaints.lock().expect("no panic holds it").extend(told);
    });
    for job in &further {
        assert_eq!(job.leftovers(), 0, "{way:?}: messages are left");
    }
    complaints.into_inner().expect("no panic holds it")
}

/// The worlds of a rank; null where it is not in one.
fn attach_further(
    program: &Program,
    rank: &Rank,
    further: &[sim::Job],
    config: &norn_world_config,
) -> Vec<*mut norn_world> {
    let attach = |(job, members): (&sim::Job, &Vec<usize>)| {
        let me = rank.rank as usize;
        let place = members.iter().position(|member| *member == me);
        place.map_or(null_mut(), |place| {
            attach_with(rank.rt, job, place, config).world
        })
    };
    let attached = further.iter().zip(&program.worlds[1..]).map(attach);
    core::iter::once(rank.world).chain(attached).collect()
}

fn of_rank(
    program: &Program,
    expected: &[Value],
    rank: &Rank,
    job: &sim::Job,
    worlds: &[*mut norn_world],
) -> Vec<String> {
    let rank_in = |world: usize, process: usize| {
        let mut members = program.worlds[world].iter();
        members
            .position(|member| *member == process)
            .map_or(-1, |rank| rank as i32)
    };
    let me = rank.rank as usize;
    let mut memory = vec![vec![0i64; program.elements]; program.data];
    let mut data = Vec::new();
    for values in &mut memory {
        // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
        let desc = norn_data_desc {
            struct_size: size_of::<norn_data_desc>(),
            ptr: values.as_mut_ptr().cast(),
            bytes: size_of_val(values.as_slice()) as u64,
            ..unsafe { std::mem::zeroed() }
        };
        let mut datum = norn_data::default();
        // SAFETY: the pointers are of live variables; the memory outlives the datum.
        ok(unsafe { norn_data_register(rank.rt, &desc, &mut datum) });
        data.push(datum);
    }
    let access = |datum: usize, mode: i32| norn_access {
        data: data[datum],
        slot: 0,
        mode,
        flags: 0,
    };
    let mut works: Vec<Box<Work>> = Vec::new();
    let blow = program.blow.filter(|(who, ..)| *who == me);
    let closes = |how: u32| {
        // SAFETY: nothing uses the handle any more.
        let closed = unsafe { norn_close_with(rank.rt, how, 60_000_000_000) };
        assert_ne!(closed, NORN_E_TIMEOUT, "{}", last_error());
    };
    let strike = |submitted: usize| match blow {
        Some((_, at, kind)) if at == submitted => match kind {
            Blow::Cancel => closes(NORN_CANCEL),
            // SAFETY: the text is zero-terminated.
            Blow::Fail => ok(unsafe { norn_world_fail(rank.world, 42, c"a blow".as_ptr()) }),
            Blow::Finalize => job.finalize(me),
        },
        _ => {}
    };
    let is_closed =
        |submitted: usize| matches!(blow, Some((_, at, Blow::Cancel)) if at < submitted);
    let order = program.order_of(me);
    for (submitted, number) in order.iter().copied().enumerate() {
        strike(submitted);
        if is_closed(submitted + 1) {
            return Vec::new();
        }
        let cancelled = program.is_cancelled(number, me);
        let mut how = how();
        if cancelled {
            how.flags = NORN_HELD;
        }
        let mut token = norn_token::default();
        let cancel = |token: norn_token| {
            if cancelled {
                // SAFETY: always safe.
                ok(unsafe { norn_cancel(rank.rt, token) });
            }
        };
        match &program.steps[number] {
            Step::Compute {
                sources,
                target,
                fails,
                ..
            } => {
                let accesses: Vec<norn_access> = sources
                    .iter()
                    .map(|source| access(*source, NORN_READ))
                    .chain([access(*target, NORN_WRITE)])
                    .collect();
                works.push(Box::new(Work {
                    step: number,
                    elements: program.elements,
                    sources: sources
                        .iter()
                        .map(|at| memory[*at].as_ptr() as usize)
                        .collect(),
                    target: memory[*target].as_ptr() as usize,
                    fails: *fails,
                }));
                how.run = Some(compute);
                how.arg = works.last().map_or(null_mut(), |work| {
                    std::ptr::from_ref::<Work>(work).cast_mut().cast()
                });
                how.accesses = accesses.as_ptr();
                how.access_count = accesses.len() as u64;
                // SAFETY: the description is of live variables; the work is kept.
                ok(unsafe { norn_submit(rank.rt, &how, &mut token) });
                cancel(token);
            }
            Step::Message {
                world,
                from,
                to,
                source,
                target,
                elements,
                key,
            } => {
                let key = key.unwrap_or(NORN_KEY_ORDER);
                let part = |datum: usize| norn_slice {
                    data: data[datum],
                    ptr: null_mut(),
                    count: *elements as u64,
                    ..numbers(&[])
                };
                // Both ends on one rank: only one of them is cancelled.
                let held = how.flags;
                if *from == me {
                    // SAFETY: the pointers are of live variables.
                    ok(unsafe {
                        norn_send(
                            worlds[*world],
                            &part(*source),
                            rank_in(*world, *to),
                            key,
                            &how,
                            &mut token,
                        )
                    });
                    cancel(token);
                }
                if *to == me {
                    how.flags = if *from == me { 0 } else { held };
                    // SAFETY: as above.
                    ok(unsafe {
                        norn_recv(
                            worlds[*world],
                            &part(*target),
                            rank_in(*world, *from),
                            key,
                            &how,
                            &mut token,
                        )
                    });
                    if *from != me {
                        cancel(token);
                    }
                }
            }
            Step::Sum { world, datum } => {
                let all = norn_slice {
                    data: data[*datum],
                    ptr: null_mut(),
                    count: program.elements as u64,
                    ..numbers(&[])
                };
                if program.unguarded {
                    how.flags |= NORN_UNGUARDED;
                }
                // SAFETY: as above.
                ok(unsafe {
                    norn_allreduce(worlds[*world], null(), &all, NORN_SUM, &how, &mut token)
                });
                cancel(token);
            }
        }
    }
    strike(order.len());
    if is_closed(order.len() + 1) {
        return Vec::new();
    }
    if program.submitted_by(me).is_some() {
        closes(NORN_DRAIN);
        return Vec::new();
    }
    let complaints = compare(rank, expected, &data, &memory, program.blow.is_some());
    // What was unregistered is the application's again.
    for datum in data {
        // SAFETY: always safe.
        let _ = unsafe { norn_data_unregister(rank.rt, datum) };
    }
    // SAFETY: always safe.
    let _ = unsafe { norn_drain(rank.rt, -1) };
    drop(works);
    complaints
}

fn compare(
    rank: &Rank,
    expected: &[Value],
    data: &[norn_data],
    memory: &[Vec<i64>],
    may_fail: bool,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for (at, datum) in data.iter().enumerate() {
        let access = norn_access {
            data: *datum,
            slot: 0,
            mode: NORN_READ,
            flags: 0,
        };
        let mut reader = how();
        reader.run = Some(nothing);
        reader.accesses = &access;
        reader.access_count = 1;
        let mut token = norn_token::default();
        // SAFETY: the description is of live variables.
        ok(unsafe { norn_submit(rank.rt, &reader, &mut token) });
        let ended = rank.wait(token);
        let name = format!("datum {at} of rank {}", rank.rank);
        match (&expected[at], ended) {
            (Some(values), NORN_OK) if *values == memory[at] => {}
            (Some(values), NORN_OK) => {
                complaints.push(format!("{name} is {:?}, not {values:?}", memory[at]));
            }
            (None, NORN_E_PROPAGATED) => {}
            (Some(_), NORN_E_PROPAGATED) if may_fail => {}
            (expected, status) => {
                complaints.push(format!(
                    "{name} ended with {status} ({}), expected {expected:?}",
                    last_error()
                ));
                if status == NORN_E_TIMEOUT {
                    // SAFETY: the function fits.
                    unsafe { norn_dump(rank.rt, NORN_DUMP_TEXT, Some(show), null_mut()) };
                    eprintln!("rank {} hangs; seed above it all", rank.rank);
                    std::process::abort();
                }
            }
        }
    }
    complaints
}
