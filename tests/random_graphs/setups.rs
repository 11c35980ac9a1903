//! In which modes, with how many workers and with which flags a seed is run.

use fastrand::Rng;
use norn::abi::types::*;

use crate::context::Setup;
use crate::mend::Fair;

/// A plain run in a mode.
pub fn setup(mode: i32, workers: i32, seed: u64) -> Setup {
    Setup {
        mode,
        workers,
        flags: 0,
        seed,
        max_live: 0,
        spin_ns: 0,
        drain_first: false,
        watch: false,
        blind: false,
        unregister: false,
        pauses: mode != NORN_MODE_SYNC && mode != NORN_MODE_SHUFFLE,
        patience: crate::longest() * 2 / 3,
        body_patience: None,
        plant: None,
    }
}

/// The runs of one program: always `sync` and `shuffle`, and some of the rest. `timed`: no body waits for ever.
pub fn setups(fair: &Fair, timed: bool) -> Vec<Setup> {
    let (program, entangled) = (&fair.program, fair.entangled);
    let mut rng = Rng::with_seed(program.seed ^ 0x5E7);
    let mut setups = vec![
        setup(NORN_MODE_SYNC, rng.i32(-1..3), 0),
        setup(NORN_MODE_SHUFFLE, rng.i32(0..3), rng.u64(..)),
        setup(NORN_MODE_SHUFFLE, 2, rng.u64(..)),
    ];
    let mut counts = [0, 1, 2, 8];
    rng.shuffle(&mut counts);
    for workers in &counts[..2] {
        let mode = if rng.u8(..) < 13 {
            NORN_MODE_DEFAULT_STREAM
        } else {
            NORN_MODE_ASYNC
        };
        setups.push(setup(mode, *workers, rng.u64(..)));
    }
    // A body on the main thread's stack keeps that thread; it must not wait for what the main thread does next.
    if entangled {
        setups.retain(|setup| setup.mode == NORN_MODE_ASYNC && setup.workers > 0);
    }
    let looks =
        !program.looked_at().is_empty() || !program.holds.is_empty() || program.bodies_await();
    for setup in &mut setups {
        let own_thread = setup.mode == NORN_MODE_ASYNC && setup.workers > 0;
        setup.drain_first = rng.bool();
        setup.watch = rng.bool();
        setup.unregister = rng.bool();
        setup.body_patience = (timed || rng.bool()).then_some(crate::longest() / 3);
        setup.spin_ns = if rng.bool() { 0 } else { -1 };
        if rng.u8(..) < 50 && fair.in_order {
            setup.flags |= NORN_DETERMINISTIC;
        }
        if own_thread && !entangled && rng.u8(..) < 70 {
            setup.flags |= NORN_CALLER_WORKS;
        }
        if own_thread && rng.u8(..) < 10 {
            setup.flags |= NORN_PIN;
        }
        if rng.u8(..) < 40 {
            setup.max_live = rng.u64(1..20);
            if rng.bool() && !program.bodies_await() {
                setup.flags |= NORN_SUBMIT_HELPS;
            }
        }
        if !looks && rng.u8(..) < 128 {
            setup.blind = true;
            setup.watch = false;
        }
    }
    setups
}
