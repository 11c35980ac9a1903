#!/usr/bin/env python3
"""Runs the programs of examples-c and checks what they print, answer and refuse.

    check_examples.py --programs DIR [--library FILE] [--mpirun FILE] CASE...      (all cases, if none is named)

Needs nothing but Python 3.9 or later. Exit status: 0 good, 1 bad, 77 skipped. The cases `real` and `ranks-real` read well1850.mtx and
well1850_rhs1.mtx from the folder in NORN_TEST_DATA, or from ../shared/data beside the source tree.
"""

import argparse
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

SKIPPED = 77
SOURCE_TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Bench:
    """Runs programs in a scratch folder, where the test inputs are."""

    def __init__(self, programs, library, mpirun, folder):
        self.programs = os.path.abspath(programs)
        self.library = library
        self.mpirun = mpirun
        self.folder = folder

    def run(self, program, *arguments, **more):
        command = [os.path.join(self.programs, program), *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=240,
                              check=False, **more)

    def good(self, program, *arguments):
        """Must succeed without a word on standard error; gives standard output."""
        result = self.run(program, *arguments)
        if result.returncode != 0 or result.stderr:
            raise Failure(f"{result.args}: exit {result.returncode}, standard error {result.stderr.decode(errors='replace')}")
        return result.stdout.decode()

    def bad(self, program, *arguments, status=1):
        """Must fail with exactly one line on standard error and nothing elsewhere; gives the line."""
        result = self.run(program, *arguments)
        text = result.stderr.decode(errors="replace")
        if result.returncode != status:
            raise Failure(f"{result.args}: exit {result.returncode} instead of {status}, standard error {text!r}")
        if text.count("\n") != 1 or not text.endswith("\n"):
            raise Failure(f"{result.args}: not one line on standard error: {text!r}")
        if result.stdout:
            raise Failure(f"{result.args}: failed, yet wrote {result.stdout.decode(errors='replace')!r}")
        return text[:-1]

    def ranks(self, count, program, *arguments, **environment):
        """Runs it on so many ranks; gives exit status, standard output, and what norn and the program said on standard
        error. Launchers and MPIs say things of their own there."""
        if not self.mpirun:
            raise Skip("--mpirun is not given: the examples were built without MPI")
        command = [self.mpirun, "-n", str(count), os.path.join(self.programs, program), *map(str, arguments)]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}) as process:
            try:
                out, err = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.terminate()  # the launcher ends its ranks; killed, it would leave them
                raise
        said = [line for line in err.decode(errors="replace").splitlines()
                if re.search(r"\bnorn\b|^cholesky: |^heat2d: ", line)]
        return process.returncode, out.decode(errors="replace"), said

    def good_ranks(self, count, program, *arguments, **environment):
        status, out, said = self.ranks(count, program, *arguments, **environment)
        if status != 0 or said:
            raise Failure(f"{program} {arguments} on {count} ranks, {environment}: exit {status}, said {said}:\n{out}")
        return out

    def bad_ranks(self, count, program, *arguments, **environment):
        """Must end everywhere, with one line; gives it."""
        status, out, said = self.ranks(count, program, *arguments, **environment)
        if status == 0 or len(said) != 1 or re.search("^matrix  | steps in ", out, re.MULTILINE):
            raise Failure(f"{program} {arguments} on {count} ranks: exit {status}, said {said}:\n{out}")
        return said[0]

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return name

    def read_vector(self, name):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            lines = file.read().splitlines()
        assert_equal(lines[0], "%%MatrixMarket matrix array real general", "header of the answer")
        assert_equal(lines[1], f"{len(lines) - 2} 1", "size of the answer")
        return [float(line) for line in lines[2:]]


def assert_equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: {got!r} instead of {wanted!r}")


def number_after(label, text):
    found = re.search(re.escape(label) + r"\s*([-+.\deE]+|nan|inf)", text)
    if found is None:
        raise Failure(f"no {label!r} in:\n{text}")
    return float(found.group(1))


def dgels_difference(text):
    return number_after("dgels       relative difference", text)


def known_difference(text):
    return number_after("known       relative difference", text)


