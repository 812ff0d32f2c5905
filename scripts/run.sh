#!/usr/bin/env bash
# From a fresh Debian 12 to the window: installs what is missing, builds, fetches the demo model, opens it.
# Arguments go to the program instead of the demo model: scripts/run.sh MODEL
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/install-deps.sh"
"$root/scripts/build.sh" release secateur secateur-cli
if [ $# -eq 0 ]; then
    # Without the demo model the window opens on its welcome page, which says how to get one.
    model=$("$root/scripts/fetch-demo-model.sh") && set -- "$model"
fi
exec "$root/build/release/app/secateur" "$@"
