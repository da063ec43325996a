#!/usr/bin/env bash
# Installs what builds and checks the packages, by name and version, where it is told to. Does nothing when it is there.
#
#   install.sh DIRECTORY
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
target=$1
mark=$(cat "$here/requirements.txt" "$here/package.json" | sha256sum)
if [[ -f $target/mark && $(<"$target/mark") == "$mark" ]]; then
  exit 0
fi

rm -rf "$target"
mkdir -p "$target/node"
/usr/bin/python3 -m venv "$target/python"
"$target/python/bin/pip" install --quiet --no-deps --requirement "$here/requirements.txt"
cp "$here/package.json" "$target/node/"
npm install --prefix "$target/node" --no-package-lock --no-audit --no-fund --loglevel=error
echo "$mark" >"$target/mark"
