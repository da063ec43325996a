# Fuzzing the parsers that read what a guest or a client says.

help_fuzz() {
  cat <<'TEXT'
usage: ./dev fuzz [NAME] [SECONDS]

Runs the fuzzer NAME, or each one in turn, for SECONDS (default 60) under asan. Seeds are the checked-in
corpora (corpus/NAME beside the code); what a run learns is kept in build/fuzz-corpus/NAME.
An input that breaks something is kept in build/fuzz-found/NAME, with the command that repeats it.
TEXT
}

verb_fuzz() {
  local name='' seconds=60 failed=0 programs=() program
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
  else
    name=${1:-}
    seconds=${2:-60}
  fi
  ensure_packages build test || return
  if [[ $name ]]; then
    build fuzz "$name" || return
    programs=("$name")
  else
    build fuzz fuzzers || return
    for program in "$ROOT"/build/fuzz/fuzz/*; do
      [[ -x $program ]] && programs+=("${program##*/}")
    done
  fi
  for program in "${programs[@]}"; do
    fuzz_one "$program" "$seconds" || failed=1
  done
  return "$failed"
}

fuzz_one() {
  local name=$1 seconds=$2 learned="$ROOT/build/fuzz-corpus/$1" found="$ROOT/build/fuzz-found/$1" seeds=() folder
  mkdir -p "$learned" "$found"
  while read -r folder; do
    seeds+=("$folder")
  done < <(find "$ROOT/src" "$ROOT/agent" "$ROOT/tests" -type d -path "*/corpus/$name" 2>/dev/null)
  if step "fuzz $name ${seconds}s" "$ROOT/build/fuzz/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/" "$learned" "${seeds[@]}"; then
    awk '/^stat::number_of_executed_units/ { runs = $2 } /^stat::average_exec_per_sec/ { rate = $2 }
        END { printf "          %d inputs, %d a second\n", runs, rate }' "$STEP_LOG" >&2
    return 0
  fi
  for folder in "$found"/*; do
    [[ -f $folder ]] && say "    repeat: build/fuzz/fuzz/$name ${folder#"$ROOT"/}"
  done
  return 1
}
