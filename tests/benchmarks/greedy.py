#!/usr/bin/env python3
"""Greedy-Gnorm as a loop that recomputes everything after each cut, with one backward pass through the whole model for
each sentence. benchmark_greedy runs it for comparison.

    python greedy.py FOLDER SENTENCES [--steps 50]

Needs torch and transformers. SENTENCES is a file of token ids, one sentence per line. The outputs of cut heads are set
to 0 before the output projection. F, the function to differentiate, is the norm of the pooled output. Prints the
seconds, then LAYER.HEAD of each cut.
"""

import argparse
import time

import torch
from transformers import AutoModel

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("sentences")
parser.add_argument("--steps", type=int, default=50)
given = parser.parse_args()

model = AutoModel.from_pretrained(given.model, dtype=torch.float32).eval()
sentences = [torch.tensor([[int(word) for word in line.split()]]) for line in open(given.sentences)]
layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
gates = torch.ones(layers, heads)
chosen = []
for parameter in model.parameters():
    parameter.requires_grad_(False)
for number, layer in enumerate(model.encoder.layer):
    attention = layer.attention

    def gate(_, args, number=number):
        values = args[0].unflatten(-1, (heads, -1)) * gates[number][:, None]
        return (values.flatten(-2),)

    attention.output.dense.register_forward_pre_hook(gate)
    for projection in (attention.self.query, attention.self.key, attention.self.value):
        projection.weight.requires_grad_(True)
        chosen.append(projection.weight)


def scores():
    sums = torch.zeros(3 * layers, heads, dtype=torch.float64)
    for ids in sentences:
        scalar = model(input_ids=ids).pooler_output.norm()
        gradients = torch.stack(torch.autograd.grad(scalar, chosen))
        sums += gradients.reshape(3 * layers, heads, -1).norm(dim=2)
    return (sums / len(sentences)).reshape(layers, 3, heads).prod(1)


begin = time.perf_counter()
cuts = []
for _ in range(given.steps):
    values = scores().masked_fill(gates == 0, float("inf"))
    at = int(values.argmin())
    cuts.append(divmod(at, heads))
    gates[cuts[-1]] = 0
print(time.perf_counter() - begin, *(f"{layer}.{head}" for layer, head in cuts))
