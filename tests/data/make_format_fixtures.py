#!/usr/bin/env python3
"""Writes tests/data/formats: small files of every checkpoint format, and what an independent implementation reads there.

    python make_format_fixtures.py            beside this file
    python make_format_fixtures.py FOLDER     elsewhere

Needs torch, safetensors, gguf and numpy. Deterministic.

quants/      random blocks of every quantised type, one after the other in blocks.bin; expected.json says by type where
             they lie and the SHA-256 of the float32 numbers that gguf-py unpacks, every NaN as 0x7fc00000
"""

import argparse
import hashlib
import json
import pathlib

import gguf
import numpy as np


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


# --- quantised blocks ------------------------------------------------------------------------------------------------

# Where a block keeps its numbers of 16 bits.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}
# Zeros, the least and the largest subnormal, the largest number, infinities, quiet and signalling NaN, one.
EXTREMES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFD01, 0x3C00]


def random_blocks(name, count, random):
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    blocks = random.integers(0, 256, (count, size), np.uint8)
    for block, bits in enumerate(EXTREMES):
        for place in SCALES[name]:
            blocks[block, place:place + 2] = np.array([bits], np.uint16).view(np.uint8)
    return blocks


def write_quants(folder, blocks_of_each=28):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(41)
    raw, record = b"", {}
    for name in SCALES:
        blocks = random_blocks(name, blocks_of_each, random)
        with np.errstate(all="ignore"):
            numbers = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name]).astype(np.float32)
        numbers[np.isnan(numbers)] = np.uint32(0x7FC00000).view(np.float32)
        record[name] = {"begin": len(raw), "bytes": blocks.size, "sha256": sha256(numbers)}
        raw += blocks.tobytes()
    (folder / "blocks.bin").write_bytes(raw)
    (folder / "expected.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "formats")
    folder = parser.parse_args().folder
    write_quants(folder / "quants")
