"""Measures the gate-norms of a checkpoint in plain PyTorch, for comparison with benchmark_gate_norm.

    python gate_norm.py FOLDER [LAYERS]

Computes (Wq.T @ Wk).norm() of each layer in float32 and in bfloat16, with the keys repeated for each query head.
"""

import json
import pathlib
import sys
import time

import numpy
import torch

folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
layers = int(sys.argv[2]) if len(sys.argv) > 2 else config["num_hidden_layers"]
repeats = config["num_attention_heads"] // config["num_key_value_heads"]
head = config["hidden_size"] // config["num_attention_heads"]

# The safetensors package is not used, because it maps the whole file as writable memory, which many machines do not
# allow for a file of this size.
path = folder / "model.safetensors"
with open(path, "rb") as file:
    size = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(size))


def tensor(name):
    entry = header[name]
    begin, end = entry["data_offsets"]
    data = numpy.memmap(path, numpy.uint16, "c", 8 + size + begin, ((end - begin) // 2,))
    dtype = {"F16": torch.float16, "BF16": torch.bfloat16}[entry["dtype"]]
    return torch.from_numpy(data).view(dtype).view(entry["shape"])


for dtype in (torch.float32, torch.bfloat16):
    seconds = 0.0
    values = []
    for layer in range(layers):
        begin = time.perf_counter()
        query, key = (tensor(f"model.layers.{layer}.self_attn.{kind}_proj.weight").to(dtype)
                      for kind in "qk")
        key = key.view(-1, head, key.shape[1]).repeat_interleave(repeats, 0).flatten(0, 1)
        values.append((query.T @ key).norm().item())
        seconds += time.perf_counter() - begin
    print(f"{dtype}: {seconds:.2f} s for {layers} layers, {seconds / layers:.4f} s each; first {values[0]:.6f}")