def assert_close(got, wanted, tolerance, what):
    """Relative difference of two vectors, in the largest component."""
    scale = max(abs(float(value)) for value in wanted) or 1.0
    assert_equal(len(got), len(wanted), f"{what}: length")
    worst = max(abs(g - float(w)) for g, w in zip(got, wanted)) / scale
    if not worst <= tolerance:
        raise Failure(f"{what}: differs by {worst:.2e}, allowed is {tolerance:.0e}")


# Exact answers to small problems, and files that hold them.

def solve_exactly(matrix, rhs):
    """Gauss-Jordan elimination in fractions; a positive definite matrix needs no pivoting."""
    rows = [[Fraction(value) for value in row] + [Fraction(value)] for row, value in zip(matrix, rhs)]
    for k, pivot_row in enumerate(rows):
        pivot = pivot_row[k]
        rows[k] = pivot_row = [value / pivot for value in pivot_row]
        for i, row in enumerate(rows):
            if i != k and row[k] != 0:
                rows[i] = [value - row[k] * p for value, p in zip(row, pivot_row)]
    return [row[-1] for row in rows]


def least_squares_exactly(matrix, rhs):
    columns = list(zip(*matrix))
    normal = [[sum(x * y for x, y in zip(a, b)) for b in columns] for a in columns]
    return solve_exactly(normal, [sum(x * y for x, y in zip(a, rhs)) for a in columns])


def random_matrix(generator, rows, cols):
    return [[generator.randint(-9, 9) for _ in range(cols)] for _ in range(rows)]


def random_definite(generator, n):
    factor = random_matrix(generator, n, n)
    return [[sum(x * y for x, y in zip(a, b)) + (50 if i == j else 0) for j, b in enumerate(factor)]
            for i, a in enumerate(factor)]


def coordinate(matrix, field="real", symmetric=False):
    entries = [(i + 1, j + 1, value) for i, row in enumerate(matrix) for j, value in enumerate(row)
               if value != 0 and (not symmetric or i >= j)]
    lines = [f"%%MatrixMarket matrix coordinate {field} {'symmetric' if symmetric else 'general'}",
             "% made by a test", "", f"{len(matrix)} {len(matrix[0])} {len(entries)}"]
    random.Random(len(entries)).shuffle(entries)
    lines += [f"{i} {j}" if field == "pattern" else f" {i}\t{j}  {value}" for i, j, value in entries]
    return "\n".join(lines) + "\n"


def array(matrix, field="real", symmetric=False):
    lines = [f"%%MatrixMarket matrix array {field} {'symmetric' if symmetric else 'general'}",
             f"{len(matrix)} {len(matrix[0])}"]
    for j in range(len(matrix[0])):
        lines += [f"{matrix[i][j]}" for i in range(j if symmetric else 0, len(matrix))]
    return "\n".join(lines) + "\n"


def vector(values, form=array, field="real"):
    return form([[value] for value in values], field)


# The cases.

def check_hello(bench):
    assert_equal(bench.good("hello"), "sum 999000\n", "hello")


def check_optional(bench):
    """With the library and without it: the same answer."""
    if not bench.library:
        raise Skip("--library is not given")
    kept = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for path, word in ((bench.library, ""), ("/nowhere/libnorn.so.0", "without norn: /nowhere/libnorn.so.0: ")):
        result = bench.run("optional", env={**kept, "NORN_LIBRARY": path})
        assert_equal((result.returncode, result.stdout), (0, b"sum 3996000\n"), f"optional with {path}")
        said = result.stderr.decode()
        if not said.startswith(word) or bool(said) != bool(word):
            raise Failure(f"optional with {path}: says {said!r}")


def check_quickstart(bench):
    assert_equal(bench.good("quickstart"), "6 x 7 = 42\n", "quickstart")


def check_backwards(bench):
    for steps in ([], [1], [2], [100000]):
        text = bench.good("backwards", *steps)
        assert_equal(number_after("steps", text), (steps or [1000])[0], "steps")
        if not number_after("relative difference", text) <= 1e-12:
            raise Failure(text)
    assert_close([number_after("backward", bench.good("backwards", 1))], [1.7316888688738209], 1e-14, "one step")
    for steps in ("0", "-3", "ten", "10x", "", "99999999999999999999"):
        bench.bad("backwards", steps, status=2)


