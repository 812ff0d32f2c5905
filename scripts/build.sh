#!/usr/bin/env bash
# Configures (once) and builds a preset, all of it or the targets named: scripts/build.sh release secateur
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
mkdir -p build
if [ ! -f "build/$preset/build.ninja" ] && ! cmake --preset "$preset" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    exit 1
fi
cmake --build --preset "$preset" ${1:+--target "$@"}
