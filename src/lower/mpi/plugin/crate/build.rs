//! Compiles `constants.c` with the MPI that mpi-sys finds too.

fn main() {
    println!("cargo:rerun-if-changed=constants.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let mut builder = cc::Build::new();
    builder.file("constants.c");
    // Without an MPI mpi-sys fails with the reasons, so nothing needs to be said here.
    if let Ok(mpi) = build_probe_mpi::probe() {
        let _ = match mpi.mpicc {
            Some(mpicc) => builder.compiler(mpicc),
            None => builder.includes(mpi.include_paths),
        };
    }
    builder.compile("norn_mpi_constants");
}