def check_options(bench):
    text = bench.good("cholesky", "--help")
    for option in ("--matrix", "--rhs", "--tile", "--workers", "--size", "--repeat", "--output", "--mpi", "--device", "--alone", "--check",
                   "--help"):
        if option not in text:
            raise Failure(f"--help does not mention {option}")
    refused = [["--tile", "0"], ["--tile", "12x"], ["--tile", ""], ["--tile", "99999999999999999999"], ["--tile"],
               ["--workers", "-1"], ["--size", "0"], ["--repeat", "0"], ["--rhs", "b.mtx"], ["--bogus", "1"], ["stray"],
               ["--matrix", "a.mtx", "--size", "5"]]
    for arguments in refused:
        line = bench.bad("cholesky", *arguments, status=2)
        if arguments[0] not in line:
            raise Failure(f"{arguments}: {line!r} does not name the option")
    if "too large" not in bench.bad("cholesky", "--size", 1 << 20):
        raise Failure("a matrix that no memory holds is not called too large")
    if "larger tiles" not in bench.bad("cholesky", "--size", 2000, "--tile", 1):
        raise Failure("tiles that make too many tasks are not refused")
    if "no/such/folder/x.mtx: cannot create" not in bench.bad("cholesky", "--size", 10, "--output", "no/such/folder/x.mtx"):
        raise Failure("an answer that cannot be written is not refused")


def check_builtin(bench):
    for arguments in ([], ["--size", 1], ["--size", 130, "--tile", 16], ["--size", 129], ["--size", 300, "--tile", 1000],
                      ["--size", 257, "--tile", 64, "--workers", 0], ["--size", 257, "--tile", 64, "--workers", 1],
                      ["--size", 257, "--tile", 32, "--workers", 8], ["--size", 30, "--tile", 1]):
        text = bench.good("cholesky", "--check", "--repeat", 2, *arguments)
        assert_equal(known_difference(text), 0.0, f"error with {arguments}")
    # 4 x 4 tiles: 4 potrf, 6 trsm, 6 syrk, 4 gemm; 4 + 6 to substitute, forward and backward.
    if " 40 tasks," not in bench.good("cholesky", "--size", 128, "--tile", 32):
        raise Failure("a matrix of 4 x 4 tiles does not take 40 tasks")


def check_device(bench):
    """On whatever device there is; without one, or without its libraries, it says so and the host does all."""
    for arguments in (["--size", 300, "--tile", 64], ["--size", 300, "--tile", 64, "--workers", 0], ["--size", 1]):
        text = bench.good("cholesky", "--device", "--check", "--repeat", 2, *arguments)
        assert_equal(known_difference(text), 0.0, f"error with {arguments}")
        if "\ndevice      " not in text:
            raise Failure(f"the report says nothing of the device: {text}")
    text = bench.good("cholesky", "--device", "--alone", "--check", "--size", 200)
    if "sequence" in text or "answers" in text:
        raise Failure("--alone runs the plain loop all the same")


def check_device_used(bench):
    """Where there is a device with both libraries, it factorises."""
    for arguments in (["--size", 300, "--tile", 64], ["--size", 64, "--tile", 64, "--workers", 0], ["--size", 1]):
        text = bench.good("cholesky", "--device", "--check", "--repeat", 2, *arguments)
        assert_equal(known_difference(text), 0.0, f"error with {arguments}")
        if "\ndevice      none" in text:
            raise Skip("there is no device with cuBLAS and cuSOLVER")
        if ": factor in " not in text:
            raise Failure(f"{arguments}: no device has factorised: {text}")
    bad = [[4 if row == column else 1 for column in range(40)] for row in range(40)]
    bad[30][30] = -1
    bench.write("a.mtx", array(bad))
    if "is not positive definite" not in bench.bad("cholesky", "--device", "--matrix", "a.mtx", "--tile", 8):
        raise Failure("a bad pivot on the device is not told")


