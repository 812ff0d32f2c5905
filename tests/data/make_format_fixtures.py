#!/usr/bin/env python3
"""Writes tests/data/formats: small files of every checkpoint format, and what an independent implementation reads from
them.

    python make_format_fixtures.py            writes to this folder
    python make_format_fixtures.py FOLDER     writes to FOLDER

Needs torch, safetensors, gguf and numpy. The output is deterministic, except for names that torch generates in
legacy.bin and script.pt.

quants/      random blocks of every quantised type, one after the other in blocks.bin; expected.json has for each type
             their position and the SHA-256 of the float32 values that gguf-py unpacks, with every NaN as 0x7fc00000
plain/       the same tensors of every plain type as safetensors, in all forms that torch.save can write, and as GGUF if
             it has the type; expected.json has for each tensor the type, the shape and the SHA-256 of the bytes
plain_sharded/, split/   the same tensors in shards, and in a split GGUF whose first part has only metadata
"""

import argparse
import collections
import hashlib
import json
import pathlib

import gguf
import numpy as np
import safetensors.torch
import torch


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


# --- quantised blocks ------------------------------------------------------------------------------------------------

# Byte offsets of the float16 scales in a block of each type.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}
# Extreme float16 values by their bits: zeros, smallest and largest subnormal numbers, largest numbers, infinities,
# quiet and signalling NaN; and 1.
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


# --- plain types -----------------------------------------------------------------------------------------------------

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
         "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
GGUF_TYPES = {"F64", "F32", "F16", "I64", "I32", "I16", "I8"}


def draw_plain():
    generator = torch.Generator().manual_seed(42)
    tensors = collections.OrderedDict()
    for name, kind in TYPES.items():
        values = torch.randint(-100, 100, (3, 5), generator=generator)
        if kind.is_floating_point:
            values = values * torch.rand(3, 5, dtype=torch.float64, generator=generator)
        tensors[f"{name.lower()}.weight"] = (values > 0 if kind == torch.bool else values).to(kind)
    tensors["scalar"] = torch.tensor(2.5)
    tensors["none"] = torch.empty(0, 7)
    return tensors


def raw(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def write_plain(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = draw_plain()
    tensors._metadata = collections.OrderedDict({"": {"version": 1}})  # the metadata that state_dict() attaches
    types = {kind: name for name, kind in TYPES.items()}
    record = {name: {"type": types[t.dtype], "shape": list(t.shape), "sha256": hashlib.sha256(raw(t)).hexdigest()}
              for name, t in tensors.items()}
    (folder / "expected.json").write_text(json.dumps(record, indent=1) + "\n")
    safetensors.torch.save_file(tensors, folder / "model.safetensors")

    torch.save(tensors, folder / "zip.pt")
    torch.save(dict(tensors), folder / "protocol_5.pth", pickle_protocol=5)
    torch.save(tensors, folder / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save({"epoch": 3, "loss": 0.5, "size": torch.Size([2]), "type": torch.float16, "device": torch.device("cpu"),
                "seed": 2 ** 70, "big": 2 ** 62, "flags": [True, None, (1, -2, 300, 70000)],
                "state_dict": tensors}, folder / "nested.pt")
    torch.save({n: torch.nn.Parameter(t, requires_grad=t.dtype.is_floating_point) for n, t in tensors.items()},
               folder / "parameters.pt")
    # Each tensor is a view into a longer storage and does not begin at its start.
    views = collections.OrderedDict()
    for name, tensor in tensors.items():
        base = torch.zeros(4 + tensor.numel() + 3, dtype=tensor.dtype)
        views[name] = base[4:4 + tensor.numel()].view(tensor.shape).copy_(tensor)
    torch.save(views, folder / "views.pt")

    # Tensors that safetensors does not support: tied tensors, and one with permuted strides.
    tied = torch.arange(6.0).reshape(2, 3)
    torch.save({"a": tied, "b": tied, "row": tied[1]}, folder / "tied.bin")
    torch.save({"turned": tied.T}, folder / "turned.bin")
    torch.save({"small": tied.to(torch.float8_e4m3fn), "wide": tied.to(torch.uint16)}, folder / "unreadable.bin")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), folder / "script.pt")

    write_gguf(folder / "model.gguf", tensors)


def write_gguf(path, tensors, **split):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama", **split)
    for name, tensor in tensors.items():
        if tensor.dim() == 2 and tensor.numel() and name.split(".")[0].upper() in GGUF_TYPES:
            writer.add_tensor(name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_shards(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}\n")
    tensors = draw_plain()
    files = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    shards = [{n: t for i, (n, t) in enumerate(tensors.items()) if i % 2 == part} for part in (0, 1)]
    for file, shard in zip(files, shards):
        torch.save(shard, folder / file)
    weight_map = {n: file for file, shard in zip(files, shards) for n in shard}
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "formats")
    folder = parser.parse_args().folder
    write_quants(folder / "quants")
    write_plain(folder / "plain")
    write_shards(folder / "plain_sharded")
    write_gguf(folder / "split" / "model.gguf", draw_plain(), split_max_tensors=3, small_first_shard=True)
