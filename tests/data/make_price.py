#!/usr/bin/env python3
"""Writes price/parameters.json: the number of parameters that remain in the small models of forward/ under random
masks.

    python make_price.py

Needs torch and safetensors. Every tensor of a checkpoint is sliced, and the remaining elements are counted. The slices
are chosen by the names of the tensors, following the rules in analysis/masks/price.h.
"""

import json
import pathlib
import re

import numpy as np
import torch
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
MODELS = ["albert", "bert", "bert-bare", "gemma2", "gemma3", "gpt2", "llama-bias", "llama-gqa", "llama-mqa",
          "llama-tied", "phi", "qwen2", "qwen3", "roberta"]
MASKS = 6

ROLES = [  # roles of a layer's tensors by patterns of their names; the first match counts
    ("qkv", r"attn\.c_attn\."), ("q", r"(q_proj|query)\."), ("k", r"(k_proj|key)\."), ("v", r"(v_proj|value)\."),
    ("qk_norm", r"[qk]_norm\."),
    ("attn_sum_norm", r"attention\.(output\.)?LayerNorm\."), ("mlp_sum_norm", r"(full_layer_layer_norm|output\.LayerNorm)\."),
    ("o", r"(o_proj|attn\.c_proj|self_attn\.dense|attention\.(output\.)?dense)\."),
    ("up", r"(gate_proj|up_proj|fc1|intermediate\.dense|mlp\.c_fc|ffn)\."),
    ("down", r"(down_proj|fc2|output\.dense|mlp\.c_proj|ffn_output)\."),
    ("attn_norm", r"(input_layernorm|ln_1)\."), ("mlp_norm", r"(pre_feedforward_layernorm|ln_2)\."),
    ("mlp_post_norm", r"post_feedforward_layernorm\."), ("post_attention", r"post_attention_layernorm\."),
]
LAYER = re.compile(r"(?:layers|layer|h|albert_layer_groups)\.(\d+)\.")


def role(name):
    return next(kind for kind, pattern in ROLES if re.search(pattern, name))


class Shape:
    def __init__(self, config):
        self.heads = config.get("num_attention_heads") or config["n_head"]
        self.groups = config.get("num_key_value_heads") or self.heads
        hidden = config.get("hidden_size") or config["n_embd"]
        self.dim = config.get("head_dim") or hidden // self.heads
        self.kind = config["model_type"]
        self.layers = config.get("num_hidden_layers") or config["n_layer"]


def rows(kept, dim):
    return torch.tensor([i * dim + j for i in kept for j in range(dim)], dtype=torch.long)


