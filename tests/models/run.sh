#!/usr/bin/env bash
# Runs the models (src/order/models, src/run/models.rs, src/run/whole.rs) with loom
# and with shuttle, then plants the defects of mutants.txt in the same code, one at a
# time, and requires that the model named there fails. Ends with
# "models: N passed, M failed".
#
#   NORN_MODEL_DEPTH=1 NORN_MODEL_SCHEDULES=100000 NORN_MODEL_SEED=7 tests/models/run.sh
#
# goes further: more preemptions (loom), more schedules from another seed (shuttle).
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
unset NORN_MUTANT
logs=target/models
mkdir -p "$logs"
passed=0
failed=0
declare -A program

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "models: $*"
}

# Builds the library's tests for a checker and says where they are.
build() {
    RUSTFLAGS="--cfg $1" \
        cargo test --manifest-path tests/models/Cargo.toml --lib --locked --no-run \
        --target-dir "target/$1" 2>&1 | tee "$logs/build-$1.log" >&2
    sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$logs/build-$1.log"
}

for checker in loom shuttle; do
    program[$checker]=$(build "$checker")
    [ -x "${program[$checker]}" ] || { bad "no tests for $checker"; continue; }
    log=$logs/$checker.log
    "${program[$checker]}" models:: whole:: --test-threads 2 >"$log" 2>&1
    good=$(grep -c '^test .*\.\.\. ok$' "$log")
    passed=$((passed + good))
    while read -r name; do bad "$checker: $name"; done < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")
    grep -q '^test result: ok' "$log" || bad "$checker: see $log"
    [ "$good" -gt 0 ] || bad "$checker ran no model"
done

# A defect is caught when its model fails: a model that is not there or hangs before it has found anything does not count.
while read -r mutant checker model; do
    case $mutant in '' | '#'*) continue ;; esac
    log=$logs/$mutant.log
    # More schedules than a sound model is given: a defect may need a rare one, and the first that fails ends it.
    NORN_MUTANT=$mutant NORN_MODEL_SCHEDULES=${NORN_MODEL_SCHEDULES:-30000} timeout 300 "${program[$checker]}" --exact "$model" >"$log" 2>&1
    status=$?
    if [ "$status" -ne 0 ] && grep -q '^running 1 test$' "$log" && { [ "$status" -ne 124 ] || grep -q 'panicked at' "$log"; }; then
        ok
    else
        bad "$mutant is not caught by $model ($checker, status $status): $(tail -n 3 "$log" | tr '\n' ' ')"
    fi
    grep -rqF "mutant!(\"$mutant\")" src || bad "$mutant is planted nowhere"
done <tests/models/mutants.txt
# Nor may one be planted and forgotten.
while read -r mutant; do
    grep -q "^$mutant " tests/models/mutants.txt tests/cuda/mutants.txt || bad "$mutant has no model or test in mutants.txt"
done < <(grep -rhoE 'mutant!\("[a-z_]+"\)' src --include='*.rs' | sed 's/.*"\(.*\)".*/\1/' | grep -vx name | sort -u)

echo "models: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
