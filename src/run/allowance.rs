//! The CPUs and the CPU time that this process was launched with.
//!
//! The launcher's mask is a promise to the other ranks of the node, so norn never
//! leaves it. But the mask of the main thread may be narrower than the launcher's:
//! an OpenMP runtime that binds threads binds the main thread too, often before
//! `main`. The kernel keeps no memory of the wider mask; the witnesses are
//!
//! 1. the places of that OpenMP runtime, which it computed from the mask it found,
//! 2. the other threads of the process, which were made before, or never bound.
//!
//! They are heard only where OpenMP's variables say that it binds and the main
//! thread has fewer CPUs than its parent process. The parent's mask itself and the lists
//! in `OMP_PLACES` are no witnesses: a launcher starts many ranks, each with a
//! part of the parent's mask, and job scripts export one list to all of them.

use std::fs;
use std::path::Path;

use super::cgroup::{self, Quota};
use super::cpuset::CpuSet;
use super::openmp;

/// What this process may use.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    /// The mask as launched.
    pub mask: CpuSet,
    /// CPUs that a user may name: the mask, or more where the mask as launched
    /// may be wider than norn can see.
    pub limit: CpuSet,
    /// Limit on CPU time.
    pub quota: Option<Quota>,
    /// Why the mask is this one; a sentence.
    pub why: String,
}

impl Allowance {
    /// Reads it. `root` is `/` or a recorded tree; `caller` the mask of the
    /// calling thread; `places` asks the OpenMP runtime, if there is one.
    pub(crate) fn read(
        root: &Path,
        environment: &[(String, String)],
        caller: &CpuSet,
        places: impl FnOnce() -> Option<CpuSet>,
    ) -> Self {
        let online = list(&root.join("sys/devices/system/cpu/online"));
        let usable = |cpus: CpuSet| match &online {
            Some(online) => cpus.intersection(online),
            None => cpus,
        };
        let quota = cgroup::quota(root);
        let own = status(root, "self");
        let main = own.mask().map(usable).unwrap_or_default();
        // The caller's is the main thread's, or was once inherited from it.
        let mask = main.union(caller);
        let narrow = |mask: CpuSet, why| Self {
            limit: mask.clone(),
            mask,
            quota: quota.clone(),
            why,
        };
        let parent = own.parent().and_then(|parent| status(root, &parent).mask());
        let limit = parent
            .or_else(|| online.clone())
            .map(usable)
            .map(|cpus| match cgroup::cpuset(root) {
                Some(cpuset) => cpus.intersection(&cpuset),
                None => cpus,
            })
            .unwrap_or_default()
            .union(&mask);
        let Some(binding) = openmp::binding(environment).filter(|_| limit != mask) else {
            let why = format!("CPUs {mask}: the mask of this process");
            return narrow(mask, why);
        };
        if let Some(places) = places().map(usable) {
            let wide = mask.union(&places);
            let how = if wide == mask {
                "the mask of this process, which holds"
            } else {
                "the main thread's, widened to"
            };
            let why =
                format!("CPUs {wide}: {how} the places of the loaded OpenMP runtime ({binding})");
            return narrow(wide, why);
        }
        let others = threads(root).into_iter().map(usable);
        let wide = others.fold(mask.clone(), |all, one| all.union(&one));
        let why = format!(
            "CPUs {wide}: the masks of all threads of this process; {binding} may have bound the \
             main thread to {mask} (NORN_CPUS names others of {limit})"
        );
        Self {
            mask: wide,
            limit,
            quota,
            why,
        }
    }
}

/// A list of CPUs in a file; None when it cannot be read or is empty.
fn list(path: &Path) -> Option<CpuSet> {
    CpuSet::parse(&fs::read_to_string(path).ok()?)
        .ok()
        .filter(|cpus| !cpus.is_empty())
}

/// The text of a `status` file, empty when it cannot be read.
struct Status(String);

/// Status of a process or thread, as named below `/proc`.
fn status(root: &Path, of: &str) -> Status {
    let path = root.join("proc").join(of).join("status");
    Status(fs::read_to_string(path).unwrap_or_default())
}

impl Status {
    fn field(&self, name: &str) -> Option<&str> {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    }