def check_ranks_device(bench):
    """As on one process; tiles of the factor go from device to device. With several workers a declaring thread, those that
    search and who waits all want to make the passes over devices and messages: several times, since that is a race."""
    crowded = (2, ["--size", 1024, "--tile", 64, "--workers", 4])
    for count, arguments in ((2, ["--size", 300, "--tile", 64]), (3, ["--size", 130, "--tile", 16]), (2, ["--size", 1]), *[crowded] * 3):
        text = bench.good_ranks(count, "cholesky", "--device", "--check", "--repeat", 2, *arguments)
        assert_equal(known_difference(text), 0.0, f"error with {arguments} on {count} ranks")
        if "\ndevice      none" in text:
            raise Skip("there is no device with cuBLAS and cuSOLVER")
        if "of rank 0: the factor, and its messages" not in text:
            raise Failure(f"{arguments} on {count} ranks: no device has factorised: {text}")
    text = bench.good_ranks(2, "cholesky", "--device", "--alone", "--check", "--size", 200, "--tile", 64)
    if "sequence" in text or "answers" in text:
        raise Failure("--alone runs the plain loop all the same")


def check_formats(bench):
    generator = random.Random(1)
    for n in (1, 2, 7, 23):
        matrix, rhs = random_definite(generator, n), [generator.randint(-99, 99) for _ in range(n)]
        wanted = solve_exactly(matrix, rhs)
        files = {
            "array": array(matrix), "array of integers": array(matrix, "integer"), "symmetric array": array(matrix, symmetric=True),
            "coordinate": coordinate(matrix), "integers": coordinate(matrix, "integer"),
            "symmetric": coordinate(matrix, symmetric=True), "symmetric integers": coordinate(matrix, "INTEGER", True),
            "carriage returns": array(matrix).replace("\n", "\r\n"),
            "no last newline": coordinate(matrix).rstrip("\n"),
            "comments and blank lines": array(matrix).replace("\n", "\n% a comment\n  \n"),
        }
        for name, text in files.items():
            for form in (array, coordinate):
                bench.write("a.mtx", text)
                bench.write("b.mtx", vector(rhs, form))
                bench.good("cholesky", "--matrix", "a.mtx", "--rhs", "b.mtx", "--tile", 4, "--output", "x.mtx", "--check")
                assert_close(bench.read_vector("x.mtx"), wanted, 1e-12, f"{name}, order {n}")

    # A pattern matrix that is positive definite can only be the unit matrix.
    bench.write("a.mtx", coordinate([[int(i == j) for j in range(9)] for i in range(9)], "pattern", True))
    bench.write("b.mtx", vector([0.5 * i for i in range(9)]))
    bench.good("cholesky", "--matrix", "a.mtx", "--rhs", "b.mtx", "--tile", 2, "--output", "x.mtx", "--check")
    assert_equal(bench.read_vector("x.mtx"), [0.5 * i for i in range(9)], "unit matrix")


def check_least_squares(bench):
    generator = random.Random(2)
    for rows, cols in ((2, 1), (9, 8), (40, 13), (33, 32)):
        matrix, rhs = random_matrix(generator, rows, cols), [generator.randint(-99, 99) for _ in range(rows)]
        wanted = least_squares_exactly(matrix, rhs)
        bench.write("b.mtx", vector(rhs))
        for form, tile in ((array, 5), (coordinate, 8), (coordinate, 100)):
            bench.write("a.mtx", form(matrix))
            text = bench.good("cholesky", "--matrix", "a.mtx", "--rhs", "b.mtx", "--tile", tile, "--output", "x.mtx", "--check")
            assert_close(bench.read_vector("x.mtx"), wanted, 1e-10, f"{rows} x {cols}, tiles of {tile}")
            if not dgels_difference(text) <= 1e-9:
                raise Failure(text)
    # Without a right-hand side the answer is the vector of ones.
    if not known_difference(bench.good("cholesky", "--matrix", "a.mtx", "--tile", 10)) <= 1e-10:
        raise Failure("the answer is not the vector of ones")


HEADER = "%%MatrixMarket matrix coordinate real general\n"
ARRAY = "%%MatrixMarket matrix array real general\n"
SYMMETRIC = "%%MatrixMarket matrix coordinate real symmetric\n"

