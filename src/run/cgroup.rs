//! What the control groups of this process allow: a share of CPU time, and CPUs.
//!
//! A container or a batch system may give a process every CPU in its mask and
//! yet the time of only two of them. Both generations of control groups are
//! read, at every level from the process's group up to the mount.

use std::fs;
use std::path::{Path, PathBuf};

use super::cpuset::CpuSet;

/// A limit on CPU time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quota {
    /// Whole CPUs that it is worth to keep busy: rounded up, at least 1.
    pub cpus: usize,
    /// The limit itself, such as "1.5", for the log.
    pub exact: String,
}

/// The tightest quota over this process, None without any. `root` is `/`, or a
/// recorded tree.
pub(crate) fn quota(root: &Path) -> Option<Quota> {
    directories(root, "cpu")
        .iter()
        .filter_map(|directory| quota_v2(directory).or_else(|| quota_v1(directory)))
        .map(|(time, period)| (time as f64 / period as f64, time.div_ceil(period).max(1)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(exact, cpus)| Quota {
            cpus: usize::try_from(cpus).unwrap_or(usize::MAX),
            exact: ((exact * 100.0).round() / 100.0).to_string(),
        })
}

/// CPUs that the cpuset of this process allows, None without one.
pub(crate) fn cpuset(root: &Path) -> Option<CpuSet> {
    const FILES: [&str; 3] = [
        "cpuset.cpus.effective",
        "cpuset.effective_cpus",
        "cpuset.cpus",
    ];
    directories(root, "cpuset")
        .iter()
        .flat_map(|directory| FILES.map(|file| directory.join(file)))
        .filter_map(|path| CpuSet::parse(&fs::read_to_string(path).ok()?).ok())
        .find(|cpus| !cpus.is_empty())
}

/// `cpu.max`: "150000 100000", or "max 100000" for none.
fn quota_v2(directory: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(directory.join("cpu.max")).ok()?;
    let mut words = text.split_whitespace();
    positive(words.next()?, words.next()?)
}

/// `cpu.cfs_quota_us` over `cpu.cfs_period_us`; -1 is none.
fn quota_v1(directory: &Path) -> Option<(u64, u64)> {
    let read = |file| fs::read_to_string(directory.join(file)).ok();
    positive(
        read("cpu.cfs_quota_us")?.trim(),
        read("cpu.cfs_period_us")?.trim(),
    )
}

/// Both numbers, where both are above zero.
fn positive(time: &str, period: &str) -> Option<(u64, u64)> {
    let (time, period) = (time.parse().ok()?, period.parse().ok()?);
    (time > 0 && period > 0).then_some((time, period))
}

/// Directories of this process's groups that can hold files of the controller,
/// innermost first in each hierarchy.
fn directories(root: &Path, controller: &str) -> Vec<PathBuf> {
    let read = |file| fs::read_to_string(root.join(file)).unwrap_or_default();
    let groups = read("proc/self/cgroup");
    let mounts = read("proc/self/mountinfo");
    let mut directories = Vec::new();
    for line in groups.lines() {
        // hierarchy:controllers:path; the second generation has no controllers.
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let wanted = if unified { None } else { Some(controller) };
        let Some(mount) = mounts.lines().find_map(|line| Mount::parse(line, wanted)) else {
            continue;
        };
        // Inside a container the mount may show only the container's own part.
        let inside = Path::new(path)
            .strip_prefix(&mount.shows)
            .unwrap_or(Path::new(""));
        let at = root.join(mount.at.trim_start_matches('/'));
        directories.extend(inside.ancestors().map(|part| at.join(part)));
    }
    directories
}

/// A mounted hierarchy.
struct Mount {
    /// The group that the mount shows as its top.
    shows: String,
    /// Where it is mounted.
    at: String,
}

impl Mount {
    /// Reads a line of mountinfo, if it is the hierarchy of this controller (None: the unified one).
    fn parse(line: &str, controller: Option<&str>) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (system, options) = (kind.next()?, kind.nth(1).unwrap_or(""));
        let right = match controller {
            None => system == "cgroup2",
            Some(name) => system == "cgroup" && options.split(',').any(|option| option == name),
        };
        let mut place = place.split(' ').skip(3).map(unescape);
        right.then_some(Self {
            shows: place.next()?,
            at: place.next()?,
        })
    }
}

