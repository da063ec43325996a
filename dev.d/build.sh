# Configuring, building, running, and where the time of a build went.

PRODUCTS=(atoll atoll-launcher atoll-agent atoll-sudo atoll-pool atoll-oci atoll-statx)

help_build() {
  cat <<'TEXT'
usage: ./dev build [PRESET] [TARGET…]

Builds a preset into build/PRESET: the named targets, or everything. The release products are
build/release/bin/atoll and build/release/libexec/atoll/{atoll-launcher,atoll-agent,atoll-sudo,atoll-pool,atoll-oci,atoll-attack}.

presets: release (default), dev, asan, tsan, fuzz, tidy, gcc
targets: those of CMake, and the groups tests, tests_unit (…_conformance and so on), headers, fuzzers;
         package makes build/PRESET/atoll_VERSION_amd64.deb and atoll-VERSION-linux-x86_64.tar.gz (deploy)
TEXT
}

verb_build() {
  local preset=release
  if [[ $# -gt 0 ]] && has_preset "$1"; then
    preset=$1
    shift
  fi
  ensure_packages build || return
  case $preset in
    release) ;;
    *) ensure_packages test || return ;;
  esac
  if [[ " $* " == *" package "* ]]; then
    ensure_packages package || return
  fi
  build "$preset" "$@"
}

has_preset() { grep -q "^ *\"name\": \"$1\",\$" "$ROOT/CMakePresets.json"; }

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  mkdir -p "$ROOT/build"
  # Two ninjas in one tree would undo each other's work.
  exec 9>"$ROOT/build/.lock-$preset"
  if ! flock -n 9; then
    say "        another ./dev builds build/$preset; waiting for it"
    flock 9
  fi
  configure "$preset" &&
    step "build $preset" env NINJA_STATUS='[%f/%t] ' ninja -C "$ROOT/build/$preset" -j "$JOBS" "$@"
  local status=$?
  exec 9>&-
  return "$status"
}

# Ninja runs CMake again when a CMakeLists.txt changes; it cannot see changed presets or a folder that is new.
configure() {
  local preset=$1 tree="$ROOT/build/$1" shape
  shape=$(cd "$ROOT" && { cat CMakePresets.json && find src agent tests bench deploy -name CMakeLists.txt | sort; } | cksum)
  if [[ -f $tree/build.ninja && $(cat "$tree/.shape" 2>/dev/null) == "$shape" ]]; then
    return 0
  fi
  rm -f "$tree/.shape"
  step "configure $preset" cmake -S "$ROOT" --preset "$preset" && echo "$shape" >"$tree/.shape"
}

help_run() {
  cat <<'TEXT'
usage: ./dev run [OPTIONS OF atoll run] -- CMD…

Builds the products (release) if something has changed, then becomes `atoll run …` with these arguments.
Building speaks on stderr only, and only when it takes a while.

  ./dev run -- python3 -c 'print(6*7)'
TEXT
}

verb_run() {
  if [[ $# -eq 0 ]]; then
    help_run >&2
    return 2
  fi
  QUIET_UNDER=1500000
  ensure_packages build && build release "${PRODUCTS[@]}" || return 125
  exec "$ROOT/build/release/bin/atoll" run "$@"
}

help_timing() {
  cat <<'TEXT'
usage: ./dev timing [PRESET]

The ten translation units of build/PRESET (default: release) that took longest when they were last
compiled, from ninja's log. What came out of ccache took no time.
TEXT
}

verb_timing() {
  local log="$ROOT/build/${1:-release}/.ninja_log"
  [[ -f $log ]] || {
    complain "no build in build/${1:-release}: ./dev build ${1:-release}"
    return 1
  }
  awk -F'\t' '$4 ~ /\.(o|pch)$/ { took[$4] = $2 - $1 }
      END { for (name in took) printf "%8.1fs  %s\n", took[name] / 1000, name }' "$log" | sort -rn | head -n 10
}