def sliced(name, tensor, cut, shape, tensors):
    """The slice of a layer's tensor that remains after the cut, or None."""
    if cut.get("block") == "drop":
        return None
    kind = role(name)
    conv1d = shape.kind == "gpt2" and tensor.dim() == 2
    matrix = tensor.t() if conv1d else tensor
    bias = matrix.dim() == 1
    bypassed = cut.get("attention") == "bypass_qk"
    attention = cut.get("attention") != "drop" and not (bypassed and cut["alpha"] == 0)
    mlp = cut.get("mlp") != "drop"
    heads = [h for h in range(shape.heads) if h not in cut.get("heads_cut", [])] if attention else []
    groups = sorted({h // (shape.heads // shape.groups) for h in heads})
    inner = next(t.shape[1] if shape.kind != "gpt2" else t.shape[0] for n, t in tensors.items()
                 if LAYER.search(n) and role(n) == "down" and t.dim() == 2)
    neurons = [m for m in range(inner) if m not in cut.get("neurons_cut", [])] if mlp else []
    biased = lambda wanted: any(LAYER.search(n) and role(n) == wanted and t.dim() == 1 for n, t in tensors.items())
    attends = bool(heads) or (attention and biased("o"))
    transforms = bool(neurons) or (mlp and biased("down"))
    if kind == "post_attention":
        kind = "attn_post_norm" if shape.kind.startswith("gemma") else "mlp_norm"
    if kind == "qkv":
        q, k, v = matrix.split(matrix.shape[0] // 3)
        return torch.cat(([] if bypassed else [q[rows(heads, shape.dim)], k[rows(groups, shape.dim)]]) +
                         [v[rows(groups, shape.dim)]])
    if kind == "q":
        return None if bypassed else matrix[rows(heads, shape.dim)]
    if kind == "k":
        return None if bypassed else matrix[rows(groups, shape.dim)]
    if kind == "v":
        return matrix[rows(groups, shape.dim)]
    if kind == "o":
        return (matrix if attention else None) if bias else matrix[:, rows(heads, shape.dim)]
    if kind == "up":
        return matrix[rows(neurons, 1)]
    if kind == "down":
        return (matrix if mlp else None) if bias else matrix[:, rows(neurons, 1)]
    keep = {
        "qk_norm": bool(heads) and not bypassed,
        "attn_norm": attends or (shape.kind == "phi" and transforms),
        "attn_post_norm": attends,
        "mlp_norm": transforms,
        "mlp_post_norm": transforms,
        "attn_sum_norm": True,
        "mlp_sum_norm": True,
    }[kind]
    return matrix if keep else None


def drawn(random, shape, inner):
    layers = []
    for index in range(1 if shape.kind == "albert" else shape.layers):
        cut = {"layer": index}
        draw = random.integers(0, 9)
        if draw == 0:
            cut["block"] = "drop"
        elif draw in (1, 2):
            cut["attention"] = "drop"
        elif draw in (3, 4):
            cut.update(attention="bypass_qk", alpha=[0, 0.5][random.integers(0, 2)])
        if draw > 2:
            some = sorted(int(h) for h in np.flatnonzero(random.random(shape.heads) < 0.5))
            if draw == 5:
                some = list(range(shape.heads))
            if some:
                cut["heads_cut"] = some
        if draw in (2, 7):
            cut["mlp"] = "drop"
        elif draw > 0:
            share = 1.1 if draw == 8 else 0.4
            cut["neurons_cut"] = [int(m) for m in np.flatnonzero(random.random(inner) < share)]
            if not cut["neurons_cut"]:
                del cut["neurons_cut"]
        if len(cut) > 1:
            layers.append(cut)
    return layers


def emptied(shape, inner):
    """Masks that cut all heads, all neurons, and both, of the first layer."""
    heads, neurons = {"heads_cut": list(range(shape.heads))}, {"neurons_cut": list(range(inner))}
    return [[{"layer": 0} | cut] for cut in (heads, neurons, heads | neurons)]


def left(tensors, layers, shape):
    cuts = {cut["layer"]: cut for cut in layers}
    count = 0
    for name, tensor in tensors.items():
        found = LAYER.search(name)
        part = sliced(name, tensor, cuts.get(int(found[1]), {}), shape, tensors) if found else tensor
        count += 0 if part is None else part.numel()
    return count


def main():
    expected = {}
    for model in MODELS:
        folder = HERE / "forward" / model
        config = json.loads((folder / "config.json").read_text())
        shape = Shape(config.get("text_config", config))
        tensors = load_file(folder / "model.safetensors")
        inner = next(t.shape[1 if shape.kind != "gpt2" else 0] for n, t in tensors.items()
                     if LAYER.search(n) and role(n) == "down" and t.dim() == 2)
        random = np.random.default_rng(len(model))
        cases = [[]] + [drawn(random, shape, inner) for _ in range(MASKS)] + emptied(shape, inner)
        expected[model] = [{"layers": layers, "parameters": left(tensors, layers, shape)} for layers in cases]
    lines = ",\n".join(f'"{model}": [\n' + ",\n".join(" " + json.dumps(case) for case in cases) + "]"
                       for model, cases in expected.items())
    (HERE / "price" / "parameters.json").write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