# What is in the file, the line that must be named, and a piece of the message.
MALFORMED = [
    ("", 1, "empty"),
    ("hello\n", 1, "not a Matrix Market file"),
    (b"\x7fELF\x00\x01\n", 1, "zero byte"),
    ("%%MatrixMarket matrix coordinate real\n", 1, "header"),
    ("%%MatrixMarket matrix coordinate real general more\n", 1, "header"),
    ("%%MatrixMarket vector coordinate real general\n", 1, "header"),
    ("%%MatrixMarket matrix table real general\n", 1, "'table'"),
    ("%%MatrixMarket matrix coordinate complex general\n", 1, "'complex'"),
    ("%%MatrixMarket matrix array pattern general\n", 1, "'pattern'"),
    ("%%MatrixMarket matrix array real hermitian\n", 1, "'hermitian'"),
    (HEADER, 1, "ends before the size"),
    (HEADER + "% only a comment\n", 2, "ends before the size"),
    (HEADER + "2 2\n", 2, "3 numbers"),
    (HEADER + "2 2 1 7\n", 2, "3 numbers"),
    (ARRAY + "2 2 4\n", 2, "2 numbers"),
    (HEADER + "2 two 1\n", 2, "'two'"),
    (HEADER + "2 2.0 1\n", 2, "'2.0'"),
    (HEADER + "0 2 1\n", 2, "rows"),
    (HEADER + "-2 2 1\n", 2, "rows"),
    (HEADER + "2 2 5\n", 2, "entries"),
    (HEADER + "2 2 -1\n", 2, "entries"),
    (SYMMETRIC + "2 2 4\n", 2, "entries"),
    (SYMMETRIC + "3 2 4\n", 2, "symmetric"),
    (HEADER + "1000000 1000000 1\n1 1 1\n", 2, "too large"),
    (HEADER + "99999999999999999999 1 1\n", 2, "rows"),
    (HEADER + "2 2 2\n1 1 1\n", 3, "after 1 of 2"),
    (HEADER + "2 2 2\n1 1 1\n2 2", 4, "3 numbers"),
    (HEADER + "2 2 2\n1 1 1\n\n% a comment\n2 2 1 9\n", 6, "3 numbers"),
    (HEADER + "2 2 1\n1 1 1\n2 2 1\n", 4, "more than the 1"),
    (HEADER + "2 2 1\n1 1 1\nthe end\n", 4, "more than the 1"),
    (HEADER + "2 2 1\n0 1 1\n", 3, "row"),
    (HEADER + "2 2 1\n1 3 1\n", 3, "column"),
    (HEADER + "2 2 1\n1 x 1\n", 3, "'x'"),
    (HEADER + "2 2 2\n1 1 1\n1 1 2\n", 4, "twice"),
    (SYMMETRIC + "2 2 1\n1 2 1\n", 3, "above the diagonal"),
    (HEADER + "2 2 1\n1 1 1.5e\n", 3, "'1.5e'"),
    (HEADER + "2 2 1\n1 1 1,5\n", 3, "'1,5'"),
    (HEADER + "2 2 1\n1 1 \x1b[31mred\n", 3, "'?[31mred'"),
    (HEADER + "2 2 1\n1 1 nan\n", 3, "not a finite"),
    (HEADER + "2 2 1\n1 1 -inf\n", 3, "not a finite"),
    (HEADER + "2 2 1\n1 1 1e999\n", 3, "not a finite"),
    ("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2.5\n", 3, "integer"),
    (HEADER + "1 1 1\n1 1 " + "9" * 5000 + "x\n", 3, "not a number"),
    (b"%%MatrixMarket matrix array real general\n1 1\n1\x002\n", 3, "zero byte"),
    (ARRAY + "2 2\n4\n1\n1\n", 5, "after 3 of 4"),
    (ARRAY + "2 2\n4 1\n1 4\n", 3, "line of its own"),
    (ARRAY + "1 1\n4\n4\n", 4, "more than the 1"),
    (ARRAY + "2 3\n1\n2\n3\n4\n5\n6\n", 2, "fewer rows than columns"),
    (ARRAY + "2 2\n4\n1\n2\n4\n", 2, "not symmetric"),
]


