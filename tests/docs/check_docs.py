#!/usr/bin/env python3
"""Checks README.md and docs/*.md against the source and an installed norn.

    python3 tests/docs/check_docs.py --prefix build/prefix [--cc gcc] [--only NAME]

1. Every ```c and ```cpp block that is complete is compiled against the installed norn, without warnings. Complete is a
   block whose first line names a file ("/* NAME.c: ..." or "// NAME.cpp: ..."), whose fence says "complete", or which has
   a main. One that includes norn_dl.h is not linked with the library. C++ is C++17 unless the fence says "c++20".
2. One with a main is run in the modes async, sync and shuffle, or in those that its fence names
   ("```c sync shuffle:3"), and must end with 0; one that includes norn_dl.h also in the mode absent, without a library.
   Where an ```output block follows, that is what it must print. A fence that says "mpi" is compiled with the MPI compiler and
   run on two ranks, where there is one.
   "exit=N" in the fence expects another exit status. A ```fortran block with a "program" is treated the same, where
   there is a Fortran compiler.
3. The table of variables in README.md equals the table in src/run/environment.rs.
4. The programs in README.md are the files that tools/readme_programs.py names, the first in docs/cpp.md is
   examples-c/cpp/hello.cpp, the one in docs/optional.md is
   examples-c/optional.c; README's CMake project and its pkg-config line build hello.c, where cmake and pkg-config are
   installed. docs/fortran.md begins with examples-fortran/hello.f90, which its lines build too, and shows what
   heat2d.f90 changes.
5. Relative links, and their #anchors, resolve.
6. Every norn_* and NORN_* name on the pages exists in the header, in the table of variables or in the build; and
   every function of the header is explained on some page.

Ends with 0 when all holds, 1 when something does not, 2 when it could not look.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODES = ["async", "sync", "shuffle:1", "shuffle:2"]
SECONDS = 60
VARIABLES_HEADING = "Environment variables"
# Names that the build defines, or that are spoken of as missing.
OTHER_NAMES = {"NORN_BUILD_SHARED", "NORN_BUILD_STATIC", "NORN_BUILD_EXAMPLES", "NORN_BUILD_TESTS",
               "NORN_INSTALL", "NORN_SOVERSION", "NORN_0", "norn_static", "NORN_EXAMPLES_CHOLESKY",
               "norn_DIR", "norn_Fortran_FOUND", "norn_fortran", "norn_runtime", "norn_mpi_openmpi", "norn_mpi_mpich",
               "norn_mpi_abi", "NORN_MPICC",
               "norn_development", "norn_licences",
               "norn_add_fortran"}

problems = []
checks = 0


def check(holds, text):
    global checks
    checks += 1
    if not holds:
        problems.append(text)
        print(f"FAILED {text}", file=sys.stderr)


def where(path, line=None):
    name = path.relative_to(ROOT)
    return f"{name}:{line}" if line else str(name)


def fences(path):
    """The fenced blocks of a page: (words after the fence, first line's number, text)."""
    words, start, lines = None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if words is None:
            if line.startswith("```"):
                words, start, lines = line[3:].split(), number + 1, []
        elif line.startswith("```"):
            yield words, start, "".join(text + "\n" for text in lines)
            words = None
        else:
            lines.append(line)
    if words is not None:
        check(False, f"{where(path, start)}: a ``` is never closed")


def prose(path):
    """A page without its fenced blocks, line numbers kept."""
    inside, kept = False, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
            kept.append("")
        else:
            kept.append("" if inside else line)
    return kept


def compile_flags(prefix, package):
    """Flags from an installed .pc file, which is what the manual tells users to ask."""
    found = sorted(prefix.glob(f"**/{package}.pc"))
    if not found:
        print(f"check_docs: {prefix} has no {package}.pc: is norn installed there?", file=sys.stderr)
        sys.exit(2)
    variables, flags = {"pcfiledir": str(found[0].parent)}, []

    def expand(text):
        while True:
            expanded = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m.group(1), ""), text)
            if expanded == text:
                return text
            text = expanded

    for line in found[0].read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            variables[match.group(1)] = expand(match.group(2))
        elif match := re.fullmatch(r"(Cflags|Libs): (.*)", line):
            flags += expand(match.group(2)).split()
    libdir = variables.get("libdir", str(prefix / "lib"))
    return found[0], flags, libdir