/// Undoes the kernel's octal escapes of blanks and backslashes in paths.
fn unescape(path: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"]
        .iter()
        .fold(path.to_owned(), |path, rule| {
            path.replace(&rule[..4], &rule[4..])
        })
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Tree;
    use super::*;

    const V2: &str =
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "30 23 0:27 / /sys/fs/cgroup ro shared:8 - tmpfs tmpfs ro\n\
        33 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n\
        34 30 0:31 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n";

    fn cpus(tree: &Tree) -> Option<(usize, String)> {
        quota(tree.root()).map(|quota| (quota.cpus, quota.exact))
    }

    #[test]
    fn the_tightest_level_of_the_second_generation_counts() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "0::/job/step/task\n");
        tree.file("proc/self/mountinfo", V2);
        tree.file("sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n");
        assert_eq!(cpus(&tree), None);
        tree.file("sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
        assert_eq!(cpus(&tree), Some((4, "4".into())));
        tree.file("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
        assert_eq!(cpus(&tree), Some((2, "1.5".into())));
        tree.file("sys/fs/cgroup/job/step/task/cpu.max", "10000 100000\n");
        assert_eq!(cpus(&tree), Some((1, "0.1".into())));
    }

    #[test]
    fn the_first_generation_is_found_by_its_controller() {
        let tree = Tree::new();
        tree.file(
            "proc/self/cgroup",
            "5:cpuset:/c\n4:cpu,cpuacct:/a b\n1:name=systemd:/x\n0::/\n",
        );
        tree.file("proc/self/mountinfo", V1);
        let at = "sys/fs/cgroup/cpu,cpuacct/a b";
        tree.file(&format!("{at}/cpu.cfs_quota_us"), "-1\n");
        tree.file(&format!("{at}/cpu.cfs_period_us"), "100000\n");
        assert_eq!(cpus(&tree), None);
        tree.file(&format!("{at}/cpu.cfs_quota_us"), "250000\n");
        assert_eq!(cpus(&tree), Some((3, "2.5".into())));
        assert_eq!(cpuset(tree.root()), None);
        tree.file("sys/fs/cgroup/cpuset/cpuset.cpus", "0-15\n");
        tree.file("sys/fs/cgroup/cpuset/c/cpuset.cpus", "0-7\n");
        assert_eq!(cpuset(tree.root()).unwrap().to_string(), "0-7");
    }

    #[test]
    fn a_container_that_sees_only_its_own_part() {
        let tree = Tree::new();
        tree.file("proc/self/cgroup", "0::/docker/abc/inner\n");
        tree.file(
            "proc/self/mountinfo",
            "1 2 0:3 /docker/abc /cg\\040roup rw - cgroup2 none rw\n",
        );
        tree.file("cg roup/inner/cpu.max", "300000 100000\n");
        tree.file("cg roup/cpuset.cpus.effective", "2-3\n");
        assert_eq!(cpus(&tree), Some((3, "3".into())));
        assert_eq!(cpuset(tree.root()).unwrap().to_string(), "2-3");
        tree.file("proc/self/cgroup", "0::/../elsewhere\n");
        tree.file("cg roup/cpu.max", "200000 100000\n");
        assert_eq!(cpus(&tree), Some((2, "2".into())), "the mount itself");
    }

    #[test]
    fn no_groups_no_limits() {
        let tree = Tree::new();
        assert_eq!((cpus(&tree), cpuset(tree.root())), (None, None));
        tree.file("proc/self/cgroup", "nonsense\n4:cpu:/\n0::/\n");
        tree.file("proc/self/mountinfo", "nonsense\n");
        assert_eq!((cpus(&tree), cpuset(tree.root())), (None, None));
        tree.file("proc/self/mountinfo", V2);
        tree.file("sys/fs/cgroup/cpu.max", "many few\n");
        assert_eq!(cpus(&tree), None);
    }
}
