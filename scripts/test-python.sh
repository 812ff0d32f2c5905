#!/usr/bin/env bash
# Tests the Python package (resources/python) with the Python that PYTHON names (python3). Compares masked models and
# sessions with secateur-cli where SECATEUR_CLI, or a build, has it. That takes some minutes, less with
# SECATEUR_FAMILIES=llama,gpt2. Arguments go to unittest: scripts/test-python.sh test_masks
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy, torch, transformers' 2>/dev/null; then
    echo "The tests of the Python package are skipped: $python has no numpy, torch or transformers."
    exit 0
fi
for cli in "$root"/build/{dev,release,headless}/app/secateur-cli; do
    [ -n "${SECATEUR_CLI:-}" ] || [ ! -x "$cli" ] || SECATEUR_CLI=$cli
done
export SECATEUR_CLI=${SECATEUR_CLI:-} PYTHONDONTWRITEBYTECODE=1 TRANSFORMERS_VERBOSITY=error HF_HUB_OFFLINE=1
[ -n "$SECATEUR_CLI" ] || echo "There is no secateur-cli: comparisons with it are skipped. SECATEUR_CLI names one."
cd "$root/resources/python/tests"
exec "$python" -m unittest -v "${@:-discover}"
