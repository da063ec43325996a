#!/bin/sh
# A compiler behind ccache, for which a clone is the same wherever it lies: cached_compiler.sh SOURCE_TREE COMPILER ARGUMENT…
#
# A precompiled header holds the names of its files from the root on, so no two clones have the same one, and none can use another's.
# It is compiled in each; what is compiled with it goes by the sum beside it, which is that of everything in it.
set -eu
export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
shift

output= previous=
for argument in "$@"; do
  shift
  case $argument in "$PWD"/*cmake_pch.*) argument=${argument#"$PWD"/} ;; esac
  [ "$previous" = -o ] && output=$argument
  previous=$argument
  set -- "$@" "$argument"
done

case $output in
  *.pch)
    "$@"
    # The depfile is "output: file file \", a line or several.
    tr -s ' \\' '\n\n' <"$output.d" | grep '^/' | xargs cat | sha256sum >"$output.sum"
    ;;
  *) exec ccache "$@" ;;
esac
