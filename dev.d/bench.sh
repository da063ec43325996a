# The benchmark: release products, the harness of bench/, raw numbers kept.

help_bench() {
  cat <<'TEXT'
usage: ./dev bench [ARGS…]

Builds the release products and the benchmark programs, then runs bench/run with these arguments
(`./dev bench -- --help` shows them). `./dev bench native` measures the native sandbox beside those of
other people, `--trace` shows where the time goes; `./dev bench drivers` measures every driver beside
the engine below it, `./dev bench neighbours` what a sandbox feels of bad neighbours, `./dev bench
routing` what the engine adds to a driver, pools and the queue among it, `./dev bench peers` the rest. Raw JSON
goes to build/bench/<time>/.
TEXT
}

verb_bench() {
  local out
  [[ ${1:-} != -- ]] || shift
  ensure_packages build bench && build release "${PRODUCTS[@]}" bench_programs || return
  if [[ ! -x $ROOT/bench/run ]]; then
    complain "bench/run is missing"
    return 1
  fi
  printf -v out '%s/build/bench/%(%Y%m%d-%H%M%S)T' "$ROOT" -1
  mkdir -p "$out"
  env ATOLL_BIN="$ROOT/build/release/bin/atoll" ATOLL_LIBEXEC="$ROOT/build/release/libexec/atoll" \
    ATOLL_BENCH_PROGRAMS="$ROOT/build/release/libexec/atoll-bench" ATOLL_BENCH_OUT="$out" \
    "$ROOT/bench/run" "$@"
  local status=$?
  say "raw results: ${out#"$ROOT"/}"
  return "$status"
}