def check_refused(bench):
    bench.write("one.mtx", array([[4]]))
    for text, line, piece in MALFORMED:
        bench.write("bad.mtx", text)
        message = bench.bad("cholesky", "--matrix", "bad.mtx")
        if f"bad.mtx:{line}: " not in message or piece not in message or len(message) > 300:
            raise Failure(f"{text[:80]!r}: {message!r} is not about line {line} and {piece!r}")
        # The right-hand side is read by the same rules.
        if "fewer rows" not in piece and "not symmetric" not in piece:
            assert_equal(bench.bad("cholesky", "--matrix", "one.mtx", "--rhs", "bad.mtx"), message, "as right-hand side")

    bench.write("two.mtx", array([[4, 1], [1, 4]]))
    for rhs in (array([[1]]), array([[1], [2], [3]]), array([[1, 2]]), array([[1, 2], [3, 4]]), vector([1, 2, 3], coordinate)):
        bench.write("b.mtx", rhs)
        message = bench.bad("cholesky", "--matrix", "two.mtx", "--rhs", "b.mtx")
        if not re.search(r"b\.mtx:\d+: .* needs 2 x 1$", message):
            raise Failure(f"right-hand side of the wrong size: {message!r}")

    for name, piece in (("missing.mtx", "cannot open"), (".", "cannot read")):
        message = bench.bad("cholesky", "--matrix", name)
        if f"{name}: {piece}" not in message:
            raise Failure(f"{name}: {message!r}")


def check_not_definite(bench):
    # The unit matrix with one bad pivot, in each of the tiles.
    for bad in range(12):
        matrix = [[(-1 if i == bad else 1) if i == j else 0 for j in range(12)] for i in range(12)]
        bench.write("a.mtx", coordinate(matrix, symmetric=True))
        message = bench.bad("cholesky", "--matrix", "a.mtx", "--tile", 5)
        tile = bad // 5 + 1
        for piece in ("a.mtx: ", "potrf", f"tile ({tile}, {tile}) is not positive definite", f"row {bad + 1} "):
            if piece not in message:
                raise Failure(f"bad pivot {bad + 1}: no {piece!r} in {message!r}")

    for what, matrix in {"zero": [[0] * 4 for _ in range(4)], "overflow": [["1e200", 0], ["1e200", "1e200"], [1, 1]],
                         "equal columns": [[1, 1], [2, 2], [3, 3]]}.items():
        bench.write("a.mtx", array(matrix))
        if "is not positive definite" not in bench.bad("cholesky", "--matrix", "a.mtx", "--tile", 1):
            raise Failure(what)

    bench.write("a.mtx", array([["1e-300", 0], [0, 1]]))
    bench.write("b.mtx", vector(["1e300", 1]))
    if "a.mtx: the answer is not finite" not in bench.bad("cholesky", "--matrix", "a.mtx", "--rhs", "b.mtx"):
        raise Failure("an infinite answer is not refused")


def rank_table(text):
    """The rows of the table of who did what, as numbers, without the place of a rank."""
    rows = [re.sub(r"\(.*\)", "", line).split() for line in text.splitlines() if re.match(r" +\d+ +\(", line)]
    return [[float(value) for value in row] for row in rows]


def check_ranks(bench):
    """The built-in matrix: exact, and each rank's tiles of the factor as the loop makes them."""
    for count in (1, 2, 3, 4):
        for arguments in (["--size", 130, "--tile", 16], ["--size", 257, "--tile", 64, "--workers", count % 3],
                          ["--size", 9, "--tile", 10 - count]):
            text = bench.good_ranks(count, "cholesky", "--check", "--repeat", 2, *arguments)
            assert_equal(known_difference(text), 0.0, f"error with {arguments} on {count} ranks")
            assert_equal(text.count("equal in every bit"), 2, f"factor and answer on {count} ranks")
            assert_equal([int(row[0]) for row in rank_table(text)], list(range(count)), "ranks that did something")
    # 4 x 4 tiles on 2 x 2 ranks: 10 tiles of the factor, 40 tasks, and no rank without messages.
    table = rank_table(bench.good_ranks(4, "cholesky", "--size", 128, "--tile", 32))
    assert_equal((sum(row[1] for row in table), sum(row[2] for row in table)), (10, 40), "tiles and tasks of 4 x 4 tiles")
    if not all(row[4] > 0 and row[5] > 0 for row in table):
        raise Failure(f"a rank sent nothing: {table}")
    table = rank_table(bench.good_ranks(1, "cholesky", "--size", 128, "--tile", 32))
    assert_equal(table[0][4:6], [0, 0], "messages of a rank that is alone")


