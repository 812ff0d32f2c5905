#!/usr/bin/env python3
"""Writes tests/data/weights: tensors of every stored type and of odd shapes, and what numpy computes from them; circuits of
heads of the fixtures; differences between fixtures in two formats.

    python make_weights.py            writes to this folder
    python make_weights.py FOLDER     writes to FOLDER

Needs gguf, safetensors, torch and numpy. Run make_fixtures.py first. The output is deterministic.

types.gguf, plain/model.safetensors   tensors of every type, without a known architecture
types.json          for each tensor: statistics, blocks, and some stored numbers with their bits, or codes and scales
circuits.json       for heads of fixtures: singular values, norms, and the shares of rotary pairs; norms of neurons
comparisons.json    for pairs of fixtures: relative error and signal to noise of each weight
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

import families

BINS = 256
KINDS = gguf.GGMLQuantizationType


# --- quantised blocks ------------------------------------------------------------------------------------------------

def halves(blocks, place):
    return np.ascontiguousarray(blocks[:, place:place + 2]).view(np.float16).astype(np.float32)


def shifted(values, shifts, mask):
    """Bits of several runs that share bytes: [n, groups, 1, size] >> shifts, as [n, 256]."""
    return ((values >> np.array(shifts, np.uint8).reshape(1, 1, -1, 1)) & mask).reshape(len(values), -1)


def nibbles(qs, size):
    return shifted(qs.reshape(len(qs), -1, 1, size), [0, 4], 15)


def fifth_bits(qh):
    bits = np.ascontiguousarray(qh).view(np.uint32)
    return ((bits >> np.arange(32, dtype=np.uint32)) & 1).astype(np.int32) << 4


UNEVEN = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


def parts_of(kind, blocks):
    """Codes [n, elements], scales and minima [n, elements / run] of blocks, by the layouts of ggml."""
    b, n = blocks, len(blocks)
    zero = np.zeros((n, 1), np.float32)
    if kind == "Q4_0":
        return nibbles(b[:, 2:], 16).astype(np.int32) - 8, halves(b, 0), zero
    if kind == "Q4_1":
        return nibbles(b[:, 4:], 16), halves(b, 0), halves(b, 2)
    if kind == "Q5_0":
        return (nibbles(b[:, 6:], 16) | fifth_bits(b[:, 2:6])).astype(np.int32) - 16, halves(b, 0), zero
    if kind == "Q5_1":
        return nibbles(b[:, 8:], 16) | fifth_bits(b[:, 4:8]), halves(b, 0), halves(b, 2)
    if kind == "Q8_0":
        return np.ascontiguousarray(b[:, 2:]).view(np.int8), halves(b, 0), zero
    if kind == "Q2_K":
        codes = shifted(b[:, 16:80].reshape(n, -1, 1, 32), [0, 2, 4, 6], 3)
        return codes, halves(b, 80) * (b[:, :16] & 15), -(halves(b, 82) * (b[:, :16] >> 4))
    if kind == "Q3_K":
        low = shifted(b[:, 32:96].reshape(n, -1, 1, 32), [0, 2, 4, 6], 3).astype(np.int32)
        high = shifted(b[:, :32].reshape(n, -1, 1, 32), range(8), 1).astype(np.int32)
        lows = shifted(b[:, 96:104].reshape(n, 1, 1, 8), [0, 4], 15).astype(np.int32)
        highs = shifted(b[:, 104:108].reshape(n, 1, 1, 4), [0, 2, 4, 6], 3).astype(np.int32)
        return low + 4 * high - 4, halves(b, 108) * ((lows | highs << 4) - 32).astype(np.float32), np.zeros((n, 16))
    if kind in ("Q4_K", "Q5_K"):
        scales, minima = gguf.quants.Q4_K.get_scale_min(np.ascontiguousarray(b[:, 4:16]))
        codes = nibbles(b[:, 16 if kind == "Q4_K" else 48:], 32).astype(np.int32)
        if kind == "Q5_K":
            codes |= shifted(b[:, 16:48].reshape(n, 1, 1, 32), range(8), 1).astype(np.int32) << 4
        return codes, halves(b, 0) * scales.astype(np.float32), -(halves(b, 2) * minima.astype(np.float32))
    if kind == "Q6_K":
        low = nibbles(b[:, :128], 64).astype(np.int32)
        high = shifted(b[:, 128:192].reshape(n, -1, 1, 32), [0, 2, 4, 6], 3).astype(np.int32)
        scales = np.ascontiguousarray(b[:, 192:208]).view(np.int8).astype(np.float32)
        return (low | high << 4) - 32, halves(b, 208) * scales, np.zeros((n, 16))
    if kind == "IQ4_NL":
        return UNEVEN[nibbles(b[:, 2:], 16)], halves(b, 0), zero
    if kind == "IQ4_XS":
        lows = (b[:, 4:8].reshape(n, 4, 1) >> np.array([0, 4], np.uint8) & 15).reshape(n, 8).astype(np.int32)
        high = np.ascontiguousarray(b[:, 2:4]).view(np.uint16) >> np.arange(0, 16, 2, dtype=np.uint16) & 3
        scales = (lows | high.astype(np.int32) << 4) - 32
        return UNEVEN[nibbles(b[:, 8:], 16)], halves(b, 0) * scales.astype(np.float32), np.zeros((n, 8))
    raise ValueError(kind)


HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}
WITH_MINIMA = {"Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K"}


def drawn_blocks(kind, count, random):
    size = gguf.GGML_QUANT_SIZES[KINDS[kind]][1]
    blocks = random.integers(0, 256, (count, size), np.uint8)
    for place in HALVES[kind]:
        blocks[:, place:place + 2] = random.normal(0, 0.02, (count, 1)).astype(np.float16).view(np.uint8)
    return blocks


# --- what numpy computes ---------------------------------------------------------------------------------------------

def entropy(symbols):
    _, counts = np.unique(symbols, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def effective_bits(array):
    raw = np.ascontiguousarray(array).reshape(-1)
    if raw.itemsize == 1:
        return entropy(raw.view(np.uint8))
    parts = raw.view(np.uint16).reshape(len(raw), -1)
    return sum(entropy(parts[:, part]) for part in range(parts.shape[1]))


def finite_or_none(value):
    return float(value) if np.isfinite(value) else None


def statistics(values, bits):
    numbers = values.astype(np.float32).astype(np.float64).reshape(-1)
    finite = numbers[np.isfinite(numbers)]
    record = {"count": len(numbers), "nan": int(np.isnan(numbers).sum()), "infinite": int(np.isinf(numbers).sum()),
              "zeros": int((finite == 0).sum()), "outliers": 0, "bits": bits}
    if len(finite):
        mean, sd = finite.mean(), finite.std()
        counts, edges = np.histogram(finite, BINS)
        record |= {"mean": mean, "sd": sd, "norm": float(np.linalg.norm(finite)), "least": finite.min(),
                   "largest": finite.max(), "outliers": int((np.abs(finite - mean) > 6 * sd).sum()),
                   "edges": [edges[0], edges[1], edges[-1]], "counts": counts.tolist()}
    return record


def short(value):
    """Nine digits, from which the same float32 is read."""
    return float(f"{float(value):.9g}")


def blocks_of(matrix, down, right):
    """Means and largest numbers of blocks; None for blocks without a finite number."""
    means, largest = [], []
    for top in range(0, matrix.shape[0], down):
        for left in range(0, matrix.shape[1], right):
            block = matrix[top:top + down, left:left + right].astype(np.float64)
            block = block[np.isfinite(block)]
            means.append(short(block.mean()) if block.size else None)
            if block.size:
                low, high = block.min(), block.max()
                largest.append(short(high if high >= -low else low))
            else:
                largest.append(None)
    return {"down": down, "right": right, "means": means, "largest": largest}


def described(values, bits, random, stored):
    """@param stored (row, column) -> fields of a stored number"""
    matrix = values.astype(np.float32)
    matrix = matrix.reshape(-1, values.shape[-1])
    record = {"shape": list(values.shape), "statistics": statistics(values, bits), "blocks": [], "numbers": []}
    if matrix.size == 0:
        return record
    for down, right in {(1, 1) if matrix.size < 200 else (2, 4), (4, 8), (64, 1), (1, 64), (128, 512)}:
        if matrix.size < 600 or down * right > 8:
            record["blocks"].append(blocks_of(matrix, down, right))
    record["blocks"].sort(key=lambda one: (one["down"], one["right"]))
    for _ in range(4):
        row, column = int(random.integers(matrix.shape[0])), int(random.integers(matrix.shape[1]))
        number = values.reshape(matrix.shape)[row, column]
        record["numbers"].append({"row": row, "column": column, "value": finite_or_none(float(number))}
                                 | stored(row, column))
    return record


def bits_at(array):
    matrix = array.reshape(-1, array.shape[-1])

    def stored(row, column):
        raw = np.ascontiguousarray(matrix[row, column:column + 1]).view(np.uint8)[::-1]
        return {"bits": "0x" + bytes(raw).hex()}
    return stored


# --- tensors of every type -------------------------------------------------------------------------------------------

def drawn(shape, random):
    values = random.normal(0.01, 0.05, shape)
    flat = values.reshape(-1)
    flat[::17] = 0
    flat[5::101] *= 30
    return values


def plain_tensors(random):
    tensors = {}
    shapes = {"matrix": (40, 70), "row": (1, 37), "column": (37, 1), "cube": (3, 4, 5), "vector": (50,)}
    kinds = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.float32}
    for kind, dtype in kinds.items():
        for shape, size in shapes.items():
            tensors[f"{kind}.{shape}"] = drawn(size, random).astype(dtype)
            if kind == "BF16":  # kept as its upper half: numpy has no such type
                tensors[f"{kind}.{shape}"] = (tensors[f"{kind}.{shape}"].view(np.uint32) >> 16).astype(np.uint16)
    for kind, dtype in {"I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8}.items():
        tensors[f"{kind}.matrix"] = random.integers(0 if kind == "U8" else -100, 100, (9, 11)).astype(dtype)
    tensors["BOOL.matrix"] = random.integers(0, 2, (9, 11)).astype(bool)
    specials = drawn((8, 12), random).astype(np.float32)
    specials[0, :4], specials[3, 5], specials[7, 11] = np.nan, np.inf, -np.inf
    tensors["special.mixed"] = specials
    tensors["special.nan"] = np.full((4, 6), np.nan, np.float32)
    tensors["special.constant"] = np.full((5, 7), 0.125, np.float16)
    tensors["special.zero"] = np.zeros((5, 7), np.float32)
    tensors["special.single"] = np.array([[3.5]], np.float32)
    tensors["special.empty"] = np.zeros((0, 8), np.float32)
    subnormal = np.arange(1, 1024, dtype=np.uint16).view(np.float16)
    tensors["special.subnormal"] = np.concatenate([subnormal, -subnormal]).reshape(2, -1)
    return tensors


def write_types(folder, record):
    random = np.random.default_rng(71)
    plain = plain_tensors(random)
    (folder / "plain").mkdir(parents=True, exist_ok=True)
    is_bfloat = lambda name: name.startswith("BF16")
    written = {name: torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if is_bfloat(name) else
               torch.from_numpy(array) for name, array in plain.items()}
    written["F8.unreadable"] = torch.zeros(4, 4).to(torch.float8_e4m3fn)
    safetensors.torch.save_file(written, folder / "plain/model.safetensors")
    for name, array in plain.items():
        values = (array.astype(np.uint32) << 16).view(np.float32) if is_bfloat(name) else array
        record[name] = described(values, effective_bits(array) if array.size else None, random, bits_at(array))
    writer = gguf.GGUFWriter(str(folder / "types.gguf"), "unknown")
    for kind in HALVES:
        elements, size = gguf.GGML_QUANT_SIZES[KINDS[kind]]
        for shape in [(6, 512), (1, 768), (2, 3, 256)]:
            count = int(np.prod(shape)) // elements
            blocks = drawn_blocks(kind, count, random)
            values = gguf.quants.dequantize(blocks, KINDS[kind]).astype(np.float32).reshape(shape)
            codes, scales, minima = parts_of(kind, blocks)
            columns, run = shape[-1], elements // scales.shape[1]
            expanded = lambda part: np.repeat(part, run, 1).reshape(-1, columns)
            whole = [codes.reshape(-1, columns), expanded(scales), expanded(np.broadcast_to(minima, scales.shape))]
            assert (whole[1] * whole[0].astype(np.float32) + whole[2] == values.reshape(-1, columns)).all(), kind

            def stored(row, column):
                return {"code": int(whole[0][row, column]), "scale": float(whole[1][row, column]),
                        "minimum": float(whole[2][row, column])}
            name = f"{kind}.{'x'.join(map(str, shape))}"
            record[name] = described(values, entropy(codes), random, stored)
            record[name]["scales"] = [short(x) for x in scales.reshape(-1)]
            if kind in WITH_MINIMA:
                record[name]["minima"] = [short(x) for x in minima.reshape(-1)]
            raw = blocks.reshape(*shape[:-1], columns // elements * size)
            writer.add_tensor(name, raw, raw_dtype=KINDS[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# --- circuits --------------------------------------------------------------------------------------------------------

def fixture_weights(source):
    config = json.loads((source / "config.json").read_text())
    weights = families.weights_of(safetensors.numpy.load_file(source / "model.safetensors"), config["model_type"])
    return config, {key: value.astype(np.float64) for key, value in weights.items()}


def pair_shares(query, key, dims):
    """Each pair's part of the mean of the squared norm over rotary phases, by the mean over four phases (judge.py)."""
    parts = []
    for pair in range(dims // 2):
        q1, q2, k1, k2 = query[pair], query[pair + dims // 2], key[pair], key[pair + dims // 2]
        total = 0.0
        for phase in 0.3 + np.arange(4) * np.pi / 2:
            c, s = np.cos(phase), np.sin(phase)
            total += ((np.outer(q1, c * k1 - s * k2) + np.outer(q2, s * k1 + c * k2)) ** 2).sum() / 4
        parts.append(total)
    rest = ((query[dims:].T @ key[dims:]) ** 2).sum()
    whole = sum(parts) + rest
    return {"shares": [part / whole for part in parts], "unrotated": rest / whole, "averaged": np.sqrt(whole)}


def circuit(left, right):
    product = left.T @ right
    values = np.linalg.svd(product, compute_uv=False)
    norm = np.sqrt((product ** 2).sum())
    return {"singular": values[:len(left)].tolist(), "norm": norm, "stable_rank": norm ** 2 / values[0] ** 2,
            "picture": blocks_of(product.astype(np.float32), 8, 4)}


def circuits_of(source):
    config, weights = fixture_weights(source)
    heads = config.get("num_attention_heads", config.get("n_head"))
    kv_heads = config.get("num_key_value_heads", heads)
    hidden = config.get("hidden_size", config.get("n_embd"))
    size = config.get("head_dim", hidden // heads)
    rope = config.get("rope_parameters")
    dims = int(size * rope.get("partial_rotary_factor", 1)) if rope else 0
    layers = []
    for layer in range(2):
        get = lambda name: weights[layer, name]
        rows = lambda name, index: get(name)[index * size:(index + 1) * size]
        record = {"heads": [], "up": np.linalg.norm(get("up"), axis=1).tolist(),
                  "down": np.linalg.norm(get("down"), axis=0).tolist()}
        if (layer, "gate") in weights:
            record["gate"] = np.linalg.norm(get("gate"), axis=1).tolist()
        for head in range(heads):
            group = head // (heads // kv_heads)
            query, key = rows("query", head), rows("key", group)
            qk = circuit(query, key) | (pair_shares(query, key, dims) if dims else {})
            ov = circuit(get("output")[:, head * size:(head + 1) * size].T, rows("value", group))
            record["heads"].append({"qk": qk, "ov": ov})
        layers.append(record)
    return layers


# --- comparisons -----------------------------------------------------------------------------------------------------

def comparison(first, second):
    """Of two dictionaries of weights in one form."""
    record = {}
    for key in sorted(first.keys() & second.keys()):
        a, b = first[key].astype(np.float64), second[key].astype(np.float64)
        error = np.linalg.norm(b - a) / np.linalg.norm(a)
        record[f"{key[0]}.{key[1]}"] = {"relative_error": error, "largest": np.abs(b - a).max(),
                                        "snr_db": -20 * np.log10(error) if error else None}
    return record


def write_json(path, record):
    lines = [f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in record.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here) / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    types = {}
    write_types(folder, types)
    write_json(folder / "types.json", types)
    write_json(folder / "circuits.json", {name: circuits_of(here / name) for name in ["gqa-f32", "phi", "gpt2", "qwen3"]})
    dense = fixture_weights(here / "gqa-f32")[1]
    record = {}
    for name in ["gqa-f32-gguf", "gqa-q4_0-gguf", "gqa-q8_0-gguf", "gqa-f16-gguf"]:
        weights, _ = families.read_gguf(here / name / "model.gguf")
        if weights[0, "query"].shape == dense[0, "query"].shape:
            record[name] = comparison(dense, weights)
    write_json(folder / "comparisons.json", record)


if __name__ == "__main__":
    main()
