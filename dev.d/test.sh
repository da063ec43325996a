# Building and running the tests, and the one summary at the end.

help_test() {
  cat <<'TEXT'
usage: ./dev test [quick|full|soak [MINUTES]]

  quick    the house rules, unit tests and conformance of our own drivers in the dev build
  (none)   the release products; all tests, built with asan and ubsan, against them; ten thousand
           simulated lives of the engine; a smoke of the products in a QEMU guest with another kernel;
           clang-tidy, beside them
  full     also the long runs, ten thousand lives more from seeds of their own, all that is to be shown in guests, conformance of docker elsewhere and
           behind gVisor's kernel, a real OPA server as policy server where Go is new enough to build it, the attacks on podman, the unit tests under tsan, a minute of each
           fuzzer
  soak     the release products under mixed load for MINUTES (10 if none are given): no descriptor,
           process, mount, cgroup, file, row or memory may grow; samples are in build/soak

Every step is run even if an earlier one failed, unless it needs what that one should have built.
The last line says "N passed, N failed" in cases (", N skipped" if there are any). Under
ATOLL_MUST_RUN=1 a skipped case is a failed one. Logs are in build/log/test.
TEXT
}

# What only tests need: the attacks, a launcher whose layers can be switched off one by one, the libraries.
TEST_PRODUCTS=(atoll-attack atoll-launcher-weak libatoll atoll_client_archive)

PASSED=0 FAILED=0 SKIPPED=0
TABLE=()     # the steps, for the summary
FAILURES=()  # names of what failed
FIGURES=     # the file of what the tests have measured

verb_test() {
  local mode=${1:-default}
  case $mode in
    quick | default | full) ;;
    soak)
      export ATOLL_SOAK_MINUTES=${2:-10}
      if [[ ! $ATOLL_SOAK_MINUTES =~ ^[1-9][0-9]{0,4}$ ]]; then
        complain "'$ATOLL_SOAK_MINUTES' is no number of minutes"
        return 2
      fi
      ;;
    *)
      complain "no mode '$mode'"
      help_test >&2
      return 2
      ;;
  esac
  now_us
  local begin=$REPLY
  mkdir -p "$LOG_DIR"
  FIGURES="$LOG_DIR/figures.txt"
  : >"$FIGURES"
  ensure_packages build test lint || return
  [[ $mode == quick || $mode == soak ]] || ensure_packages vm package sdk || return
  export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
  "test_$mode"
  now_us
  summarise $((REPLY - begin))
}

test_quick() {
  house_rules dev
  if build_step dev "${PRODUCTS[@]}" "${TEST_PRODUCTS[@]}" tests_unit tests_conformance; then
    suite dev unit "$JOBS"
    # Without the engines of others, which take minutes.
    run_ctest "conformance (dev)" dev 1 -R '^conformance$'
  fi
}

test_default() {
  local label products=1
  house_rules asan
  build_step release "${PRODUCTS[@]}" "${TEST_PRODUCTS[@]}" atoll-simulation || products=
  sdk_tools  # without them the suite sdk fails, and says so
  if build_step asan tests; then
    start_tidy
    suite asan unit "$JOBS"
    for label in simulation conformance security faults api e2e sdk package vm; do
      if [[ $products ]]; then
        suite asan "$label" 1
      elif has_suite "$label"; then
        not_run "$label (asan)"
      fi
    done
  fi
  [[ $TIDY_PID ]] || start_tidy
  count_step "headers, clang-tidy" step "headers, clang-tidy" finish_tidy
}

test_full() {
  local label program
  test_default
  count_step "lives from other seeds" other_lives
  build_step release package
  for label in api_full conformance_full faults_full package_full security_full vm_full; do
    suite asan "$label" 1
  done
  real_policy_server
  if build_step tsan tests_unit; then
    suite tsan unit "$JOBS"
  fi
  if build_step fuzz fuzzers; then
    for program in "$ROOT"/build/fuzz/fuzz/*; do
      [[ -x $program ]] && count_step "fuzz ${program##*/}" fuzz_one "${program##*/}" 60
    done
  fi
}

# Where its program cannot be built the table says why.
real_policy_server() {
  local why
  why=$(opa_obstacle)
  if [[ $why ]]; then
    row "e2e_full (asan)" 0 "not run: $why"
  elif build_step_of OPA step "build OPA" install_opa; then
    suite asan e2e_full 1
  fi
}

# Every second has ten thousand seeds of its own, so that no run repeats another's.
other_lives() {
  local program="$ROOT/build/release/libexec/atoll-simulation/atoll-simulation" first
  printf -v first '%(%s)T' -1
  first=$((first * 10000))
  say "    again: ${program#"$ROOT"/} --first $first --seeds 10000 --jobs 2"
  step "lives from seed $first" "$program" --first "$first" --seeds 10000 --jobs 2 || return
  sed -n "s/^figure: /lives from seed $first: /p" "$STEP_LOG" >>"$FIGURES"
}

