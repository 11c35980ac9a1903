#!/usr/bin/env python3
"""Writes the same small program in each language into README.md, from the files that `make check` compiles and runs.

    tools/readme_programs.py            writes it
    tools/readme_programs.py --check    fails when README.md shows something else

A language whose file is not in the tree is left out.
"""

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
README = TOP / "README.md"
PROGRAMS = [
    ("C", "c", "examples-c/hello.c"),
    ("C++", "cpp", "examples-c/cpp/hello.cpp"),
    ("Fortran", "fortran", "examples-fortran/hello.f90"),
]
BEGIN = "<!-- Written by tools/readme_programs.py from here -->\n"
END = "<!-- to here -->\n"


def table():
    present = [program for program in PROGRAMS if (TOP / program[2]).exists()]
    if len(present) == 1:
        return f"```{present[0][1]}\n{(TOP / present[0][2]).read_text(encoding='utf-8')}```\n"
    heads = "".join(f"<th>{title}</th>" for title, _, _ in present)
    cells = "".join(f"<td valign=\"top\">\n\n```{word}\n{(TOP / path).read_text(encoding='utf-8')}```\n\n</td>\n"
                    for _, word, path in present)
    return f"<table>\n<tr>{heads}</tr>\n<tr>\n{cells}</tr>\n</table>\n"


def main():
    old = README.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    new = before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
    if sys.argv[1:] == ["--check"]:
        if old != new:
            print("readme_programs: README.md does not show the programs as they are; run tools/readme_programs.py",
                  file=sys.stderr)
            return 1
    else:
        README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
