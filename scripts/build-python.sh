#!/usr/bin/env bash
# Builds the wheel of the Python package (resources/python) into build/python and prints its path. Needs no network if
# the Python that PYTHON names (python3) has setuptools 77 or later; otherwise pip fetches it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
out=$root/build/python
source=$out/source
rm -rf "$source"
mkdir -p "$source"
trap 'rm -rf "$source"' EXIT
cp -r "$root"/resources/python/{secateur,pyproject.toml,README.md} "$root/LICENSE" "$source"
find "$source" -name __pycache__ -prune -exec rm -rf {} +

has_setuptools='import setuptools, sys; sys.exit(int(setuptools.__version__.split(".")[0]) < 77)'
if "$python" -c "$has_setuptools" 2>/dev/null; then
    build='import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])'
    (cd "$source" && "$python" -c "$build" "$out") >"$out/log" 2>&1 || { tail -n 20 "$out/log" >&2; exit 1; }
else
    "$python" -m pip wheel --no-deps --disable-pip-version-check --wheel-dir "$out" "$source" >"$out/log" 2>&1 ||
        { tail -n 20 "$out/log" >&2; echo "setuptools 77 or later is missing and could not be fetched." >&2; exit 1; }
fi
ls -t "$out"/secateur-*.whl | head -n 1