# What runs is Python against the products; the tree of the tests only knows how to call it.
test_soak() {
  configure asan || {
    FAILED=$((FAILED + 1))
    FAILURES+=("configure asan")
    row "configure asan" "$STEP_US" FAILED
    return
  }
  # Nothing else would notice that a list of tests has changed since.
  ninja -C "$ROOT/build/asan" build.ninja >/dev/null || return
  build_step release "${PRODUCTS[@]}" && suite asan faults_soak 1
}

# build_step PRESET TARGET…: a build counts only when it fails.
build_step() { build_step_of "$1" build "$@"; }

# build_step_of WHAT FUNCTION…
build_step_of() {
  local what=$1 begin
  shift
  now_us
  begin=$REPLY
  if "$@"; then
    now_us
    row "build $what" $((REPLY - begin)) ok
    return 0
  fi
  now_us
  row "build $what" $((REPLY - begin)) FAILED
  FAILED=$((FAILED + 1))
  FAILURES+=("build $what")
  return 1
}

# count_step TITLE FUNCTION…: a check without cases of its own counts as one.
count_step() {
  local title=$1 begin
  shift
  now_us
  begin=$REPLY
  if "$@"; then
    now_us
    row "$title" $((REPLY - begin)) ok
    PASSED=$((PASSED + 1))
  else
    now_us
    row "$title" $((REPLY - begin)) FAILED
    FAILED=$((FAILED + 1))
    FAILURES+=("$title")
  fi
}

# The checks that read the sources only: they come first, and need no build.
house_rules() {
  configure "$1" || {
    FAILED=$((FAILED + 1))
    FAILURES+=("configure $1")
    row "configure $1" "$STEP_US" FAILED
    return
  }
  run_ctest "house rules" "$1" "$JOBS" -L '^unit$' -R '^lint_'
}

# A suite that the tree does not have (yet) is no failure; one that is there and registers no test is.
has_suite() {
  local folder=${1%_full}
  [[ $1 == unit || -f $ROOT/tests/${folder%_soak}/CMakeLists.txt ]]
}

# suite PRESET LABEL JOBS
suite() {
  local preset=$1 label=$2 jobs=$3
  has_suite "$label" || return 0
  run_ctest "$label ($preset)" "$preset" "$jobs" -L "^$label\$" -E '^lint_'
}

# run_ctest TITLE PRESET JOBS FILTER…
run_ctest() {
  local title=$1 tree="$ROOT/build/$2" jobs=$3 junit counted numbers result
  shift 3
  junit="$tree/junit.xml"
  rm -rf "$tree/results" "$junit"
  mkdir -p "$tree/results"
  step "$title" ctest --test-dir "$tree" -j "$jobs" --output-on-failure --test-output-size-passed 1000000 \
    --no-tests=error --output-junit "$junit" "$@"
  local status=$?
  if [[ ! -f $junit ]] || ! counted=$(python3 -B "$ROOT/dev.d/results.py" "$junit" "$tree/results" "$FIGURES"); then
    counted='0 1 0'
  fi
  read -ra numbers <<<"$counted"
  if [[ $status -ne 0 && ${numbers[1]} -eq 0 ]]; then
    numbers[1]=1
  fi
  PASSED=$((PASSED + numbers[0]))
  FAILED=$((FAILED + numbers[1]))
  SKIPPED=$((SKIPPED + numbers[2]))
  result="${numbers[0]} passed"
  ((numbers[1] == 0)) || result+=", ${numbers[1]} FAILED"
  ((numbers[2] == 0)) || result+=", ${numbers[2]} skipped"
  row "$title" "$STEP_US" "$result"
  if ((numbers[1] > 0)); then
    FAILURES+=("$title, log ${STEP_LOG#"$ROOT"/}")
    while IFS= read -r line; do
      [[ $line ]] && FAILURES+=("    $line")
    done < <(tail -n +2 <<<"$counted")
  fi
}

not_run() { row "$1" 0 "not run"; }

row() {
  describe_us "$2"
  local line
  printf -v line '  %-28s %8s  %s' "$1" "$REPLY" "$3"
  TABLE+=("$line")
}

summarise() {
  local line
  describe_us "$1"
  printf '\n'
  printf '%s\n' "${TABLE[@]}"
  printf '  %-28s %8s\n\n' total "$REPLY"
  if [[ ${#FAILURES[@]} -gt 0 ]]; then
    # The names alone first: whoever sees only the beginning of this knows them all.
    printf 'what failed:\n'
    printf '  %s\n' "${FAILURES[@]}" | grep -vE '^ +\| '
    printf '\nwhat it said:\n'
    printf '  %s\n' "${FAILURES[@]}"
    printf '\n'
  fi
  if [[ -s $FIGURES ]]; then
    printf 'what was measured (%s):\n' "${FIGURES#"$ROOT"/}"
    sed 's/^/  /' "$FIGURES"
    printf '\n'
  fi
  line="$PASSED passed, $FAILED failed"
  ((SKIPPED == 0)) || line+=", $SKIPPED skipped"
  printf '%s\n' "$line"
  [[ $FAILED -eq 0 && $PASSED -gt 0 ]]
}
