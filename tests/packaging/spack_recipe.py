#!/usr/bin/env python3
"""Runs the Spack recipe with stand-ins for Spack's modules, and compares it with Cargo.toml and CMakeLists.txt.

Shows that the recipe is Python, uses the directives named here with the arguments that they take, and agrees with the
build. Shows nothing about Spack.
"""

import re
import runpy
import sys
import types
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
RECIPE = TOP / "packaging/spack/spack_repo/norn/packages/norn/package.py"
said = []


def directive(name, *required, optional=()):
    def record(*arguments, **named):
        if len(arguments) != len(required) or set(named) - set(optional):
            raise TypeError(f"{name}{arguments} {named}: takes {required} and {optional}")
        said.append((name, *arguments))
    return record


class Spec:
    """A concrete spec: its variants, and the MPI it depends on."""

    def __init__(self, variants):
        self.variants = variants

    def satisfies(self, text):
        return self.variants[text[1:]] == (text[0] == "+")

    def __getitem__(self, name):
        assert name == "mpi" and self.variants["mpi"], name
        return types.SimpleNamespace(mpicc="/mpi/bin/mpicc")


class CMakePackage:
    stage = types.SimpleNamespace(path="/stage")

    def __init__(self, variants):
        self.variants = variants
        self.spec = Spec(variants)

    def define(self, option, value):
        return f"-D{option}:STRING={value}"

    def define_from_variant(self, option, variant):
        return f"-D{option}:BOOL={'ON' if self.variants[variant] else 'OFF'}"


def module(name, **content):
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
    vars(sys.modules[name]).update(content)


def main():
    module("spack.package", version=directive("version", "number", optional=("sha256",)),
           variant=directive("variant", "name", optional=("default", "description")),
           depends_on=directive("depends_on", "spec", optional=("type", "when")),
           conflicts=directive("conflicts", "spec", optional=("msg", "when")),
           requires=directive("requires", "spec", optional=("msg", "when")),
           license=directive("license", "name"), join_path=lambda *parts: "/".join(parts))
    module("spack_repo.builtin.build_systems.cmake", CMakePackage=CMakePackage)
    recipe = runpy.run_path(str(RECIPE))["Norn"]

    cargo = (TOP / "Cargo.toml").read_text(encoding="utf-8")
    cmake = (TOP / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.*)"$', cargo, re.M).group(1)
    oldest_rust = re.search(r'^rust-version = "(.*)"$', cargo, re.M).group(1)
    oldest_cmake = re.search(r"^cmake_minimum_required\(VERSION (.*)\)$", cmake, re.M).group(1)
    options = set(re.findall(r"^option\((NORN_\w+) ", cmake, re.M))
    plug_ins = (TOP / "cmake/NornMpi.cmake").read_text(encoding="utf-8")
    options |= set(re.findall(r"^set\((NORN_\w+) .* CACHE STRING$", plug_ins, re.M))
    for wanted in (("version", version), ("depends_on", f"rust@{oldest_rust}:"), ("depends_on", f"cmake@{oldest_cmake}:"),
                   ("license", re.search(r'^license = "(.*)"$', cargo, re.M).group(1)), ("conflicts", "~shared~static")):
        assert wanted in said, f"{RECIPE.name}: {wanted} is not said; it says {said}"
    assert recipe.url.endswith(f"/norn-{version}.tar.gz"), recipe.url

    variants = [name for what, name in said if what == "variant"]
    for value in (True, False):
        arguments = recipe(dict.fromkeys(variants, value)).cmake_args()
        used = {re.match(r"-D(\w+):(?:BOOL=(?:ON|OFF)|STRING=(?:/mpi/bin/mpicc|OFF))$", argument).group(1) for argument in arguments}
        assert used <= options, f"no options of CMakeLists.txt: {used - options}"
        assert len(used) == len(variants), f"{variants} against {used}"
    environment = {}
    recipe({}).setup_build_environment(types.SimpleNamespace(set=environment.__setitem__))
    assert environment == {"CARGO_HOME": "/stage/cargo-home"}, environment


if __name__ == "__main__":
    main()
