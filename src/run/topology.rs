//! Cores, NUMA nodes and distances of the CPUs norn may use, and the place of
//! each worker on them.
//!
//! Read from `/sys`; where that is missing (some containers), every CPU is a
//! core of its own and there is one node.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::cpuset::CpuSet;

/// The machine as far as norn may use it, with its workers.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    cpus: CpuSet,
    nodes: Vec<Node>,
    seats: Vec<Seat>,
}

/// A NUMA node with at least one usable CPU.
#[derive(Clone, Debug)]
struct Node {
    /// The operating system's number.
    number: i32,
    /// Its usable CPUs.
    cpus: CpuSet,
    /// Its cores as sets of usable siblings, by their lowest CPU.
    cores: Vec<CpuSet>,
    /// To each node of the list; 10 is a node to itself.
    distances: Vec<u32>,
}

/// The place of a worker.
#[derive(Clone, Debug)]
struct Seat {
    /// Index into the nodes.
    node: usize,
    /// Where its thread may run.
    cpus: CpuSet,
}

impl Topology {
    /// Reads the machine, restricted to `cpus`. No workers have places yet.
    pub(crate) fn read(root: &Path, cpus: &CpuSet) -> Self {
        let directory = root.join("sys/devices/system/node");
        let numbers = node_numbers(&directory);
        let mut nodes: Vec<(usize, Node)> = Vec::new();
        let mut rest = cpus.clone();
        for (row, &number) in numbers.iter().enumerate() {
            let path = directory.join(format!("node{number}/cpulist"));
            let Ok(list) = CpuSet::parse(&fs::read_to_string(path).unwrap_or_default()) else {
                continue;
            };
            let here = list.intersection(&rest);
            if here.is_empty() {
                continue; // memory only, or none of ours
            }
            rest = rest.difference(&here);
            nodes.push((row, Node::new(root, number, here)));
        }
        // CPUs that no node claims: all of them where the kernel has no NUMA.
        if !rest.is_empty() || nodes.is_empty() {
            match nodes.first_mut() {
                Some((_, node)) => *node = Node::new(root, node.number, node.cpus.union(&rest)),
                None => nodes.push((0, Node::new(root, 0, rest))),
            }
        }
        let rows: Vec<usize> = nodes.iter().map(|(row, _)| *row).collect();
        for (row, node) in &mut nodes {
            let path = directory.join(format!("node{}/distance", node.number));
            node.distances = distances(&path, *row, &rows);
        }
        Self {
            cpus: cpus.clone(),
            nodes: nodes.into_iter().map(|(_, node)| node).collect(),
            seats: Vec::new(),
        }
    }

    /// Cores with at least one usable CPU; SMT siblings count once.
    pub(crate) fn cores(&self) -> usize {
        self.nodes.iter().map(|node| node.cores.len()).sum()
    }

    /// Whether the operating system's node `number` has a usable CPU.
    pub(crate) fn has(&self, number: i32) -> bool {
        self.nodes.iter().any(|node| node.number == number)
    }

    /// NUMA nodes with at least one usable CPU.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Usable CPUs grouped by node and within it by core.
    #[cfg(test)]
    fn ordered_cpus(&self) -> Vec<usize> {
        self.nodes
            .iter()
            .flat_map(|node| node.cores.iter().flat_map(CpuSet::iter))
            .collect()
    }

    /// Gives `workers` workers their places: each node as many as its share of
    /// the cores, neighbours in number near each other. With `pin` each has a
    /// core, spread over the node while there are more cores than workers.
    pub(crate) fn seat(&mut self, workers: usize, pin: bool) {
        let mut counts = vec![0; self.nodes.len()];
        for _ in 0..workers {
            // The node that is emptiest after taking one more; ties to the first.
            let load = |node: usize, count: usize| {
                // Two shares are compared by the integers crosswise.
                (count + 1, self.nodes[node].cores.len().max(1))
            };
            let mut best = 0;
            for node in 1..counts.len() {
                let ((a, b), (c, d)) = (load(node, counts[node]), load(best, counts[best]));
                if a * d < c * b {
                    best = node;
                }
            }
            counts[best] += 1;
        }
        self.seats.clear();
        for (index, (node, &count)) in self.nodes.iter().zip(&counts).enumerate() {
            for number in 0..count {
                let cpus = match node.cores.len() {
                    cores if pin && count < cores => node.cores[number * cores / count].clone(),
                    cores if pin && cores > 0 => node.cores[number % cores].clone(),
                    _ => node.cpus.clone(),
                };
                self.seats.push(Seat { node: index, cpus });
            }
        }
    }

