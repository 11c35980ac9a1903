#!/usr/bin/env python3
"""Writes the generated parts of include/norn_dl.h from include/norn.h.

    tools/dl_header.py            writes them
    tools/dl_header.py --check    fails when the committed file differs

Every exported function gets a slot in the table, a wrapper and a name. A function that does not return a status
needs an answer of its own, below, for the case that the library is not there; one without is an error here.
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
TARGET = TOP / "include/norn_dl.h"
LIMIT = 120

# Bodies of the wrappers that differ; `call` is the function of the library.
SPECIAL = {
    # The body still fails, with its own code; only the text is lost.
    "norn_self_fail": ["if (!norn_dl_find_(NORN_DL_norn_self_fail_, &call)) return code;",
                       "return call(self_, code, message);"],
    "norn_status_name": ["if (norn_dl_find_(NORN_DL_norn_status_name_, &call)) return call(status);",
                         "switch (status) {", "{statuses}", '    default: return "NORN_E_UNKNOWN";', "}"],
    "norn_last_error": ["if (NORN_DL_SAID_.text) return NORN_DL_SAID_.text;",
                        'return norn_dl_find_(NORN_DL_norn_last_error_, &call) ? call() : "";'],
    "norn_open_version": ["if (!norn_dl_find_(NORN_DL_norn_open_version_, &call)) "
                          'return NORN_DL_UNSUPPORTED_("norn_open");',
                          "return norn_dl_result_(call(norn_dl_header_version_(header_version), config, rt));"],
}
# Inline functions of norn.h that call exported ones; norn_dl.h has its own of them, written by hand.
INLINE = {"norn_open"}


class Stop(Exception):
    """norn.h has something that this script does not know how to pass on."""


def wrapper_name(function):
    return "norn_dl_" + function.removeprefix("norn_") + "_"


def prototypes():
    """(result, name, [parameter]) of each exported function, in the order of the header."""
    lines = subprocess.run([TOP / "tools/prototypes.sh"], capture_output=True, text=True, check=True).stdout
    found = []
    for line in lines.splitlines():
        match = re.fullmatch(r"(.*?)(\w+)\((.*)\);", line.strip())
        if not match:
            raise Stop(f"not understood: {line}")
        result, name, parameters = match.groups()
        parameters = [] if parameters == "void" else parameters.split(", ")
        if any("(" in parameter for parameter in parameters):
            raise Stop(f"{name}: a parameter that is a function needs a typedef")
        found.append((result, name, parameters))
    return found


def wrapped(text, indent):
    """Breaks a prototype or call at a comma where it is too long."""
    lines = [text]
    while len(lines[-1]) > LIMIT:
        cut = lines[-1].rfind(", ", 0, LIMIT) + 1
        lines[-1:] = [lines[-1][:cut], indent + lines[-1][cut:].lstrip()]
    return lines


def wrapper(result, name, parameters, statuses):
    arguments = ", ".join(re.search(r"(\w+)$", parameter).group(1) for parameter in parameters)
    if name in SPECIAL:
        body = []
        for line in SPECIAL[name]:
            body += [f"    {entry}" for entry in statuses] if line == "{statuses}" else [line]
    elif result.strip() == "norn_status":
        body = [f'if (!norn_dl_find_(NORN_DL_{name}_, &call)) return NORN_DL_UNSUPPORTED_("{name}");',
                f"return norn_dl_result_(call({arguments}));"]
    else:
        raise Stop(f"{name} returns {result.strip()}: say in SPECIAL what it answers without the library")
    return [*wrapped(f"NORN_DL_INLINE_ {result}{wrapper_name(name)}({', '.join(parameters) or 'void'}) {{", " " * 8),
            f"    __typeof__(&{name}) call;",
            *[f"    {line}" for line in body], "}"]


def check_inline(header, names):
    """An inline function of norn.h that calls an exported one would call past the table."""
    tail = header[header.rindex('}  // extern "C"'):]
    for name, body in re.findall(r"^static inline [\w *]*?(\w+)\([^)]*\) \{(.*?)\}$", tail, re.M | re.S):
        used = names & set(re.findall(r"\w+", body))
        if used and name not in INLINE:
            raise Stop(f"{name} of norn.h calls {', '.join(sorted(used))}: norn_dl.h needs one of its own (INLINE)")


def parts():
    header = (TOP / "include/norn.h").read_text(encoding="utf-8")
    functions = prototypes()
    names = [name for _, name, _ in functions]
    check_inline(header, set(names))
    statuses = [f'case {name}: return "{name}";' for name in re.findall(r"^#define (NORN_OK|NORN_E_\w+) ", header, re.M)]
    version = re.findall(r"^#define NORN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    soversion = re.search(r"^set\(NORN_SOVERSION (\d+)\)$", (TOP / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    suffix = "_".join([*version, str(len(names))])
    table = [f'#define NORN_DL_SONAME_ "libnorn.so.{soversion.group(1)}"',
             f"#define NORN_DL_TABLE_ norn_dl_table_{suffix}_",
             f"#define NORN_DL_SAID_ norn_dl_said_{suffix}_",
             f"#define NORN_DL_LOCK_ norn_dl_lock_{suffix}_",
             f"#define NORN_DL_NAMESPACE_ norn_dl_{suffix}_",
             "NORN_DL_BEGIN_",
             "enum {",
             *[f"    NORN_DL_{name}_," for name in names],
             "    NORN_DL_COUNT_",
             "};",
             "NORN_DL_INLINE_ const char *norn_dl_name_(int32_t function) {",
             "    static const char *const names[] = {",
             *[f'        "{name}",' for name in names],
             "    };",
             "    return names[function];",
             "}",
             "NORN_DL_END_"]
    calls = []
    for result, name, parameters in functions:
        calls += wrapper(result, name, parameters, statuses)
    renamed = [f"#define {name} {wrapper_name(name)}" for name in [*names, *sorted(INLINE)]]
    return {"the functions": table, "the calls": calls, "their names": renamed}


def main():
    old = TARGET.read_text(encoding="utf-8")
    new = old
    for title, lines in parts().items():
        begin = f"/* Generated from here (tools/dl_header.py): {title}. */\n"
        end = "/* Generated to here. */\n"
        start = new.index(begin) + len(begin)
        new = new[:start] + "\n".join(lines) + "\n" + new[new.index(end, start):]
    if sys.argv[1:] == ["--check"]:
        if old != new:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "include/norn_dl.h", "norn.h"))
            print("dl_header: include/norn_dl.h is not what include/norn.h says; run 'make header'", file=sys.stderr)
            return 1
    else:
        TARGET.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as reason:
        print(f"dl_header: {reason}", file=sys.stderr)
        sys.exit(1)
