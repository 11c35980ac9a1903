#!/bin/sh
# Writes NOTICE: the crates that are linked into libnorn, and their licences; the text of those that are not to be had
# under Apache-2.0. With --check: fails when the committed file differs, or a licence is neither Apache-2.0 nor ISC.
set -eu
cd "$(dirname "$0")/.."

# "NAME VERSION: LICENCE, ADDRESS", a line a crate.
crates() {
    # One target, so that crates for other systems are not listed; no procedural
    # macros, because they run in the compiler and are not linked.
    tree=$(cargo tree --locked --target x86_64-unknown-linux-gnu --edges normal,no-proc-macro --no-dedupe \
        --prefix none --format '{p}|{l}|{r}')
    printf '%s\n' "$tree" | sed -e '/^norn v/d' -e 's/ (\*)$//' \
        -e 's/^\([^ ]*\) v\([^ |]*\)[^|]*|\([^|]*\)|\(.*\)$/\1 \2: \3, \4/' | LC_ALL=C sort -u
}

# The licence file of a crate, from its own source.
licence_text() { # NAME VERSION
    cargo metadata --locked --format-version 1 | python3 -c '
import json, pathlib, sys
name, version = sys.argv[1:]
crate = next(p for p in json.load(sys.stdin)["packages"] if (p["name"], p["version"]) == (name, version))
print(next(pathlib.Path(crate["manifest_path"]).parent.glob("LICENSE*")).read_text().strip())
' "$1" "$2"
}

notice() {
    cat <<'TEXT'
norn
Copyright (c) the norn developers
Licensed under Apache-2.0 (LICENSE-APACHE) or MIT (LICENSE-MIT), at your option.

libnorn contains compiled code of the following, each used under the
Apache-2.0 licence (LICENSE-APACHE):

TEXT
    echo "Rust standard library: MIT OR Apache-2.0, https://github.com/rust-lang/rust"
    all=$(crates)
    printf '%s\n' "$all" | grep 'Apache-2\.0'
    others=$(printf '%s\n' "$all" | grep -v 'Apache-2\.0') || return 0
    printf '\nand of the following, each used under its own licence:\n'
    printf '%s\n' "$others" | while read -r name version rest; do
        version=${version%:}
        printf '\n%s %s: %s\n\n' "$name" "$version" "$rest"
        licence_text "$name" "$version" </dev/null
    done
}

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp)
    trap 'rm -f "$fresh"' EXIT
    notice >"$fresh"
    if ! diff -u NOTICE "$fresh"; then
        echo "notice: the dependencies have changed; run 'make notice'" >&2
        exit 1
    fi
    # Both may be linked into a library under Apache-2.0 or MIT; another licence is for a person to judge.
    if crates | grep -v -e 'Apache-2\.0' -e ': ISC,'; then
        echo "notice: the crates above are neither under Apache-2.0 nor under ISC" >&2
        exit 1
    fi
else
    notice >NOTICE
fi