def check_ranks_tags(bench):
    """Fewer keys than tiles, and both ends of each message compared."""
    for environment in ({"NORN_TAG_LIMIT": "1"}, {"NORN_TAG_LIMIT": "7"}, {"NORN_MPI_VERIFY": "1"}):
        for rows, cols in ((96, 96), (150, 70)):
            generator = random.Random(rows)
            matrix = random_definite(generator, rows) if rows == cols else random_matrix(generator, rows, cols)
            bench.write("a.mtx", coordinate(matrix, symmetric=rows == cols))
            text = bench.good_ranks(4, "cholesky", "--matrix", "a.mtx", "--tile", 9, "--check", "--repeat", 1, **environment)
            assert_equal(text.count("equal in every bit"), 2, f"factor and answer with {environment}")


def check_ranks_modes(bench):
    for mode in ("sync", "shuffle:5", "default-stream"):
        text = bench.good_ranks(3, "cholesky", "--size", 130, "--tile", 16, "--check", NORN_MODE=mode)
        assert_equal(text.count("equal in every bit"), 2, f"factor and answer in mode {mode}")


def check_ranks_not_definite(bench):
    """A failure on one rank ends all of them, with one line."""
    for count, grid in ((1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2))):
        for bad in (0, 7, 11) if count == 4 else (7,):
            matrix = [[(-1 if i == bad else 1) if i == j else 0 for j in range(12)] for i in range(12)]
            bench.write("a.mtx", coordinate(matrix, symmetric=True))
            message = bench.bad_ranks(count, "cholesky", "--matrix", "a.mtx", "--tile", 5)
            tile = bad // 5
            owner = tile % grid[0] * grid[1] + tile % grid[1]
            for piece in ("cholesky: a.mtx: ", f"potrf failed on rank {owner}: ",
                          f"tile ({tile + 1}, {tile + 1}) is not positive definite", f"row {bad + 1} "):
                if piece not in message:
                    raise Failure(f"bad pivot {bad + 1} on {count} ranks: no {piece!r} in {message!r}")
    # A bad pivot that only the updates from other ranks make, and a matrix of dependent columns.
    bench.write("a.mtx", array([[1, 2], [2, 1]]))
    bench.write("b.mtx", array([[1, 1], [2, 2], [3, 3]]))
    for name in ("a.mtx", "b.mtx"):
        if "is not positive definite" not in bench.bad_ranks(4, "cholesky", "--matrix", name, "--tile", 1):
            raise Failure(name)


def check_ranks_refused(bench):
    for arguments, piece in ((["--bogus", 1], "'--bogus'"), (["--tile", 0], "--tile"),
                             (["--matrix", "no.mtx"], "no.mtx: cannot open"),
                             (["--size", 2000, "--tile", 1], "larger tiles"), (["--workers", -1], "--workers"),
                             (["--size", 1 << 20], "too large")):
        message = bench.bad_ranks(3, "cholesky", *arguments)
        if piece not in message:
            raise Failure(f"{arguments}: {message!r}")
    if "NORN_MODE" not in bench.bad_ranks(2, "cholesky", "--size", 9, NORN_MODE="bogus"):
        raise Failure("a runtime that cannot be opened is not refused")
    if "--mpi" not in bench.good_ranks(2, "cholesky", "--help"):
        raise Failure("--help on two ranks")


def check_ranks_absent(bench):
    """A build without MPI does not let every rank do the whole work."""
    for arguments, environment in ((["--mpi"], {}), ([], {"OMPI_COMM_WORLD_SIZE": "2"}), ([], {"PMI_RANK": "0"})):
        result = bench.run("cholesky", *arguments, env={**os.environ, **environment})
        if result.returncode != 2 or b"without MPI" not in result.stderr or result.stdout:
            raise Failure(f"{arguments} {environment}: {result}")


def check_heat2d(bench):
    for count, arguments in ((1, []), (2, ["--n", 50, "--bands", 1]), (3, ["--n", 31, "--bands", 40, "--workers", 0]),
                             (4, ["--n", 4, "--steps", 50]), (4, ["--n", 64, "--workers", 2, "--steps", 101])):
        text = bench.good_ranks(count, "heat2d", "--steps", 100, *arguments)
        if f" {count} ranks" not in text or "every bit as on one rank" not in text or "NOT" in text:
            raise Failure(f"{arguments} on {count} ranks: {text}")
    for arguments, piece in ((["--n", 2], "less than 3 ranks"), (["--n", "x"], "--n"), (["--steps"], "--steps")):
        if piece not in bench.bad_ranks(3, "heat2d", *arguments):
            raise Failure(f"{arguments} is not refused")


