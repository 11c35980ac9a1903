#!/bin/sh
# Packs the built programs with the shared libraries they need into one folder that runs on another
# machine of this architecture with a C library no older than the one named at the end, and nothing else.
#
#   carry.sh BUILT FOLDER    BUILT: the folder build.sh wrote to; FOLDER is made anew
#
# There: OUT=results FOLDER/go.sh measures the table, Cholesky and METG with 1, 2, 4, 8 and 16
# workers in less than 8 minutes. raw.jsonl comes back, and report.py makes of it what it makes here.
set -eu
built=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
rm -rf "$2"
mkdir -p "$2/bin" "$2/lib"
folder=$(realpath "$2")

cp "$built"/bin/* "$folder/bin/"
rm -f "$folder"/bin/mpi_* # they need a launcher, and the MPI that is there
strip "$folder"/bin/*
# All but the C library itself, which must be the one that the other machine's kernel and loader go with.
ldd "$folder"/bin/* | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u |
    grep -v -E '/(libc|libm|libdl|librt|libpthread|libutil)\.so\.' |
    while read -r library; do cp -L "$library" "$folder/lib/$(basename "$library")"; done
strip --strip-unneeded "$folder"/lib/* 2>/dev/null || true
cp "$here/run.sh" "$here/report.py" "$built/versions.txt" "$folder/"

cat >"$folder/go.sh" <<'GO'
#!/bin/sh
# Measures on this machine; the results go to $OUT (default: results).
set -eu
cd "$(dirname "$0")"
out=${OUT:-results}
mkdir -p "$out"
LD_LIBRARY_PATH=$PWD/lib
STARPU_HOME=$(mktemp -d)
export LD_LIBRARY_PATH STARPU_HOME
unset DISPLAY || true
cpus=$(nproc 2>/dev/null || grep -c '^processor' /proc/cpuinfo)
workers=
for n in 1 2 4 8 16; do
    [ "$n" -gt "$cpus" ] || workers="$workers $n"
done
export WORKERS="${WORKERS:-$workers}" ROUNDS="${ROUNDS:-1}" REPEATS="${REPEATS:-5}" LIMIT="${LIMIT:-20}" BUDGET="${BUDGET:-440}"
# shellcheck disable=SC2086 # a list of stages
./run.sh bin "$out" ${STAGES:-table cholesky metg wake idle}
cp versions.txt "$out/"
rm -rf "$STARPU_HOME"
if command -v python3 >/dev/null; then
    env -u LD_LIBRARY_PATH python3 report.py "$out" >"$out/table.txt" && cat "$out/table.txt"
else
    echo "results in $out/raw.jsonl; report.py prints them"
fi
GO
chmod +x "$folder/go.sh"

kib=$(du -sk "$folder" | cut -f 1)
glibc=$(for file in "$folder"/bin/* "$folder"/lib/*; do objdump -T "$file"; done 2>/dev/null |
    grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1)
echo "$folder: $((kib / 1024)) MiB, needs ${glibc#GLIBC_} of the C library or newer"
[ "$kib" -lt 61440 ] || { echo "carry: more than 60 MiB" >&2 && exit 1; }
