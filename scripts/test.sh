#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors, runs every test without a display. Arguments go to ctest.
# SECATEUR_TEST_DATA may name a folder of real models; tests that need it, or the demo model, skip without.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/install-deps.sh"
"$root/scripts/build.sh" dev
cd "$root"
exec ctest --preset dev "$@"