def check_ranks_real(bench):
    matrix, rhs = real_problem()
    bench.good("cholesky", "--matrix", matrix, "--rhs", rhs, "--tile", 96, "--output", "alone.mtx")
    alone = bench.read_vector("alone.mtx")
    for count in (1, 2, 3, 4):
        text = bench.good_ranks(count, "cholesky", "--matrix", matrix, "--rhs", rhs, "--tile", 96, "--check",
                                "--repeat", 1, "--output", "x.mtx")
        if "1850 x 712, least squares" not in text or not dgels_difference(text) <= 1e-9:
            raise Failure(text)
        assert_equal(text.count("equal in every bit"), 2, f"factor and answer on {count} ranks")
        assert_equal(bench.read_vector("x.mtx"), alone, f"answer on {count} ranks, and without MPI")


def check_terminal(bench):
    """The progress line, which only a terminal gets; one worker, so that the run takes its time."""
    mine, theirs = pty.openpty()
    command = [os.path.join(bench.programs, "cholesky"), "--size", "4096", "--workers", "1", "--repeat", "1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(mine, 4096):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        process.communicate(timeout=240)
    os.close(mine)
    assert_equal(process.returncode, 0, "exit status")
    if not re.search(rb"\r\d+ of 70\d\d tasks", shown) or not shown.endswith(b" \r"):
        raise Failure(f"no progress line, or it is not wiped out: {shown!r}")


def real_problem():
    folder = os.environ.get("NORN_TEST_DATA", os.path.join(os.path.dirname(SOURCE_TREE), "shared", "data"))
    matrix, rhs = (os.path.join(os.path.abspath(folder), name) for name in ("well1850.mtx", "well1850_rhs1.mtx"))
    if not os.path.exists(matrix) or not os.path.exists(rhs):
        raise Skip(f"{matrix} or its right-hand side is not there; set NORN_TEST_DATA")
    return matrix, rhs


def check_real(bench):
    matrix, rhs = real_problem()
    for arguments in ([], ["--tile", 96], ["--tile", 33, "--workers", 3], ["--tile", 712, "--workers", 1]):
        text = bench.good("cholesky", "--matrix", matrix, "--rhs", rhs, "--check", *arguments)
        if "1850 x 712, least squares" not in text or not dgels_difference(text) <= 1e-9:
            raise Failure(text)
        if "equal in every bit" not in text:
            raise Failure(text)

    with open(matrix, encoding="ascii") as file:
        lines = file.readlines()
    bench.write("cut.mtx", "".join(lines[:5000]))
    if "cut.mtx:5000: " not in bench.bad("cholesky", "--matrix", "cut.mtx", "--rhs", rhs):
        raise Failure("the truncated matrix is not refused at its last line")
    assert_equal(bench.bad("cholesky", "--matrix", rhs, "--rhs", matrix).split(": ")[-1],
                 "the right-hand side is 1850 x 712, but a matrix of 1850 x 1 needs 1850 x 1", "exchanged files")


CASES = {name.removeprefix("check_").replace("_", "-"): function
         for name, function in list(globals().items()) if name.startswith("check_")}


def run_case(name, programs, library, mpirun):
    with tempfile.TemporaryDirectory(prefix="norn-examples-") as folder:
        try:
            CASES[name](Bench(programs, library, mpirun, folder))
        except Skip as reason:
            print(f"{name}: SKIPPED: {reason}")
            return SKIPPED
        except (Failure, subprocess.TimeoutExpired, OSError) as reason:
            print(f"{name}: FAILED: {reason}")
            return 1
    print(f"{name}: good")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="folder of the built examples")
    parser.add_argument("--library", help="libnorn.so, for the example that loads it")
    parser.add_argument("--mpirun", help="starts ranks: the one in the build folder of the examples")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    results = [run_case(name, arguments.programs, arguments.library, arguments.mpirun) for name in arguments.cases or CASES]
    return 1 if 1 in results else SKIPPED if SKIPPED in results else 0


if __name__ == "__main__":
    sys.exit(main())