class Runner:
    def __init__(self, prefix, compilers, fortran, folder):
        self.pc, self.flags, self.libdir = compile_flags(prefix, "norn")
        _, self.dl_flags, _ = compile_flags(prefix, "norn-dl")
        self.prefix, self.compilers, self.folder = prefix, compilers, folder
        self.fortran = shutil.which(fortran)
        self.mpi_compiler, self.mpi_launcher = shutil.which("mpicc"), shutil.which("mpirun")
        self.module = None

    def build_fortran(self, at, text, name):
        """The module is compiled once, in the order that norn-fortran.pc gives, and kept as one object."""
        def compile_with(*arguments):
            command = [self.fortran, "-std=f2018", "-Wall", "-Wextra", "-Wno-unused-dummy-argument", "-Werror", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
            check(done.returncode == 0, f"{at}: {self.fortran} refuses it:\n{done.stderr}")
            return done.returncode == 0

        if self.module is None:
            line = re.search(r"^sources=(.*)$", (self.pc.parent / "norn-fortran.pc").read_text(encoding="utf-8"), re.M)
            directory = str(self.pc.parent / "../cmake/norn/fortran")
            sources = line.group(1).replace("${sourcedir}", directory).split()
            self.module = self.folder / "norn_fortran"
            self.module.mkdir()
            built = all(compile_with("-frecursive", "-c", "-J", str(self.module), "-o",
                                     str(self.module / f"{Path(source).stem}.o"), source) for source in sources)
            if not built:
                return None
        source = self.folder / f"{name}.f90"
        source.write_text(text, encoding="utf-8")
        folder = self.folder / f"{name}.mod.d"
        folder.mkdir(exist_ok=True)
        program = self.folder / name
        objects = sorted(str(path) for path in self.module.glob("*.o"))
        built = compile_with("-frecursive", "-I", str(self.module), "-J", str(folder), "-o", str(program), str(source),
                             *objects, *self.flags)
        return program if built else None

    def environment(self, mode):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NORN_")}
        # Open MPI's mpirun otherwise refuses to run as root, or more ranks than cores.
        kept.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        if mode == "absent":
            kept.pop("LD_LIBRARY_PATH", None)
            return kept
        kept["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [self.libdir, kept.get("LD_LIBRARY_PATH")]))
        if mode != "plain":
            kept["NORN_MODE"] = mode
        return kept

    def build(self, at, text, name, standard):
        source = self.folder / (f"{name}.c" if standard == "gnu11" else f"{name}.cpp")
        source.write_text(text, encoding="utf-8")
        has_main = re.search(r"^int main\(", text, re.M) is not None
        program = self.folder / name
        flags = self.dl_flags if "<norn_dl.h>" in text else self.flags
        for compiler in [self.mpi_compiler] if "<mpi.h>" in text else self.compilers:
            if standard != "gnu11":
                compiler = {"gcc": "g++", "clang": "clang++"}.get(compiler, compiler)
            command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", str(source)]
            command += ["-o", str(program), *flags, "-lpthread", "-lm"] if has_main else [
                "-c", "-o", f"{program}.o", *[flag for flag in flags if flag.startswith("-I")]]
            done = subprocess.run(command, capture_output=True, text=True)
            check(done.returncode == 0, f"{at}: {compiler} refuses it:\n{done.stderr}")
            if done.returncode != 0:
                return None
        return program if has_main else None

    def run(self, at, program, mode, expected_exit, expected_output, launcher=()):
        try:
            done = subprocess.run([*launcher, str(program)], capture_output=True, text=True, timeout=SECONDS,
                                  env=self.environment(mode), stdin=subprocess.DEVNULL, cwd=self.folder)
        except subprocess.TimeoutExpired:
            check(False, f"{at}: still runs after {SECONDS} s (NORN_MODE={mode})")
            return
        said = f"(NORN_MODE={mode})\n{done.stdout}{done.stderr}"
        check(done.returncode == expected_exit,
              f"{at}: ended with {done.returncode}, expected {expected_exit} {said}")
        if expected_output is not None:
            check(done.stdout == expected_output, f"{at}: does not print what the page shows {said}")


def check_programs(pages, runner, only):
    for page in pages:
        blocks = list(fences(page))
        for position, (words, line, text) in enumerate(blocks):
            if not words or words[0] not in ("c", "cpp", "fortran"):
                continue
            fortran = words[0] == "fortran"
            standard = "c++20" if "c++20" in words else "c++17" if words[0] == "cpp" else "gnu11"
            named = re.match(r"! ([\w-]+)\.f90\b" if fortran else r"(?:/\*|//) ([\w-]+)\.c(?:pp)?\b", text)
            has_main = re.search(r"^program " if fortran else r"^int main\(", text, re.M) is not None
            if fortran and runner.fortran is None:
                print(f"{where(page, line)}: left out, there is no Fortran compiler")
                continue
            if not (named or has_main or "complete" in words):
                continue
            name = named.group(1) if named else f"{page.stem}-{line}"
            if only and only != name:
                continue
            at = where(page, line)
            launcher = ()
            if "mpi" in words:
                if not (runner.mpi_compiler and runner.mpi_launcher):
                    print(f"{at}: left out, there is no mpicc and mpirun")
                    continue
                launcher = (runner.mpi_launcher, "-n", "2")
            program = (runner.build_fortran(at, text, name) if fortran
                       else runner.build(at, text, name, standard))
            if program is None:
                continue
            # The same program in other languages may stand in between.
            others = [["fortran"]] if words[0] == "cpp" else [["cpp"], ["fortran"]]
            following = next((block for block in blocks[position + 1:] if block[0][:1] not in others), None)
            output = following[2] if following and following[0][:1] == ["output"] else None
            status = next((int(word[5:]) for word in words if word.startswith("exit=")), 0)
            modes = [word for word in words[1:] if word not in ("complete", "c++20", "mpi") and not word.startswith("exit=")]
            for mode in modes or MODES + ["absent"] * ("<norn_dl.h>" in text):
                runner.run(at, program, mode, status, output, launcher)


def variables_of_source():
    text = (ROOT / "src/run/environment.rs").read_text(encoding="utf-8")
    table = text[text.index("const VARIABLES"):]
    table = table[:table.index("\n];")]
    string = r'"((?:[^"\\]|\\.)*)"'
    return re.findall(rf"name: {string},\s*values: {string},\s*what: {string},", table)


def installation_names():
    """Variables about an installation, which norn ignores."""
    text = (ROOT / "src/run/environment.rs").read_text(encoding="utf-8")
    start = text.index("const INSTALLATION")
    return set(re.findall(r'"(NORN_\w+)"', text[start:text.index("];", start)]))


def check_variables(readme):
    wanted = variables_of_source()
    check(wanted, "src/run/environment.rs: found no table of variables")
    shown, inside = [], False
    for line in prose(readme):
        if line.startswith("#"):
            inside = line.strip("# ") == VARIABLES_HEADING
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if inside and len(cells) == 3 and re.fullmatch(r"`NORN_[A-Z_]+`", cells[0]):
            shown.append((cells[0].strip("`"), cells[1], cells[2]))
    check(shown, f"README.md: no table of variables below the heading \"{VARIABLES_HEADING}\"")
    names = [name for name, _, _ in shown]
    for name, values, what in wanted:
        row = next((row for row in shown if row[0] == name), None)
        check(row is not None, f"README.md: the table of variables lacks {name}")
        if row:
            check(row[1:] == (values, what), f"README.md: {name} is shown as {row[1:]}, "
                                             f"src/run/environment.rs says {(values, what)}")
    for name in names:
        check(any(name == row[0] for row in wanted), f"README.md: {name} is no variable of src/run/environment.rs")
    check(names == [row[0] for row in wanted if row[0] in names],
          "README.md: the variables stand in another order than in src/run/environment.rs")


def check_shown_programs():
    done = subprocess.run([sys.executable, ROOT / "tools/readme_programs.py", "--check"], capture_output=True, text=True)
    check(done.returncode == 0, done.stderr.strip())
    shown = [text for words, _, text in fences(ROOT / "docs/optional.md") if words[:1] == ["c"]]
    check((ROOT / "examples-c/optional.c").read_text(encoding="utf-8") in shown,
          "docs/optional.md: its program is not examples-c/optional.c, byte for byte")
    shown = [text for words, _, text in fences(ROOT / "docs/cpp.md") if words[:1] == ["cpp"]]
    check(shown[:1] == [(ROOT / "examples-c/cpp/hello.cpp").read_text(encoding="utf-8")],
          "docs/cpp.md: its first program is not examples-c/cpp/hello.cpp, byte for byte")


def check_fortran_page(page):
    shown = [text for words, _, text in fences(page) if words[:1] == ["fortran"]]
    hello = (ROOT / "examples-fortran/hello.f90").read_text(encoding="utf-8")
    check(shown[:1] == [hello], f"{where(page)}: its first program is not examples-fortran/hello.f90, byte for byte")
    check(len(hello.splitlines()) <= 25, "examples-fortran/hello.f90: more than 25 lines")
    before, after = ((ROOT / f"examples-fortran/{name}.f90").read_text(encoding="utf-8").splitlines()
                     for name in ("heat2d_before", "heat2d"))
    changes = [line for line in difflib.unified_diff(before, after, n=0, lineterm="")
               if not re.match(r"---|\+\+\+|@@|[-+]!", line)]
    diff = [text.splitlines() for words, _, text in fences(page) if words[:1] == ["diff"]]
    check(diff == [changes], f"{where(page)}: the diff is not that of heat2d_before.f90 and heat2d.f90:\n" + "\n".join(changes))


def check_build_lines(page, example, compiler, runner):
    """The CMake project and the pkg-config line, as a reader would copy them."""
    example = ROOT / example
    folder = runner.folder / f"{example.name}.build"
    folder.mkdir()
    shutil.copy(example, folder)
    project = next((text for words, _, text in fences(page) if words[:1] == ["cmake"]), None)
    line = next((line.strip() for line in page.read_text(encoding="utf-8").splitlines()
                 if line.startswith(f"    {compiler} ")), None)
    check(project is not None, f"{where(page)}: no ```cmake block")
    check(line is not None, f"{where(page)}: no line that begins with {compiler}")

    def build_and_run(what, command, program):
        environment = runner.environment("plain")
        environment["PKG_CONFIG_PATH"] = str(runner.pc.parent)
        built = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder, env=environment)
        check(built.returncode == 0, f"{where(page)}: {what} does not build:\n{built.stdout}{built.stderr}")
        if built.returncode == 0:
            runner.run(f"{where(page)}: {what}", folder / program, "plain", 0, None)

    if project and shutil.which("cmake"):
        (folder / "CMakeLists.txt").write_text(project, encoding="utf-8")
        build_and_run("the CMake project", f"cmake -S . -B build -DCMAKE_PREFIX_PATH={shlex.quote(str(runner.prefix))}"
                      " && cmake --build build", f"build/{example.stem}")
    if line and shutil.which("pkg-config") and shutil.which(compiler):
        build_and_run("the pkg-config line", line, example.stem)


def anchor(title):
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").strip().lower())
    return kept.replace(" ", "-")


def check_links(pages):
    for page in pages:
        for number, line in enumerate(prose(page), 1):
            for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, wanted = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                check(file.exists(), f"{where(page, number)}: {target} leads nowhere")
                if wanted and file.suffix == ".md" and file.exists():
                    titles = [anchor(text.lstrip("#")) for text in prose(file) if text.startswith("#")]
                    check(wanted in titles, f"{where(page, number)}: {target}: there is no such heading")


def check_names(pages, prefix):
    header = next(iter(sorted(prefix.glob("**/norn.h"))), ROOT / "include/norn.h").read_text(encoding="utf-8")
    dl_header = (ROOT / "include/norn_dl.h").read_text(encoding="utf-8")
    cuda_header = (ROOT / "include/norn_cuda.h").read_text(encoding="utf-8")
    known = set(re.findall(r"\b(?:norn|NORN)_\w+", header + dl_header + cuda_header)) | {row[0] for row in variables_of_source()}
    known |= installation_names() | OTHER_NAMES
    for source in sorted((ROOT / "bindings/fortran").glob("*.f90")):
        known |= set(re.findall(r"\b(?:norn|NORN)_\w+", source.read_text(encoding="utf-8")))
    everything = ""
    for page in pages:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            everything += line + "\n"
            # A name that ends in _ or * stands for a family.
            for name in re.findall(r"(?<![\w./-])(?:norn|NORN)_\w+(?!\w|\*|\.(?:h|hpp|dir)\b)", line):
                family = name.endswith("_")
                holds = any(one.startswith(name) for one in known) if family else name in known
                check(holds, f"{where(page, number)}: {name} exists neither in norn.h nor as a variable")
    functions = re.findall(r"^(?:norn_status|int32_t|const char \*|static inline \w+) ?\*?(norn_\w+)\(", header, re.M)
    functions = [name for name in functions if not name.endswith("_init_")]
    check(len(functions) > 40, "norn.h: found hardly any function")
    for name in functions:
        check(re.search(rf"\b{name}\b", everything), f"no page mentions {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=Path, help="where norn is installed")
    parser.add_argument("--cc", action="append", help="C compiler; may be given twice (default: gcc)")
    parser.add_argument("--fc", default="gfortran", help="Fortran compiler (default: gfortran)")
    parser.add_argument("--only", help="run this program only, and nothing else")
    options = parser.parse_args()
    prefix = options.prefix.resolve()
    readme = ROOT / "README.md"
    pages = [readme, *sorted((ROOT / "docs").glob("*.md"))]
    if not readme.exists() or not prefix.is_dir():
        print(f"check_docs: {readme if not readme.exists() else prefix} is missing", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="norn-docs-") as folder:
        runner = Runner(prefix, options.cc or ["gcc"], options.fc, Path(folder))
        check_programs(pages, runner, options.only)
        if not options.only:
            check_build_lines(readme, "examples-c/hello.c", "cc", runner)
            check_build_lines(ROOT / "docs/cpp.md", "examples-c/cpp/hello.cpp", "c++", runner)
            if runner.fortran:
                check_build_lines(ROOT / "docs/fortran.md", "examples-fortran/hello.f90", "gfortran", runner)
    if not options.only:
        check_variables(readme)
        check_shown_programs()
        check_fortran_page(ROOT / "docs/fortran.md")
        check_links(pages)
        check_names(pages, prefix)
    print(f"docs: {checks - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