    /// Where the thread of a worker may run. All usable CPUs for a number that
    /// is no worker's.
    pub(crate) fn binding(&self, worker: usize) -> &CpuSet {
        self.seats.get(worker).map_or(&self.cpus, |seat| &seat.cpus)
    }

    /// The operating system's number of a worker's node; -1 for a number that
    /// is no worker's.
    pub(crate) fn node(&self, worker: usize) -> i32 {
        self.seats
            .get(worker)
            .map_or(-1, |seat| self.nodes[seat.node].number)
    }

    /// The other workers in the order in which this one looks for work: nearest
    /// node first, and within a node from its own number on, so that thieves do
    /// not all begin at the same victim. For a number that is no worker's: all.
    pub(crate) fn steal_order(&self, worker: usize) -> Vec<usize> {
        let count = self.seats.len();
        let mut order: Vec<_> = (1..=count)
            .map(|step| (worker % count + step) % count)
            .filter(|victim| *victim != worker)
            .collect();
        if let Some(seat) = self.seats.get(worker) {
            let distances = &self.nodes[seat.node].distances;
            order.sort_by_key(|victim| distances[self.seats[*victim].node]); // stable
        }
        order
    }
}

impl Node {
    fn new(root: &Path, number: i32, cpus: CpuSet) -> Self {
        Self {
            number,
            cores: cores(root, &cpus),
            cpus,
            distances: Vec::new(),
        }
    }
}

/// Groups CPUs into cores, in the order of their lowest CPU.
fn cores(root: &Path, cpus: &CpuSet) -> Vec<CpuSet> {
    let mut cores: Vec<CpuSet> = Vec::new();
    let mut by_number: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    let mut rest = cpus.clone();
    for cpu in cpus.iter() {
        if !rest.contains(cpu) {
            continue; // a sibling of one before
        }
        let directory = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        let read = |file: &str| fs::read_to_string(directory.join(file)).ok();
        let siblings = ["thread_siblings_list", "core_cpus_list"]
            .iter()
            .filter_map(|file| CpuSet::parse(&read(file)?).ok())
            .find(|siblings| siblings.contains(cpu));
        let core: CpuSet = match siblings {
            Some(siblings) => siblings.intersection(&rest),
            None => [cpu].into_iter().collect(),
        };
        rest = rest.difference(&core);
        // Without the list of siblings, equal numbers of package and core say it.
        let number = |file| read(file)?.trim().parse::<i64>().ok();
        if core.len() == 1
            && let (Some(package), Some(id)) = (number("physical_package_id"), number("core_id"))
            && read("thread_siblings_list").is_none()
        {
            match by_number.get(&(package, id)) {
                Some(&index) => {
                    cores[index] = cores[index].union(&core);
                    continue;
                }
                None => {
                    by_number.insert((package, id), cores.len());
                }
            }
        }
        cores.push(core);
    }
    cores
}

/// Numbers of the nodes, rising: the order of the columns in `distance`.
fn node_numbers(directory: &Path) -> Vec<i32> {
    let mut numbers: Vec<i32> = fs::read_dir(directory)
        .map(|entries| {
            entries
                .flatten()
                .filter_map(|entry| {
                    let name = entry.file_name();
                    name.to_str()?.strip_prefix("node")?.parse().ok()
                })
                .collect()
        })
        .unwrap_or_default();
    numbers.sort_unstable();
    numbers
}

