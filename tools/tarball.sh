#!/bin/sh
# Writes norn-VERSION.tar.gz into the folder given: the committed and changed
# files of this checkout with every crate vendored, so that it builds offline
# and without any registry.
set -eu
out=$(cd "${1:?folder to write to}" && pwd)
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=norn-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/$name/.cargo"
git ls-files -z --cached --others --exclude-standard >"$work/files"
tar -c --null --ignore-failed-read -T "$work/files" | tar -x -C "$work/$name"
cargo vendor --locked --quiet --versioned-dirs "$work/$name/vendor"
cat >"$work/$name/.cargo/config.toml" <<'TOML'
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"
TOML
tar -c -C "$work" --sort=name --owner=0 --group=0 --numeric-owner "$name" | gzip -n >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"
