# What is needed from Debian 12, by package name, in sets.

packages_of() {
  case $1 in
    build)
      echo clang-19 libstdc++-12-dev cmake ninja-build ccache mold python3 \
        libboost1.81-dev libboost-json1.81-dev libexpected-dev libfmt-dev libyaml-cpp-dev \
        libsqlite3-dev libssl-dev binutils
      ;;
    # The second and third line are what everyday_test.py runs in sandboxes; btrfs-progs makes the storage pool. The last is the
    # engines of tests/support/engines.py.
    test) echo libclang-rt-19-dev llvm-19 libgtest-dev libgmock-dev curl jq procps \
      git gcc g++ libc6-dev make cmake perl python3-venv nodejs npm sqlite3 tmux vim less bsdutils strace \
      openssh-client openssl file bzip2 xz-utils passwd btrfs-progs groff-base zsh fish pkg-config \
      docker.io podman runc conmon util-linux runsc crun docker-registry apache2-utils iproute2 busybox-static faketime ;;
    # QEMU, and what a guest's disk is made of and with (tests/vm).
    vm)
      echo qemu-system-x86 busybox-static kmod e2fsprogs btrfs-progs procps psmisc git iproute2 libcap2-bin \
        python3 util-linux mount passwd
      ;;
    # The second line: what container images are made and run with.
    package) echo dpkg-dev file binutils busybox-static lintian mmdebstrap systemd \
      podman runc ;;
    lint) echo clang-format-19 clang-tidy-19 ;;
    # The clients: what generates them, builds their packages and runs them (sdk_tools has the rest).
    sdk) echo python3 python3-venv python3-yaml nodejs npm openssl ;;
    # The second line: the peers of bench/peers.py.
    bench) echo nginx-light wrk procps curl jq \
      bubblewrap crun docker.io podman runc runsc ;;
    *) return 1 ;;
  esac
}

# What Debian does not have: the fuzzer of the API, from its own registry, into the build tree.
SCHEMATHESIS=4.32.5

help_setup() {
  cat <<'TEXT'
usage: ./dev setup [SET…]

Installs the Debian packages of the named sets: build, test, vm, package, sdk, lint, bench (default: build test lint).
Does nothing, in an instant, when they are all there. Needs root or sudo only when something is missing.
The set test has schemathesis too, which pip installs into build/venv, and a newer Debian's CRIU, in build/criu.
Starts no service. The other verbs call it themselves.
TEXT
}

