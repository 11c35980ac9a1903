#!/bin/sh
# Prints the functions that include/norn.h declares, one prototype a line.
set -eu
sed -n '/^extern "C" {/,/^}/p' "$(dirname "$0")/../include/norn.h" |
    sed -e 's://.*::' -e '/^#/d' -e '/^extern/d' -e '/^}/d' |
    tr '\n' ' ' | sed -e 's/;/;\n/g' | sed -e 's/  */ /g' -e 's/^ //' -e '/^$/d'
