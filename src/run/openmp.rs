//! What OpenMP's environment variables say about threads and CPUs.
//!
//! norn calls no OpenMP routine unless one is already in the process; these
//! variables tell what an OpenMP runtime did, or will do, with the main thread.

use super::cpuset::CpuSet;

/// A value of `OMP_STACKSIZE`: a number with B, K, M or G, K where it has none.
/// None when malformed (the OpenMP runtime says so itself).
pub(crate) fn stack_size(value: &str) -> Option<usize> {
    let value = value.trim();
    let (digits, unit) = match value.bytes().last()?.to_ascii_lowercase() {
        b'b' => (&value[..value.len() - 1], 1),
        b'k' => (&value[..value.len() - 1], 1 << 10),
        b'm' => (&value[..value.len() - 1], 1 << 20),
        b'g' => (&value[..value.len() - 1], 1 << 30),
        _ => (value, 1 << 10),
    };
    let number: usize = digits.trim().parse().ok()?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// The variable that makes an OpenMP runtime bind threads, if one does:
/// `NAME=value`, for the log.
pub(crate) fn binding(environment: &[(String, String)]) -> Option<String> {
    let get = |name| value(environment, name);
    let shown = |name, value: &str| Some(format!("{name}={value}"));
    // The explicit word decides; the others bind only where it is silent.
    if let Some(bind) = get("OMP_PROC_BIND") {
        return match bind.to_ascii_lowercase().as_str() {
            "false" | "disabled" | "" => None,
            _ => shown("OMP_PROC_BIND", bind),
        };
    }
    for name in ["OMP_PLACES", "GOMP_CPU_AFFINITY"] {
        if let Some(list) = get(name).filter(|list| !list.is_empty()) {
            return shown(name, list);
        }
    }
    let list = get("KMP_AFFINITY")?;
    let off = list
        .to_ascii_lowercase()
        .split(',')
        .any(|word| matches!(word.trim(), "none" | "disabled"));
    if off || list.is_empty() {
        return None;
    }
    shown("KMP_AFFINITY", list)
}

fn value<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    environment
        .iter()
        .find(|(candidate, _)| candidate == name)
        .map(|(_, value)| value.trim())
}

/// All places of the OpenMP runtime in this process, which it took from the mask
/// it found before it bound the main thread. None when there is no such runtime,
/// it is linked in a way that hides it, or it has no places.
///
/// Asking may make a runtime that has not started yet read its settings, so this
/// is called only when the main thread looks bound already.
pub(crate) fn places_of_loaded_runtime() -> Option<CpuSet> {
    type Count = unsafe extern "C" fn() -> i32;
    type CountOf = unsafe extern "C" fn(place: i32) -> i32;
    type Ids = unsafe extern "C" fn(place: i32, ids: *mut i32);
    let find = |name: &core::ffi::CStr| {
        // SAFETY: a zero-terminated name; the search changes nothing.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    };
    let count = find(c"omp_get_num_places")?;
    let count_of = find(c"omp_get_place_num_procs")?;
    let ids = find(c"omp_get_place_proc_ids")?;
    // SAFETY: the OpenMP specification (4.5) gives these names these types.
    let (count, count_of, ids) = unsafe {
        (
            core::mem::transmute::<*mut core::ffi::c_void, Count>(count),
            core::mem::transmute::<*mut core::ffi::c_void, CountOf>(count_of),
            core::mem::transmute::<*mut core::ffi::c_void, Ids>(ids),
        )
    };
    let mut all = CpuSet::new();
    // SAFETY: the place is below the count, and the array has as many elements
    // as the runtime says it writes.
    unsafe {
        for place in 0..count() {
            let mut cpus = vec![0_i32; usize::try_from(count_of(place)).unwrap_or(0)];
            if !cpus.is_empty() {
                ids(place, cpus.as_mut_ptr());
            }
            cpus.iter()
                .filter_map(|cpu| usize::try_from(*cpu).ok())
                .for_each(|cpu| all.insert(cpu));
        }
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn stack_sizes() {
        assert_eq!(stack_size("2000500B"), Some(2_000_500));
        assert_eq!(stack_size(" 3000 k "), Some(3000 << 10));
        assert_eq!(stack_size("10M"), Some(10 << 20));
        assert_eq!(stack_size(" 1 G"), Some(1 << 30));
        assert_eq!(stack_size("20000"), Some(20_000 << 10));
        for wrong in ["", "M", "x", "-1", "0", "99999999999999999G"] {
            assert_eq!(stack_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn binding_is_seen() {
        for (name, value) in [
            ("OMP_PROC_BIND", "true"),
            ("OMP_PROC_BIND", "Spread,close"),
            ("OMP_PLACES", "cores"),
            ("GOMP_CPU_AFFINITY", "0-3"),
            ("KMP_AFFINITY", "granularity=fine,compact"),
        ] {
            let seen = binding(&env(&[(name, value)]));
            assert_eq!(seen, Some(format!("{name}={value}")));
            let off = [("OMP_PROC_BIND", "FALSE"), (name, value)];
            assert_eq!(binding(&env(&off)), None, "false has the last word");
        }
        for (name, value) in [
            ("OMP_PROC_BIND", "false"),
            ("KMP_AFFINITY", "verbose,none"),
            ("KMP_AFFINITY", "disabled"),
            ("OMP_NUM_THREADS", "4"),
        ] {
            assert_eq!(binding(&env(&[(name, value)])), None);
        }
    }
}