verb_setup() {
  local set
  [[ $# -gt 0 ]] || set -- build test lint
  for set in "$@"; do
    packages_of "$set" >/dev/null || {
      complain "no set '$set': there are build, test, vm, package, sdk, lint, bench"
      return 2
    }
  done
  ensure_packages "$@" || return
  [[ " $* " != *" sdk "* ]] || sdk_tools || return
  say "all packages of: $* are installed"
}

# ensure_packages SET…: returns at once when everything is installed.
ensure_packages() {
  local set wanted=() missing
  [[ ${ATOLL_SKIP_SETUP:-} != 1 ]] || return 0
  for set in "$@"; do
    # shellcheck disable=SC2207
    wanted+=($(packages_of "$set"))
  done
  check_debian "${wanted[@]}" || return
  missing=$(missing_packages "${wanted[@]}")
  [[ $missing ]] || {
    ensure_other_packages "$@"
    return
  }
  find_root || {
    complain "these packages are missing, and installing them needs root or sudo:"
    say "    apt-get install --no-install-recommends" $missing
    return 1
  }
  # shellcheck disable=SC2086
  step "install $(wc -w <<<"$missing") packages" install_packages $missing || return
  missing=$(missing_packages "${wanted[@]}")
  [[ ! $missing ]] || {
    complain "still missing after installation:" $missing
    return 1
  }
  ensure_other_packages "$@"
}

# What pip and a newer Debian have: ensure_other_packages SET…
ensure_other_packages() {
  [[ " $* " == *" test "* ]] || return 0
  # For the memory of containers: Debian 12 has too old a one.
  [[ -x $ROOT/build/criu/bin/criu ]] ||
    step "fetch CRIU" /usr/bin/python3 "$ROOT/tests/support/criu.py" "$ROOT/build/criu" || return
  compgen -G "$ROOT/build/venv/lib/python3*/site-packages/schemathesis-$SCHEMATHESIS.dist-info" >/dev/null && return 0
  step "install schemathesis" install_schemathesis
}

# A real policy server, which Go's registry alone has: the one whose answers are recorded (tests/support/opa_recorded.json). It is
# for `test full`, since it takes minutes, and only where there is a Go that can build it.
OPA=1.22.0
OPA_TAKES_GO=1.26

# Why there is none here and cannot be; nothing if it is there or can be built.
opa_obstacle() {
  local version
  [[ ! -x $ROOT/build/opa/bin/opa ]] || return 0
  version=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null)
  version=${version#go}
  if [[ ! $version ]]; then
    echo "OPA $OPA takes Go $OPA_TAKES_GO, and there is none"
  elif [[ $(printf '%s\n' "$OPA_TAKES_GO" "$version" | sort -V | head -n 1) != "$OPA_TAKES_GO" ]]; then
    echo "OPA $OPA takes Go $OPA_TAKES_GO, and here is $version"
  fi
}

# Its sources and all that is made of them go again; the registry's sums are compared by Go itself.
install_opa() {
  local place status
  [[ ! -x $ROOT/build/opa/bin/opa ]] || return 0
  mkdir -p "$ROOT/build"
  place=$(mktemp -d "$ROOT/build/opa-XXXXXX") || return
  env GOTOOLCHAIN=local GOPATH="$place/path" GOCACHE="$place/cache" GOBIN="$place/made/bin" GOFLAGS=-modcacherw CGO_ENABLED=0 \
    go install "github.com/open-policy-agent/opa@v$OPA" &&
    rm -rf "$ROOT/build/opa" && mv "$place/made" "$ROOT/build/opa"
  status=$?
  rm -rf "$place"
  return "$status"
}

install_schemathesis() {
  /usr/bin/python3 -m venv "$ROOT/build/venv" &&
    "$ROOT/build/venv/bin/pip" --disable-pip-version-check install --quiet "schemathesis==$SCHEMATHESIS"
}

# What Debian does not have, or too old: mypy, build, TypeScript, at the versions of sdk/tools, in build/sdk-tools.
sdk_tools() {
  [[ ${ATOLL_SKIP_SETUP:-} != 1 ]] || return 0
  step "tools of the clients" "$ROOT/sdk/tools/install.sh" "$ROOT/build/sdk-tools"
}

check_debian() {
  local name version
  name=$(. /etc/os-release 2>/dev/null && echo "${ID:-}")
  version=$(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}")
  [[ $name == debian && $version == 12 ]] && return 0
  complain "this is not Debian 12 (but ${name:-unknown} ${version:-}), so nothing is installed for you."
  say "    Install what corresponds to these packages, then set ATOLL_SKIP_SETUP=1:"
  say "    $*"
  return 1
}

# Those of the named packages that dpkg does not call installed, one per line.
missing_packages() {
  local name
  declare -A installed=()
  while read -r _ name; do
    installed[$name]=1
  done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null | grep '^.i ')
  # npm may come with somebody else's nodejs, which provides it and conflicts with Debian's.
  for name in $(dpkg-query -W -f '${Provides}\n' nodejs 2>/dev/null | tr -d ,); do
    installed[$name]=1
  done
  # Docker's own packages conflict with Debian's, which would take somebody's engine away.
  ! command -v dockerd >/dev/null || installed[docker.io]=1
  ! command -v runc >/dev/null || installed[runc]=1
  for name in "$@"; do
    [[ ${installed[$name]:-} ]] || echo "$name"
  done
}

AS_ROOT=()
find_root() {
  AS_ROOT=()
  [[ $EUID -ne 0 ]] || return 0
  command -v sudo >/dev/null || return 1
  # Asks for the password now, while the terminal is still ours.
  if [[ -t 0 ]]; then
    sudo -v || return 1
  else
    sudo -n true 2>/dev/null || return 1
  fi
  AS_ROOT=(sudo)
}

install_packages() {
  local try status=1
  keep_services_down
  has_package_lists || apt_get update
  for try in 1 2 3; do
    if apt_get install --no-install-recommends -y "$@"; then
      status=0
      break
    fi
    # Lists that are older than the archive name versions that are gone.
    echo "attempt $try failed; refreshing the package lists"
    apt_get update
  done
  let_services_up
  return "$status"
}

apt_get() {
  "${AS_ROOT[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

has_package_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

# Debian starts a service when its package is installed; nginx is here only to be measured. policy-rc.d is the
# documented way to say no. One that is there already is not ours to change.
POLICY=/usr/sbin/policy-rc.d
POLICY_IS_OURS=
keep_services_down() {
  [[ ! -e $POLICY ]] || return 0
  printf '#!/bin/sh\nexit 101\n' | "${AS_ROOT[@]}" tee "$POLICY" >/dev/null || return 0
  "${AS_ROOT[@]}" chmod 755 "$POLICY"
  POLICY_IS_OURS=1
  trap 'let_services_up; stop_watching' EXIT
}

let_services_up() {
  [[ $POLICY_IS_OURS ]] || return 0
  "${AS_ROOT[@]}" rm -f "$POLICY"
  POLICY_IS_OURS=
}
