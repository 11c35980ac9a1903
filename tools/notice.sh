#!/bin/sh
# Writes NOTICE: the crates that are linked into libnorn, and their licences.
# With --check: fails when the committed file differs.
set -eu
cd "$(dirname "$0")/.."

notice() {
    cat <<'TEXT'
norn
Copyright (c) the norn developers
Licensed under Apache-2.0 (LICENSE-APACHE) or MIT (LICENSE-MIT), at your option.

libnorn contains compiled code of the following, each used under the
Apache-2.0 licence (LICENSE-APACHE):

TEXT
    echo "Rust standard library: MIT OR Apache-2.0, https://github.com/rust-lang/rust"
    # One target, so that crates for other systems are not listed; no procedural
    # macros, because they run in the compiler and are not linked.
    tree=$(cargo tree --locked --target x86_64-unknown-linux-gnu --edges normal,no-proc-macro --no-dedupe \
        --prefix none --format '{p}|{l}|{r}')
    printf '%s\n' "$tree" | sed -e '/^norn v/d' -e 's/ (\*)$//' \
        -e 's/^\([^ ]*\) v\([^ |]*\)[^|]*|\([^|]*\)|\(.*\)$/\1 \2: \3, \4/' | LC_ALL=C sort -u
}

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp)
    trap 'rm -f "$fresh"' EXIT
    notice >"$fresh"
    if ! diff -u NOTICE "$fresh"; then
        echo "notice: the dependencies have changed; run 'make notice'" >&2
        exit 1
    fi
    # NOTICE says that every crate is used under Apache-2.0.
    if sed '1,/^libnorn contains/d' NOTICE | grep ': ' | grep -v 'Apache-2.0'; then
        echo "notice: the crates above are not available under Apache-2.0" >&2
        exit 1
    fi
else
    notice >NOTICE
fi
