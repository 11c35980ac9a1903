#!/usr/bin/env python3
"""norn_c has every function and constant of norn.h, with the same number of arguments and the same values, and module
norn gives every function a Fortran form or says why not.

    covers_header.py DIRECTORIES SOURCES [SYMBOLS]      one of DIRECTORIES, separated by |, has norn.h
"""
import re
import sys
from pathlib import Path

header = next(path for path in (Path(one) / "norn.h" for one in sys.argv[1].split("|")) if path.exists())
header = header.read_text(encoding="utf-8")
sources = Path(sys.argv[2])
norn_c = (sources / "norn_c.f90").read_text(encoding="utf-8")
wrong = []

# Fortran knows no case: these would be the names of functions.
RENAMED = {f"NORN_{mode}": f"NORN_ACCESS_{mode}" for mode in ("READ", "WRITE", "READ_WRITE", "COMMUTE", "REDUCE")}
RENAMED |= {f"NORN_{flag}": f"NORN_CLOSE_{flag}" for flag in ("DRAIN", "CANCEL")}

code = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.S)
prototypes = {}
for name, arguments in re.findall(r"^(?:norn_status|int32_t|const char \*)\s*(norn_\w+)\(([^)]*)\);", code, re.M):
    prototypes[name] = 0 if arguments.strip() in ("", "void") else len(arguments.split(","))
functions = {}
for name, arguments, label in re.findall(r"function (norn_\w+)\(([^)]*)\) bind\(c, name=\"(\w+)\"\)", norn_c):
    functions[label] = len([one for one in arguments.split(",") if one.strip()])
    if name != label:
        wrong.append(f"norn_c: {name} is bound to {label}")
for name in sorted(prototypes.keys() | functions.keys()):
    if prototypes.get(name) != functions.get(name):
        wrong.append(f"{name}: norn.h has {prototypes.get(name)} arguments, norn_c {functions.get(name)}")
if len(prototypes) < 40:
    wrong.append("norn.h: found hardly any function")
if len(sys.argv) > 3:
    exported = {line.split()[0] for line in Path(sys.argv[3]).read_text(encoding="utf-8").splitlines() if line}
    if exported != set(functions):
        wrong.append(f"{sys.argv[3]} and norn_c differ: {sorted(exported ^ set(functions))}")

constants = dict(re.findall(r"^#define (NORN_[A-Z0-9_]+) \(?(-?\d+(?: << \d+)?)\)?$", header, re.M))
values = dict(re.findall(r"parameter :: (NORN_\w+) = (-?\d+)(?:_c_int64_t)?$", norn_c, re.M))
for name, value in constants.items():
    shift = re.fullmatch(r"(\d+) << (\d+)", value)
    number = int(shift.group(1)) << int(shift.group(2)) if shift else int(value)
    ours = values.pop(RENAMED.get(name, name), None)
    if ours is None or int(ours) != number:
        wrong.append(f"{name} is {number} in norn.h and {ours} in norn_c")
for name in values:
    wrong.append(f"norn_c has {name}, norn.h has not")

callbacks = set(re.findall(r"typedef [^;]*\(\*(norn_\w+)\)\(", code))
interfaces = set(re.findall(r"(?:function|subroutine) (norn_\w+_fn)\(", norn_c))
for name in callbacks - interfaces:
    wrong.append(f"{name} has no interface in norn_c")

# The Fortran forms: generic names or module procedures of the other files.
public = ""
for path in sources.glob("*.f90"):
    if path.name != "norn_c.f90":
        public += path.read_text(encoding="utf-8")
forms = set(re.findall(r"^  interface (norn_\w+)", public, re.M)) | set(re.findall(r"^  subroutine (norn_\w+)\(", public, re.M))
forms |= {"norn_open_version"} if "norn_open" in forms else set()
inlines = set(re.findall(r"^static inline \w+ \*?(norn_\w+)\(", header, re.M))
# norn_place(kind, index) is the structure constructor; norn_access is one too.
inlines -= {"norn_place_of", "norn_access_of"} | {name for name in inlines if name.endswith("_init_")}
for name in sorted((set(prototypes) | inlines) - forms):
    wrong.append(f"{name} has no Fortran form")

for line in wrong:
    print(line, file=sys.stderr)
print(f"{len(functions)} functions, {len(constants)} constants, {len(interfaces)} callbacks")
sys.exit(1 if wrong else 0)
