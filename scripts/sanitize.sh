#!/usr/bin/env bash
# Builds secateur-cli with the address and undefined behaviour sanitizers, and runs its verbs on models with odd shapes.
# Arguments go to cmake.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
cmake --preset asan "$@"
cmake --build --preset asan --target tests_app
# libtorch keeps memory until the program ends.
export ASAN_OPTIONS=detect_leaks=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec ctest --preset asan -R '^odd_models$'
