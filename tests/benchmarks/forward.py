#!/usr/bin/env python3
"""Measures tokens per second of transformers with its default settings, for comparison with benchmark_forward.

    python forward.py MODEL.gguf|FOLDER [--type float32|bfloat16] [--device cpu|cuda] [--rows 8] [--length 512] [--repeat 4]

Needs torch and transformers, and for GGUF files gguf and accelerate. Computes logits and the mean cross-entropy of the same number of random tokens. To measure
with a tuned malloc, set MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ and MALLOC_TOP_PAD_ in the environment.
"""

import argparse
import pathlib
import time

import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("model", type=pathlib.Path)
parser.add_argument("--type", default="float32")
parser.add_argument("--device", default="cpu")
parser.add_argument("--rows", type=int, default=8)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--repeat", type=int, default=4)
given = parser.parse_args()

folder, file = (given.model.parent, {"gguf_file": given.model.name}) if given.model.is_file() else (given.model, {})
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, given.type), **file).eval().to(given.device)
ids = torch.randint(model.config.vocab_size, (given.rows, given.length), generator=torch.Generator().manual_seed(0)).to(given.device)
seconds = []
with torch.inference_mode():
    for _ in range(given.repeat + 1):
        begin = time.perf_counter()
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss.item()
        seconds.append(time.perf_counter() - begin)
best = min(seconds[1:])
print(f"transformers {given.type}: {ids.numel() / best:.0f} tokens/s ({best:.2f} s); loss {loss:.6f}")
