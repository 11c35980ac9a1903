#!/bin/sh
# Installs the peers and what the report needs: on Debian and its children as root with apt-get;
# otherwise it names what is missing. Nothing here is needed to go on: a peer that is not there is left out.
set -eu
packages="g++ clang libomp-dev libtbb-dev libstarpu-dev libopenblas-dev pkg-config python3 python3-matplotlib"

if ! command -v dpkg-query >/dev/null; then
    echo "bench: peers are taken from this system as they are (Debian's names: $packages)" >&2
    exit 0
fi
missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "bench: left out without these. As root: apt-get install -y --no-install-recommends$missing" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of names
apt-get install -y -qq --no-install-recommends $missing
