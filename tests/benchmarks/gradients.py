#!/usr/bin/env python3
"""Measures gradient norms with autograd, with one backward pass through the whole model for each sentence, for
comparison with benchmark_gradients.

    python gradients.py MODEL.gguf|FOLDER [--sentences 32]

Needs torch and transformers. The loss is the mean of random sentences of 20 to 60 tokens. One pass computes the
gradients of the query, key and value weights only. Another computes those of all weights, as loss.backward() does.
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
draw = random.Random(1)
sentences = [torch.randint(model.config.vocab_size, (1, draw.randint(20, 60))) for _ in range(given.sentences)]


def norms(ids, wanted):
    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    gradients = dict(zip(map(id, wanted), torch.autograd.grad(loss, wanted)))
    heads = [gradients[id(p)].reshape(-1, model.config.head_dim, p.shape[-1]) for p in chosen]
    return [head.flatten(1).norm(dim=1) for head in heads]


for name, wanted in (("query, key and value weights", chosen), ("all weights", list(model.parameters()))):
    for parameter in model.parameters():
        parameter.requires_grad_(any(parameter is p for p in wanted))
    norms(sentences[0], wanted)
    begin = time.perf_counter()
    for ids in sentences:
        norms(ids, wanted)
    seconds = time.perf_counter() - begin
    print(f"{name}: {given.sentences} sentences in {seconds:.2f} s; of 256: {256 * seconds / given.sentences:.1f} s")
