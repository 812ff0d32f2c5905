#!/usr/bin/env python3
"""Measures the ablation of heads with transformers, for comparison with benchmark_ablation. Each head takes one forward
pass, in which a hook sets the head's context vectors to 0.

    python ablation.py MODEL.gguf|FOLDER TEXT [--type float32] [--tokens 2048] [--window 512] [--part 0/1] [--heads 0]

Needs torch and transformers. --part K/N: measures only the layers whose number modulo N is K. --heads N: measures only
N heads of each layer and extrapolates the time to all heads; 0 = all heads.
"""

import argparse
import pathlib
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("model", type=pathlib.Path)
parser.add_argument("text", type=pathlib.Path)
parser.add_argument("--type", default="float32")
parser.add_argument("--tokens", type=int, default=2048)
parser.add_argument("--window", type=int, default=512)
parser.add_argument("--part", default="0/1")
parser.add_argument("--heads", type=int, default=0)
given = parser.parse_args()

folder, file = (given.model.parent, {"gguf_file": given.model.name}) if given.model.is_file() else (given.model, {})
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, given.type), **file).eval()
text = given.text.read_text(encoding="utf-8")[:given.tokens * 20]
ids = torch.tensor(AutoTokenizer.from_pretrained(folder, **file)(text)["input_ids"][:given.tokens])
ids = ids.view(-1, given.window)
heads, size = model.config.num_attention_heads, model.model.layers[0].self_attn.head_dim


def loss():
    return model(input_ids=ids, labels=ids, use_cache=False).loss.item()


def without(layer, head):
    def empty(_, args):
        gathered = args[0].clone()
        gathered[..., head * size:(head + 1) * size] = 0
        return (gathered,)

    hook = model.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(empty)
    try:
        return loss()
    finally:
        hook.remove()


part, parts = map(int, given.part.split("/"))
layers = range(part, model.config.num_hidden_layers, parts)
with torch.inference_mode():
    whole = loss()
    begin = time.perf_counter()
    rises = {(layer, head): without(layer, head) - whole
             for layer in layers for head in range(given.heads or heads)}
    seconds = (time.perf_counter() - begin) / len(rises)
    begin = time.perf_counter()
    loss()
    dense = time.perf_counter() - begin
print(f"transformers {given.type}, {ids.numel()} tokens: {len(layers) * heads} heads in {seconds * len(layers) * heads:.2f} s "
      f"({seconds:.3f} s each, dense {dense:.3f} s); " +
      ", ".join(f"{layer}.{head} {rise:.5f}" for (layer, head), rise in list(rises.items())[:4]))
