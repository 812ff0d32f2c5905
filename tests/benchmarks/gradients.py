#!/usr/bin/env python3
"""Gradient norms as autograd gives them, one backward pass of the whole model per sentence, for comparison with
benchmark_gradients.

    python gradients.py MODEL.gguf|FOLDER [--sentences 32]

Needs torch and transformers. Gradients are of the query, key and value weights alone, from the mean loss of random
sentences of 20 to 60 tokens.
"""

import argparse
import pathlib
import random
import time

import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("model", type=pathlib.Path)
parser.add_argument("--sentences", type=int, default=32)
given = parser.parse_args()

folder, file = (given.model.parent, {"gguf_file": given.model.name}) if given.model.is_file() else (given.model, {})
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **file).eval()
chosen = [p for n, p in model.named_parameters() if any(k in n for k in ("q_proj.weight", "k_proj.weight", "v_proj.weight"))]
for parameter in model.parameters():
    parameter.requires_grad_(False)
for parameter in chosen:
    parameter.requires_grad_(True)
draw = random.Random(1)
sentences = [torch.randint(model.config.vocab_size, (1, draw.randint(20, 60))) for _ in range(given.sentences + 1)]
for number, ids in enumerate(sentences):
    if number == 1:
        begin = time.perf_counter()
    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    norms = [g.reshape(-1, model.config.head_dim, g.shape[-1]).flatten(1).norm(dim=1)
             for g in torch.autograd.grad(loss, chosen)]
seconds = time.perf_counter() - begin
print(f"{given.sentences} sentences in {seconds:.2f} s; of 256: {256 * seconds / given.sentences:.1f} s")
