use super::*;
use crate::run::hooks::Callback;
use parking_lot::Mutex;
use std::sync::Arc;

fn spec(name: &str) -> ThreadSpec {
    ThreadSpec {
        name: name.into(),
        stack_bytes: 256 << 10,
        cpus: None,
        floating_point: FloatingPoint::of_this_thread(),
        thread_hook: None,
        index: 0,
        on_defect: None,
    }
}

/// Runs a function on a thread of the given kind and gives back what it saw.
fn on_thread<T: Send + 'static>(spec: ThreadSpec, look: impl FnOnce() -> T + Send + 'static) -> T {
    let seen = Arc::new(Mutex::new(None));
    let put = seen.clone();
    let thread = spawn(spec, move || *put.lock() = Some(look())).unwrap();
    thread.join().unwrap();
    seen.lock().take().unwrap()
}

fn own_name() -> String {
    std::fs::read_to_string("/proc/thread-self/comm")
        .unwrap()
        .trim_end()
        .to_owned()
}

#[test]
fn threads_are_named() {
    assert_eq!(on_thread(spec("norn:w3"), own_name), "norn:w3");
    let long = on_thread(spec("norn:\0watchdog-of-all"), own_name);
    assert_eq!(long, "norn:watchdog-o");
    assert_eq!(short_name("norn:ééééééé").as_bytes().len(), 15);
    assert_eq!(short_name("norn:aééééééé").as_bytes().len(), 14);
}

#[test]
fn threads_have_the_stack_asked_for_and_a_guard_below() {
    for bytes in [64 << 10, 3 << 20] {
        let mut spec = spec("norn:stack");
        spec.stack_bytes = bytes;
        let (stack, guard) = on_thread(spec, || {
            let mut attributes = MaybeUninit::uninit();
            let (mut address, mut stack, mut guard) = (ptr::null_mut(), 0, 0);
            // SAFETY: the attributes are filled by the first call; all else is writable.
            unsafe {
                let own = libc::pthread_self();
                assert_eq!(libc::pthread_getattr_np(own, attributes.as_mut_ptr()), 0);
                let mut attributes = attributes.assume_init();
                libc::pthread_attr_getstack(&attributes, &mut address, &mut stack);
                libc::pthread_attr_getguardsize(&attributes, &mut guard);
                libc::pthread_attr_destroy(&mut attributes);
            }
            (stack, guard)
        });
        assert!(stack >= bytes, "{stack} of {bytes}");
        assert_eq!(guard, GUARD_BYTES);
    }
}

#[test]
fn threads_run_where_they_are_told() {
    let mask = CpuSet::of_thread(0).unwrap();
    let last: CpuSet = mask.iter().last().into_iter().collect();
    let mut bound = spec("norn:bound");
    bound.cpus = Some(last.clone());
    assert_eq!(on_thread(bound, || CpuSet::of_thread(0).unwrap()), last);
    let mut free = spec("norn:free");
    free.cpus = Some(CpuSet::new());
    assert_eq!(on_thread(free, || CpuSet::of_thread(0).unwrap()), mask);
    assert_eq!(CpuSet::of_thread(0).unwrap(), mask, "the creator's stays");
}

#[test]
fn a_thread_without_any_cpu_is_an_error_and_no_thread() {
    let mut nowhere = spec("norn:nowhere");
    nowhere.cpus = Some([60_000].into_iter().collect());
    if cfg!(target_env = "gnu") {
        let error = spawn(nowhere, || unreachable!()).unwrap_err();
        assert_eq!(error.status(), NORN_E_SYSTEM);
        assert!(error.text().contains("norn:nowhere"), "{}", error.text());
    }
    let mut huge = spec("norn:huge");
    huge.stack_bytes = usize::MAX;
    assert!(spawn(huge, || unreachable!()).is_err());
}

fn blocked() -> Vec<i32> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: filled by the first call.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
        let set = set.assume_init();
        (1..32)
            .filter(|signal| libc::sigismember(&set, *signal) == 1)
            .collect()
    }
}

