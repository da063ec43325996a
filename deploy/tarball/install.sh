#!/bin/sh
# Installs what lies beside it. As root into /usr/local, with the systemd units; as anybody else into ~/.local, for
# `atoll run` and a daemon of your own.
set -eu

usage() {
  cat <<'TEXT'
usage: ./install.sh [--prefix DIR] [--uninstall]

  --prefix DIR   where to (default: /usr/local for root, ~/.local for everybody else)
  --uninstall    remove what an installation with the same prefix has put there

Root's installation adds systemd units where there is systemd, and starts nothing.
TEXT
}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

here=$(cd -- "$(dirname -- "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then
  prefix=/usr/local
else
  prefix=${HOME:-}/.local
fi
uninstall=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:?--prefix needs a directory}; shift ;;
    --prefix=*) prefix=${1#*=} ;;
    --uninstall) uninstall=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
case $prefix in
  /*) ;;
  *) fail "the prefix must begin with /: $prefix" ;;
esac

units=
if [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
  units=/etc/systemd/system
fi
UNITS="atoll.service atoll-launcher.service atoll-launcher.socket"

if [ -n "$uninstall" ]; then
  if [ -n "$units" ] && [ -e "$units/atoll.service" ]; then
    for unit in $UNITS; do
      systemctl disable --now "$unit" 2>/dev/null || true
      rm -f "$units/$unit"
    done
    rm -f /etc/sysusers.d/atoll.conf
    systemctl daemon-reload
  fi
  rm -f "$prefix/bin/atoll" "$prefix/share/man/man1/atoll.1" "$prefix/share/bash-completion/completions/atoll" \
    "$prefix/share/zsh/vendor-completions/_atoll" "$prefix/share/fish/vendor_completions.d/atoll.fish"
  rm -rf "$prefix/libexec/atoll" "$prefix/share/doc/atoll"
  echo "removed from $prefix; what sandboxes and daemons kept is still in their state directories"
  exit 0
fi

[ "$(uname -s)" = Linux ] && [ "$(uname -m)" = x86_64 ] ||
  fail "these programs are for Linux on x86-64, this is $(uname -s) on $(uname -m)"
if ! answer=$("$here/bin/atoll" version 2>&1); then
  echo "$answer" >&2
  fail "atoll does not start here; it needs the GNU C library 2.36 or newer (Debian 12, Ubuntu 24.04, Fedora 37)"
fi

# New files beside the old, then one rename each: what runs goes on undisturbed.
place() {
  (cd "$here" && find "$@" -type d) | while read -r directory; do
    mkdir -p "$prefix/$directory"
  done
  (cd "$here" && find "$@" -type f -o -type l) | while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    cp -P "$here/$file" "$prefix/$file.atoll-new"
    mv -f "$prefix/$file.atoll-new" "$prefix/$file"
  done
}
place bin libexec share
echo "installed in $prefix"

if [ -n "$units" ]; then
  for unit in $UNITS; do
    sed -e "s|/usr/bin/atoll|$prefix/bin/atoll|" -e "s|/usr/libexec/|$prefix/libexec/|" \
      -e "s|/usr/share/doc/|$prefix/share/doc/|" "$here/lib/systemd/system/$unit" >"$units/$unit"
  done
  mkdir -p /etc/sysusers.d
  cp "$here/lib/sysusers.d/atoll.conf" /etc/sysusers.d/atoll.conf
  systemd-sysusers atoll.conf
  systemctl daemon-reload
  if systemctl --quiet is-active atoll-launcher.service; then
    systemctl reload atoll-launcher.service
  fi
  systemctl try-restart atoll.service
  echo "the daemon: systemctl enable --now atoll; its key is then in /var/lib/atoll/admin.key"
fi
case :$PATH: in
  *:"$prefix/bin":*) echo "try: atoll run -- echo hello" ;;
  *) echo "try: $prefix/bin/atoll run -- echo hello   (and put $prefix/bin into PATH)" ;;
esac
