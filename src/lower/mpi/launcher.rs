//! How many ranks the launcher started.
//!
//! Under the launcher of another MPI every process is rank 0 of 1 and does the
//! whole work, without a word. The launchers' variables tell.

/// Variables that hold the number of ranks, and whose they are. Not
/// `SLURM_NTASKS`, which a batch script has too, where one process is right.
const SIZES: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("PMI_SIZE", "MPICH's mpiexec, or a launcher of its kind,"),
    ("MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun"),
    ("SLURM_STEP_NUM_TASKS", "srun"),
    ("FLUX_JOB_SIZE", "flux run"),
];

/// The sentence to refuse with, where a launcher started more ranks than the one that MPI sees.
pub(crate) fn other_launcher(
    world_size: i32,
    variable: impl Fn(&str) -> Option<String>,
    library: &str,
) -> Option<String> {
    if world_size != 1 {
        return None;
    }
    SIZES.iter().find_map(|(name, whose)| {
        let ranks: u64 = variable(name)?.trim().parse().ok()?;
        (ranks > 1).then(|| {
            format!(
                "{whose} has started {ranks} processes ({name}={ranks}), but MPI ({library}) sees one: every process would \
                 do the whole work. Start the program with the launcher of that MPI; where single processes are meant, \
                 unset {name}"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(world_size: i32, name: &str, value: &str) -> Option<String> {
        let variable = |asked: &str| (asked == name).then(|| value.to_string());
        other_launcher(world_size, variable, "MPICH 4.0")
    }

    #[test]
    fn singletons_of_another_launcher_are_told_with_the_number() {
        for (name, _) in SIZES {
            let text = told(1, name, "4").unwrap();
            assert!(
                text.contains(&format!("{name}=4")) && text.contains("MPICH 4.0"),
                "{text}"
            );
        }
    }

    #[test]
    fn everything_else_is_right() {
        assert_eq!(told(4, "PMI_SIZE", "4"), None, "the right launcher");
        assert_eq!(told(1, "PMI_SIZE", "1"), None, "one rank was asked for");
        assert_eq!(told(1, "PMI_SIZE", "many"), None, "no number");
        assert_eq!(told(1, "SLURM_NTASKS", "4"), None, "a batch script");
        assert_eq!(told(1, "HOME", "4"), None, "no launcher");
    }
}