/// Distances from the node in row `own` to those of `rows`; the customary 10 and
/// 20 where the file is missing or short.
fn distances(path: &Path, own: usize, rows: &[usize]) -> Vec<u32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let columns: Vec<u32> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let customary = |row| if row == own { 10 } else { 20 };
    rows.iter()
        .map(|&row| columns.get(row).copied().unwrap_or(customary(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Tree, set};
    use super::*;

    fn read(tree: &Tree, cpus: &str) -> Topology {
        Topology::read(tree.root(), &set(cpus))
    }

    fn bindings(topology: &mut Topology, workers: usize, pin: bool) -> Vec<String> {
        topology.seat(workers, pin);
        (0..workers)
            .map(|worker| topology.binding(worker).to_string())
            .collect()
    }

    #[test]
    fn siblings_count_once_and_nodes_group_the_cpus() {
        let tree = Tree::two_sockets();
        let all = read(&tree, "0-15");
        assert_eq!((all.cores(), all.nodes()), (8, 2));
        assert_eq!(
            all.ordered_cpus(),
            [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
        );
        assert_eq!(read(&tree, "0-7").cores(), 8);
        assert_eq!(read(&tree, "0,8").cores(), 1, "both siblings of a core");
        assert_eq!(read(&tree, "0,9").cores(), 2, "halves of two cores");
        assert_eq!(read(&tree, "4-7").nodes(), 1);
    }

    #[test]
    fn workers_fill_nodes_evenly_and_stay_on_theirs() {
        let tree = Tree::two_sockets();
        let mut all = read(&tree, "0-15");
        let (zero, one) = ("0-3,8-11", "4-7,12-15");
        assert_eq!(bindings(&mut all, 3, false), [zero, zero, one]);
        assert_eq!(bindings(&mut all, 4, false), [zero, zero, one, one]);
        let nodes: Vec<_> = (0..5).map(|worker| all.node(worker)).collect();
        assert_eq!(nodes, [0, 0, 1, 1, -1]);
        assert_eq!(all.binding(4), &set("0-15"), "no worker, no seat");
        // Three cores here, one there.
        let mut uneven = read(&tree, "0-2,7");
        let expected = ["0-2", "0-2", "0-2", "7"];
        assert_eq!(bindings(&mut uneven, 4, false), expected);
        assert_eq!(bindings(&mut uneven, 0, false).len(), 0);
    }

    #[test]
    fn pinned_workers_have_cores() {
        let tree = Tree::two_sockets();
        let mut all = read(&tree, "0-15");
        assert_eq!(bindings(&mut all, 4, true), ["0,8", "2,10", "4,12", "6,14"]);
        let mut half = read(&tree, "4-7");
        assert_eq!(bindings(&mut half, 6, true), ["4", "5", "6", "7", "4", "5"]);
    }

    #[test]
    fn the_nearest_are_robbed_first() {
        let tree = Tree::two_sockets();
        tree.node(0, "0-3", "10 31 20");
        tree.node(1, "4-7", "31 10 20");
        tree.node(2, "8-11", "20 20 10");
        let mut topology = read(&tree, "0-11");
        topology.seat(6, false);
        assert_eq!(topology.steal_order(0), [1, 4, 5, 2, 3]);
        assert_eq!(topology.steal_order(1), [0, 4, 5, 2, 3]);
        assert_eq!(topology.steal_order(3), [2, 4, 5, 0, 1]);
        assert_eq!(topology.steal_order(4), [5, 0, 1, 2, 3]);
        assert_eq!(topology.steal_order(6).len(), 6, "a guest robs everyone");
        topology.seat(1, false);
        assert!(topology.steal_order(0).is_empty());
        topology.seat(0, false);
        assert!(topology.steal_order(0).is_empty());
    }

    #[test]
    fn distances_are_taken_by_node_although_some_have_no_cpus() {
        let tree = Tree::two_sockets();
        tree.node(0, "0-3", "10 99 30 20");
        tree.node(1, "", "99 10 99 99");
        tree.node(4, "4-7", "30 99 10 40");
        tree.node(7, "8-11", "20 99 40 10");
        let mut topology = read(&tree, "0-11");
        topology.seat(3, false);
        let nodes: Vec<_> = (0..3).map(|worker| topology.node(worker)).collect();
        assert_eq!(nodes, [0, 4, 7]);
        assert_eq!(topology.steal_order(0), [2, 1]);
    }

    #[test]
    fn without_sys_every_cpu_is_a_core_of_one_node() {
        let mut bare = read(&Tree::new(), "2,5,70");
        assert_eq!((bare.cores(), bare.nodes()), (3, 1));
        assert_eq!(bindings(&mut bare, 2, false), ["2,5,70", "2,5,70"]);
        assert_eq!(bindings(&mut bare, 4, true), ["2", "5", "70", "2"]);
        assert_eq!((bare.node(0), bare.steal_order(0)), (0, vec![1, 2, 3]));
        let mut none = read(&Tree::new(), "");
        assert_eq!(bindings(&mut none, 2, true), ["", ""]);
    }

    #[test]
    fn half_a_sys_is_used_as_far_as_it_goes() {
        let tree = Tree::new();
        for (cpu, core) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            let at = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            tree.file(&format!("{at}/core_id"), &core.to_string());
            tree.file(&format!("{at}/physical_package_id"), "0\n");
        }
        let mut topology = read(&tree, "0-3,9");
        assert_eq!(bindings(&mut topology, 3, true), ["0,2", "1,3", "9"]);
        // A node that claims only some CPUs takes the others too.
        tree.node(3, "1", "");
        let mut topology = read(&tree, "0-3");
        assert_eq!(bindings(&mut topology, 1, false), ["0-3"]);
        assert_eq!(topology.node(0), 3);
    }
}