    fn mask(&self) -> Option<CpuSet> {
        CpuSet::parse(self.field("Cpus_allowed_list")?).ok()
    }

    /// The parent process; none that can be seen for the first of a container.
    fn parent(&self) -> Option<String> {
        let parent = self.field("PPid")?;
        (parent != "0").then(|| parent.to_owned())
    }
}

/// Masks of all threads of this process.
fn threads(root: &Path) -> Vec<CpuSet> {
    let Ok(entries) = fs::read_dir(root.join("proc/self/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let of = format!("self/task/{}", entry.file_name().to_string_lossy());
            status(root, &of).mask()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Tree, set};
    use super::*;

    fn bind() -> Vec<(String, String)> {
        vec![("OMP_PROC_BIND".into(), "close".into())]
    }

    /// Main thread on `main`, its parent on 0-15, another thread on 0-3.
    fn process(main: &str) -> Tree {
        let tree = Tree::two_sockets();
        tree.status("self", 7, main);
        tree.status("7", 1, "0-127");
        tree.status("self/task/100", 7, main);
        tree.status("self/task/101", 7, "0-3");
        tree
    }

    #[test]
    fn the_mask_of_the_process_whoever_asks() {
        let tree = process("0-3");
        let places = || unreachable!("nothing binds");
        let seen = Allowance::read(tree.root(), &[], &set("2"), places);
        assert_eq!((&seen.mask, &seen.limit), (&set("0-3"), &set("0-3")));
        assert_eq!(seen.why, "CPUs 0-3: the mask of this process");
        assert_eq!(seen.quota, None);
    }

    #[test]
    fn offline_cpus_do_not_count() {
        let tree = Tree::two_sockets();
        tree.status("self", 7, "0-127");
        let seen = Allowance::read(tree.root(), &[], &set("0-15"), || None);
        assert_eq!(seen.mask, set("0-15"));
    }

    #[test]
    fn a_main_thread_bound_by_openmp_is_widened_to_the_places() {
        let tree = process("0");
        let places = || Some(set("0-7"));
        let seen = Allowance::read(tree.root(), &bind(), &set("0"), places);
        assert_eq!((&seen.mask, &seen.limit), (&set("0-7"), &set("0-7")));
        assert!(seen.why.contains("OMP_PROC_BIND=close"), "{}", seen.why);
    }

    #[test]
    fn without_a_runtime_to_ask_the_threads_are_the_witnesses() {
        let tree = process("0");
        let seen = Allowance::read(tree.root(), &bind(), &set("0"), || None);
        assert_eq!((&seen.mask, &seen.limit), (&set("0-3"), &set("0-15")));
        assert!(seen.why.contains("NORN_CPUS"), "{}", seen.why);
    }

    #[test]
    fn a_rank_bound_by_its_launcher_stays_there() {
        let tree = process("5");
        tree.status("self/task/101", 7, "5");
        for places in [None, Some(set("5"))] {
            let seen = Allowance::read(tree.root(), &bind(), &set("5"), || places);
            assert_eq!(seen.mask, set("5"));
        }
    }

    #[test]
    fn a_mask_as_wide_as_the_parents_was_not_narrowed() {
        let tree = process("0-15");
        let places = || unreachable!("nothing to ask for");
        let seen = Allowance::read(tree.root(), &bind(), &set("0-15"), places);
        assert_eq!(seen.limit, set("0-15"));
    }

    #[test]
    fn a_cpuset_bounds_what_may_be_named() {
        let tree = process("0");
        tree.file("proc/self/cgroup", "0::/\n");
        let mount = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n";
        tree.file("proc/self/mountinfo", mount);
        tree.file("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
        tree.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
        let seen = Allowance::read(tree.root(), &bind(), &set("0"), || None);
        assert_eq!(seen.limit, set("0-7"));
        assert_eq!(seen.quota.unwrap().cpus, 2);
    }

    #[test]
    fn without_proc_and_sys_the_callers_mask_is_all_there_is() {
        let tree = Tree::new();
        for environment in [vec![], bind()] {
            let seen = Allowance::read(tree.root(), &environment, &set("1,3"), || None);
            assert_eq!((&seen.mask, &seen.limit), (&set("1,3"), &set("1,3")));
        }
    }
}
