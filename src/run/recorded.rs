//! For tests: a directory that stands for `/`, with the files of a machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::cpuset::CpuSet;

/// A tree of files in a temporary directory, removed at the end.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// An empty tree.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("norn-recorded-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    /// Two sockets, each a NUMA node of four cores of two siblings: node 0 has
    /// CPUs 0-3 and 8-11, node 1 has 4-7 and 12-15; CPU n and n+8 share a core.
    pub(crate) fn two_sockets() -> Self {
        let tree = Self::new();
        tree.file("sys/devices/system/cpu/online", "0-15\n");
        for cpu in 0..16 {
            let at = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let core = cpu % 8;
            tree.file(
                &format!("{at}/thread_siblings_list"),
                &format!("{core},{}\n", core + 8),
            );
            tree.file(&format!("{at}/core_id"), &format!("{}\n", core % 4));
            tree.file(
                &format!("{at}/physical_package_id"),
                &format!("{}\n", core / 4),
            );
        }
        tree.node(0, "0-3,8-11", "10 21");
        tree.node(1, "4-7,12-15", "21 10");
        tree
    }

    /// Adds a NUMA node.
    pub(crate) fn node(&self, number: usize, cpus: &str, distances: &str) {
        let at = format!("sys/devices/system/node/node{number}");
        self.file(&format!("{at}/cpulist"), &format!("{cpus}\n"));
        self.file(&format!("{at}/distance"), &format!("{distances}\n"));
    }

    /// Adds the status file of a thread or process, as `proc/<of>/status`.
    pub(crate) fn status(&self, of: &str, parent: usize, cpus: &str) {
        self.file(
            &format!("proc/{of}/status"),
            &format!(
                "Name:\tapp\nPPid:\t{parent}\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n"
            ),
        );
    }

    /// Writes a file, with the directories above it.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What stands for `/`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A set from its list.
pub(crate) fn set(list: &str) -> CpuSet {
    CpuSet::parse(list).unwrap()
}
