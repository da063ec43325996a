# The rules of the house, checked without running anything of ours.

help_lint() {
  cat <<'TEXT'
usage: ./dev lint [--fix | --tidy]

Formatting, layers, coroutine rules, order in the tree (and the tests of these checkers), every header
compiled alone, clang-tidy over src/, agent/ and sdk/cpp/. A file that clang-tidy has passed is looked at again only
when it, or something it includes, has changed. --fix lets clang-format rewrite the files first; --tidy leaves out
everything but headers and clang-tidy.
TEXT
}

verb_lint() {
  local failed=0 script
  ensure_packages build test lint || return
  case ${1:-} in
    '') ;;
    --fix) step "format" python3 -B "$ROOT/tests/lint/check_format.py" --fix || failed=1 ;;
    --tidy)
      build tidy headers && tidy
      return
      ;;
    *)
      complain "no option '$1'"
      help_lint >&2
      return 2
      ;;
  esac
  for script in "$ROOT"/tests/lint/{check_*,results_test}.py; do
    script=${script##*/}
    step "${script%.py}" python3 -B "$ROOT/tests/lint/$script" || failed=1
  done
  build tidy headers || failed=1
  tidy || failed=1
  if [[ $failed -ne 0 ]]; then
    say "${RED}lint failed${PLAIN}"
  fi
  return "$failed"
}

# Generated sources must exist before clang-tidy reads what includes them.
tidy() {
  local generated
  configure tidy || return
  generated=$(cd "$ROOT/build/tidy" && ninja -t targets rule CUSTOM_COMMAND | grep -E '\.(h|cc|inc|ipp)$')
  if [[ $generated ]]; then
    # shellcheck disable=SC2086
    build tidy $generated || return
  fi
  step "clang-tidy" python3 -B "$ROOT/tests/lint/tidy.py" "$ROOT/build/tidy"
}

# The same beside the tests, which mostly wait: at the lowest priority there is, so that they do not notice.
TIDY_PID=
TIDY_LOG=

start_tidy() {
  TIDY_LOG="$LOG_DIR/headers-and-clang-tidy.log"
  # It logs its own steps elsewhere, and must not hold the lock of a tree that we build. A session of its own is a scheduling group
  # of its own where the kernel makes those, and idle within that alone: so the group gives way, too.
  ATOLL_SKIP_SETUP=1 setsid sh -c 'echo 19 2>/dev/null >/proc/self/autogroup; exec chrt --idle 0 "$@"' sh \
    "$ROOT/dev" lint --tidy >"$TIDY_LOG" 2>&1 </dev/null 9>&- &
  TIDY_PID=$!
  trap 'stop_watching; stop_tidy' EXIT
}

# With nothing else to do it may go on at an ordinary pace.
finish_tidy() {
  local group=$TIDY_PID status
  { echo 0 >"/proc/$group/autogroup"; } 2>/dev/null
  ps -o tid= -L -g "$group" 2>/dev/null | xargs -rn1 chrt --other --pid 0 2>/dev/null
  tail -n +1 -f --pid="$group" "$TIDY_LOG"
  wait "$group"
  status=$?
  TIDY_PID=
  return "$status"
}

stop_tidy() {
  [[ ! $TIDY_PID ]] || kill -- "-$TIDY_PID" 2>/dev/null
}
