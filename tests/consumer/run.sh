#!/usr/bin/env bash
# Builds the consumer project in a folder of its own and runs it.
#   run.sh install BUILD WORK [core]      installs the build folder BUILD below WORK and uses it by find_package
#   run.sh source SOURCE WORK [core]      uses the sources SOURCE by add_subdirectory; CMAKE_ARGS adds cache values
# `core` restricts it to the part free of LibTorch.
set -euo pipefail

kind=$1 from=$(cd "$2" && pwd) work=$3 core=${4:-}
project=$(cd "$(dirname "$0")/project" && pwd)
rm -rf "$work"
mkdir -p "$work"
work=$(cd "$work" && pwd)
# A copy, so that nothing is found by a relative path into the tree.
mkdir "$work/project"
cp "$project"/CMakeLists.txt "$project"/*.cc "$work/project/"

options=(-G Ninja -DCMAKE_BUILD_TYPE=Release ${CMAKE_ARGS:-})
[[ -n $core ]] && options+=(-DCONSUMER_CORE_ONLY=ON)
case $kind in
  install)
    cmake --install "$from" --prefix "$work/prefix" >"$work/install.log"
    # An installed tree can be moved.
    mv "$work/prefix" "$work/moved"
    options+=(-DCMAKE_PREFIX_PATH="$work/moved")
    ;;
  source)
    options+=(-DLONGSPAN_SOURCE="$from")
    # With the flags of longspan's own build: what that has compiled is not compiled again.
    if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DLONGSPAN_WARNINGS=ON); fi
    ;;
  *)
    echo "run.sh: expected install or source, got $kind" >&2
    exit 2
    ;;
esac
cmake -S "$work/project" -B "$work/build" "${options[@]}"
cmake --build "$work/build" -j "${JOBS:-$(nproc)}"
"$work/build/consumer_core"
[[ -n $core ]] || "$work/build/consumer"
if [[ $kind == install && -z $core ]]; then  # an example by itself
  cp -r "$(dirname "$0")/../../examples" "$work/examples"
  cmake -S "$work/examples" -B "$work/build-examples" "${options[@]}"
  cmake --build "$work/build-examples" --target example_stream_attention
  "$work/build-examples/example_stream_attention"
fi
if [[ $kind == install && -x $work/moved/bin/longspan ]]; then
  "$work/moved/bin/longspan" --version
fi
