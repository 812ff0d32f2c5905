#!/usr/bin/env python3
"""Writes tests/data/formats/encode: rows of numbers, and their encoded forms by gguf-py.

    python make_encode_fixtures.py            writes to this folder
    python make_encode_fixtures.py FOLDER     writes to FOLDER

Needs gguf and numpy. The output is deterministic.

numbers.bin    float32 numbers: normal, positive, negative and constant rows, zeros, ties between codes, subnormal
               numbers, and numbers as large as the types allow
               (no row has zeros of both signs as its minimum: numpy does not define which one it takes)
encoded.bin    the numbers in every type, one after the other; expected.json has the position of each
"""

import json
import pathlib
import sys

import gguf
import numpy as np

TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
BLOCK = 32


def draw():
    random = np.random.default_rng(17)
    normal = lambda scale, blocks: (random.standard_normal(BLOCK * blocks) * scale).astype(np.float32)
    rows = [normal(1, 24), normal(0.02, 24), np.abs(normal(1, 6)), -np.abs(normal(1, 6))]
    rows += [np.zeros(BLOCK, np.float32), np.full(BLOCK, 0.25, np.float32), np.full(BLOCK, -3, np.float32)]
    rows += [normal(10.0 ** power, 1) for power in range(-45, 0)]  # down to subnormal numbers, whose scales become 0
    rows += [normal(10.0 ** power, 1) for power in (1, 2, 3, 4)]
    rows.append(np.clip(normal(40000, 8), -65503, 65503))
    # Codes that lie exactly between two others: multiples of half a step of each type.
    for steps in (127, 8, 16, 15, 31):
        row = random.integers(-2 * steps, 2 * steps + 1, BLOCK).astype(np.float32) / 2
        row[0] = steps
        rows += [row, -row, np.abs(row), row * np.float32(0.37)]
    # Two numbers of the largest magnitude, of both signs and orders.
    for signs in ((1, -1), (-1, 1)):
        row = normal(0.1, 1)
        row[[5, 21]] = np.float32(signs) * 2
        rows.append(row)
    outlier = normal(1e-3, 2)
    outlier[[7, 40]] = [900, -900]
    rows.append(outlier)
    return np.concatenate(rows).astype(np.float32)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent) / "formats" / "encode"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = draw()
    raw, record = b"", {}
    for name in TYPES:
        with np.errstate(all="ignore"):
            encoded = gguf.quants.quantize(numbers.reshape(1, -1), gguf.GGMLQuantizationType[name]).tobytes()
        record[name] = {"begin": len(raw), "bytes": len(encoded)}
        raw += encoded
    (folder / "numbers.bin").write_bytes(numbers.tobytes())
    (folder / "encoded.bin").write_bytes(raw)
    (folder / "expected.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{numbers.size} numbers, {len(raw)} bytes")


if __name__ == "__main__":
    main()
