#!/usr/bin/env bash
# Installs what building and testing Secateur needs on Debian 12, and the packages that are named. Silent when everything is
# there already.
set -euo pipefail

packages=(
    build-essential cmake ninja-build pkg-config ccache
    qt6-base-dev qt6-svg-dev libqcustomplot-dev libgl-dev qt6-tools-dev qt6-l10n-tools qt6-translations-l10n
    libtorch-dev libopenblas0-openmp
    libicu-dev libpcre2-dev libdnnl-dev
    libopenmpi-dev openmpi-bin
    libhdf5-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libssl-dev
    fonts-liberation fonts-dejavu-core python3-pip ca-certificates
    "$@"
)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "Secateur needs these packages (named as in Debian 12), which this system cannot install by apt-get: ${missing[*]}" >&2
    exit 1
fi
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)

echo "Installing: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${sudo[@]}" apt-get update &&
       "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
       >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "Installing the packages failed; the lines above say why." >&2
    exit 1
fi
