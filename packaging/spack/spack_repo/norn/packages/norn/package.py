# SPDX-License-Identifier: Apache-2.0 OR MIT
"""norn for Spack 1.0 and later.

    make dist                                              # norn-VERSION.tar.gz, with its crates
    spack repo add packaging/spack/spack_repo/norn
    (cd build && spack install --no-checksum norn)         # takes the tarball from the current folder

`make check` runs this file with stand-ins for Spack's modules and compares it with Cargo.toml and CMakeLists.txt.
Not checked: Spack itself, its concretizer and its build environment.
"""

import os

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Norn(CMakePackage):
    """Asynchronous task graphs for HPC codes: a shared library with a C API, C++ and Fortran layers, written in Rust."""

    # No release has an address yet; a cluster without a network needs the file at hand anyway.
    manual_download = True
    url = f"file://{os.getcwd()}/norn-0.1.0.tar.gz"

    license("Apache-2.0 OR MIT")

    version("0.1.0")

    variant("shared", default=True, description="Build libnorn.so")
    variant("static", default=True, description="Build libnorn.a")
    variant("mpi", default=False, description="Build the plug-in for the family of the MPI it is installed with")
    conflicts("~shared~static", msg="norn is at least one of a shared and a static library")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("rust@1.88:", type="build")
    # ld --force-group-allocation, objcopy
    depends_on("binutils", type="build")

    # libnorn links no MPI; the plug-in is compiled by this one and serves all of its family.
    depends_on("mpi", when="+mpi")

    requires("platform=linux", msg="norn runs on Linux only")

    def setup_build_environment(self, env):
        # The crates are in the tarball; a user's own configuration of cargo must not redirect them.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo-home"))

    def cmake_args(self):
        return [
            self.define_from_variant("NORN_BUILD_SHARED", "shared"),
            self.define_from_variant("NORN_BUILD_STATIC", "static"),
            # Not the MPIs that happen to be on PATH.
            self.define("NORN_MPICC", self.spec["mpi"].mpicc if self.spec.satisfies("+mpi") else "OFF"),
        ]