#[test]
fn asynchronous_signals_do_not_reach_the_thread() {
    let (before, seen) = (blocked(), on_thread(spec("norn:quiet"), blocked));
    for signal in [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGALRM,
        libc::SIGCHLD,
    ] {
        assert!(seen.contains(&signal), "{signal} is asynchronous");
    }
    for signal in SYNCHRONOUS {
        assert!(!seen.contains(&signal), "{signal} is synchronous");
    }
    for signal in AS_THE_CREATOR {
        assert_eq!(seen.contains(&signal), before.contains(&signal));
    }
    assert_eq!(blocked(), before, "the creator's mask is back");
}

#[test]
fn the_hook_sees_begin_and_end_even_around_a_panic() {
    type Calls = Mutex<Vec<(i32, i32, String)>>;
    unsafe extern "C" fn hook(arg: *mut c_void, index: i32, begin: i32) {
        // SAFETY: the test passes a list that outlives the thread.
        let calls = unsafe { &*arg.cast::<Calls>() };
        calls.lock().push((index, begin, own_name()));
    }
    for fails in [false, true] {
        let calls = Calls::default();
        let mut hooked = spec("norn:hook");
        hooked.index = 4;
        hooked.thread_hook = Some(Callback {
            function: hook,
            arg: (&raw const calls).cast_mut().cast(),
        });
        let thread = spawn(hooked, move || assert!(!fails, "meant to fail"));
        thread.unwrap().join().unwrap();
        let name = String::from("norn:hook");
        assert_eq!(calls.into_inner(), [(4, 1, name.clone()), (4, 0, name)]);
    }
}

#[test]
fn a_thread_cannot_join_itself() {
    let slot = Arc::new(Mutex::new(None::<Thread>));
    let (take, sent) = (slot.clone(), Arc::new(Mutex::new(None)));
    let put = sent.clone();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let (done, finished) = std::sync::mpsc::channel();
    *slot.lock() = Some(
        spawn(spec("norn:self"), move || {
            gone.recv().unwrap();
            let own = take.lock().take().unwrap();
            assert!(own.is_current());
            *put.lock() = Some(own.join().unwrap_err().status());
            done.send(()).unwrap();
        })
        .unwrap(),
    );
    assert!(!slot.lock().as_ref().unwrap().is_current());
    go.send(()).unwrap();
    finished.recv().unwrap();
    assert_eq!(*sent.lock(), Some(NORN_E_SYSTEM));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_floating_point_environment_is_the_openers() {
    let plain = FloatingPoint::of_this_thread();
    let special = FloatingPoint {
        // Flush to zero, denormals are zero, rounding up; nothing raised.
        mxcsr: (plain.mxcsr & !0x6000) | 0x8040 | 0x4000,
        // Single precision and rounding up in the old unit.
        x87: (plain.x87 & !0x0f00) | 0x0800,
    };
    let mut ours = spec("norn:float");
    ours.floating_point = special;
    let (seen, product) = on_thread(ours, || {
        let product = std::hint::black_box(1e-200_f64) * std::hint::black_box(1e-120_f64);
        (FloatingPoint::of_this_thread(), product)
    });
    assert_eq!(seen, special);
    assert_eq!(product, 0.0, "a result that would be subnormal is flushed");
    assert_eq!(FloatingPoint::of_this_thread(), plain);
}

#[test]
fn the_default_stack_is_openmps_or_the_limit_but_eight_mib_at_least() {
    let with = |value: &str| default_stack_bytes(&[("OMP_STACKSIZE".into(), value.into())]);
    assert_eq!(with("64M"), 64 << 20);
    assert_eq!(with("10000"), 10_000 << 10, "kilobytes without a unit");
    assert_eq!(with("4k"), 8 << 20);
    assert_eq!(with("nonsense"), default_stack_bytes(&[]));
    assert!(default_stack_bytes(&[]) >= 8 << 20);
    assert!(round_to_pages(usize::MAX) > usize::MAX / 2);
}
