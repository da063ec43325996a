# The rules of the house, checked without running anything of ours.

help_lint() {
  cat <<'TEXT'
usage: ./dev lint [--fix]

Formatting, layers, coroutine rules, order in the tree (and the tests of these checkers), every header
compiled alone, clang-tidy over src/, agent/ and sdk/cpp/. A file that clang-tidy has passed is looked at again only
when it, or something it includes, has changed. --fix lets clang-format rewrite the files first.
TEXT
}

verb_lint() {
  local failed=0 script
  ensure_packages build test lint || return
  if [[ ${1:-} == --fix ]]; then
    step "format" python3 -B "$ROOT/tests/lint/check_format.py" --fix || failed=1
  fi
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
