#!/usr/bin/env bash
# Builds the Debian packages: secateur (window and command line) and secateur-cli (command line without Qt), or the ones
# named: scripts/package.sh secateur-cli. A package fits the Debian release that it was built on.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
"$root/scripts/install-deps.sh" file
[ $# -gt 0 ] || set -- secateur secateur-cli
for package in "$@"; do
    case $package in
        secateur) preset=package ;;
        secateur-cli) preset=package-cli ;;
        *) echo "There is no package $package; the packages are secateur and secateur-cli." >&2 && exit 2 ;;
    esac
    "$root/scripts/build.sh" "$preset"
    log=build/$preset.cpack.log
    rm -f "build/$preset/${package}"_*.deb
    if ! (cd "build/$preset" && cpack -G DEB) >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        exit 1
    fi
    ls "$root/build/$preset/${package}"_*.deb
done
