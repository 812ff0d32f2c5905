#!/usr/bin/env python3
"""What numpy makes of Mag-SP (design: methods.md 6), in float64 from the definition.

    python mag_sp_judge.py                                  expected_mag_sp.json for two small models beside this file
    python mag_sp_judge.py --compare RESULT=PATH [...]      worst relative error of `secateur-cli measure --json` output
"""

import argparse
import json
import pathlib

import gguf
import numpy as np
from safetensors import safe_open

HERE = pathlib.Path(__file__).parent
COMMITTED = ["gqa-bf16", "gqa-q4_1-gguf"]


def read_hugging_face(folder):
    """Query heads, and (o_proj, down_proj) of each layer as [out, in]."""
    config = json.loads((folder / "config.json").read_text())
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            tensors |= {name: opened.get_tensor(name).double().numpy() for name in opened.keys() if "_proj" in name}
    prefixes = [f"model.layers.{layer}." for layer in range(config["num_hidden_layers"])]
    return config["num_attention_heads"], [(tensors[p + "self_attn.o_proj.weight"],
                                            tensors[p + "mlp.down_proj.weight"]) for p in prefixes]


def read_gguf(path):
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    tensors = {}
    for tensor in reader.tensors:
        if "attn_output.weight" in tensor.name or "ffn_down.weight" in tensor.name:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
            tensors[tensor.name] = values.reshape([int(n) for n in reversed(tensor.shape)])
    layers = range(reader.fields[f"{architecture}.block_count"].contents())
    return reader.fields[f"{architecture}.attention.head_count"].contents(), [
        (tensors[f"blk.{n}.attn_output.weight"], tensors[f"blk.{n}.ffn_down.weight"]) for n in layers]


def judged(path):
    """Norms of columns: summed over those of a head, alone for a neuron."""
    if path.is_dir() and (path / "config.json").exists():
        heads, layers = read_hugging_face(path)
    else:
        heads, layers = read_gguf(path / "model.gguf" if path.is_dir() else path)
    values = {"mag_sp_head": [], "mag_sp_neuron": []}
    for output, down in layers:
        columns = [float(np.sqrt((output[:, j] ** 2).sum())) for j in range(output.shape[1])]
        size = len(columns) // heads
        values["mag_sp_head"].append([sum(columns[h * size:(h + 1) * size]) for h in range(heads)])
        values["mag_sp_neuron"].append([float(np.sqrt((down[:, m] ** 2).sum())) for m in range(down.shape[1])])
    return values


def worst_error(result, path):
    worst = 0.0
    measured = json.loads(pathlib.Path(result).read_text())["metrics"]
    for metric, layers in judged(path).items():
        for expected, found in zip(layers, measured[metric]["values"], strict=True):
            worst = max(worst, float(np.abs(np.array(found) / np.array(expected) - 1).max()))
    return worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", nargs="+", metavar="RESULT=PATH")
    arguments = parser.parse_args()
    if arguments.compare:
        for item in arguments.compare:
            result, _, path = item.partition("=")
            print(f"{worst_error(result, pathlib.Path(path)):.2g}  {path}")
    else:
        record = {name: judged(HERE / name) for name in COMMITTED}
        (HERE / "expected_mag_sp.json").write_text(json.dumps(record, indent=1) + "\n")
