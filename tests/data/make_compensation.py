#!/usr/bin/env python3
"""Writes compensation.json: compensations of small models of tests/data/forward, fitted with transformers and numpy.

    python make_compensation.py

Needs torch, transformers (5.x) and numpy. For each model: "sequences" of token ids, "cut" (heads as [layer, head], and
neurons of layer 0), and for each mode the fitted "parts" in their order. The equations are those of
resources/manual/strategies.md (Modes of compensation), in float64, on the inputs of the projections in the pruned model.

Drawings for which the two best values of mu are closer than CLEAR are refused: rounding could exchange them.
"""

import copy
import json
import pathlib

import numpy as np
import torch

from make_forward_metrics import load

HERE = pathlib.Path(__file__).parent
# Attention and MLP of a layer read the same input in phi; norms follow the projections in gemma3.
SEEDS = {"llama-gqa": 4, "gpt2": 3, "qwen3": 7, "gemma3": 5, "phi": 17}
LENGTHS = (13, 16, 9, 15, 11, 14, 12)
HEADS = ((0, 1), (1, 0))
NEURONS = (0, 1, 2, 5)
GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
CLEAR = 1e-4


def projections(model, layer):
    """The output and the down projection of a layer."""
    if model.config.model_type == "gpt2":
        block = model.transformer.h[layer]
        return block.attn.c_proj, block.mlp.c_proj
    block = model.model.layers[layer]
    if model.config.model_type == "phi":
        return block.self_attn.dense, block.mlp.fc2
    return block.self_attn.o_proj, block.mlp.down_proj


def weight_of(module):
    """[hidden, columns]; GPT-2 stores the transpose."""
    return module.weight.data.T if type(module).__name__ == "Conv1D" else module.weight.data


def seen(model, module, sequences):
    """The inputs of a module, tokens of all sequences in their order."""
    inputs = []
    hook = module.register_forward_pre_hook(lambda _, args: inputs.append(args[0][0].detach()))
    with torch.no_grad():
        for ids in sequences:
            model(input_ids=torch.tensor([ids]))
    hook.remove()
    return torch.cat(inputs).numpy()


def solved(mode, a, y, w, size, mu):
    """The weight, factors and bias of a mode. a [tokens, columns], y [tokens, hidden], w [hidden, columns]."""
    ridge = mu * np.mean(np.sum(a * a, 0))
    if mode == "bias":
        return w, None, (y - a @ w.T).mean(0)
    if mode == "weights":
        return np.linalg.solve(a.T @ a + ridge * np.eye(a.shape[1]), a.T @ y + ridge * w.T).T, None, None
    both = mode == "both"
    centre = (lambda x: x - x.mean(0)) if both else (lambda x: x)
    units = [slice(i, i + size) for i in range(0, a.shape[1], size)]
    parts = np.stack([centre(a[:, unit] @ w[:, unit].T).ravel() for unit in units], 1)  # [tokens * hidden, units]
    rest = centre(y).ravel() - parts.sum(1)
    sizes = np.array([np.sum(w[:, unit] ** 2) for unit in units])
    factors = 1 + np.linalg.solve(parts.T @ parts + ridge * np.diag(sizes), parts.T @ rest)
    scaled = w * np.repeat(factors, size)
    return scaled, factors, (y - a @ scaled.T).mean(0) if both else None


def error(a, y, solution):
    weight, _, bias = solution
    return float(np.sum((y - a @ weight.T - (0 if bias is None else bias)) ** 2))


def fitted(mode, a, y, w, size, norms):
    scale = 1 / np.sqrt(np.mean(y * y, 1, keepdims=True)) if norms else 1
    if norms and mode in ("bias", "both"):
        return None  # the weighted mean needs weights in `solved`; the equations' own fixture has these
    a, y = a * scale, y * scale
    first = len(a) - len(a) // 5
    grid = GRID if mode != "bias" else GRID[:1]
    errors = [error(a[first:], y[first:], solved(mode, a[:first], y[:first], w, size, mu)) for mu in grid]
    best = int(np.argmin(errors))
    ranked = sorted(errors)
    if len(ranked) > 1 and ranked[1] < ranked[0] * (1 + CLEAR):
        raise SystemExit(f"{mode}: two values of mu are equally good: use another seed")
    size_of = float(np.sum(y[first:] ** 2))
    weight, factors, bias = solved(mode, a, y, w, size, grid[best])
    return dict(mu=grid[best] if mode != "bias" else None, before=error(a[first:], y[first:], (w, None, None)) / size_of,
                after=errors[best] / size_of, weight=weight, factors=factors, bias=bias)


def numbers(values):
    return None if values is None else [float(f"{value:.9g}") for value in np.ravel(values)]


def fit(dense, mode, sequences):
    config = dense.config
    heads = config.num_attention_heads
    layers = config.num_hidden_layers
    model = copy.deepcopy(dense)
    cuts = {}
    for layer in range(layers):
        output, down = projections(model, layer)
        size = weight_of(output).shape[1] // heads
        columns = [h * size + i for h in range(heads) if (layer, h) in HEADS for i in range(size)]
        cuts[layer] = (columns, size), (list(NEURONS) if layer == 0 else [], 1)
        for module, (cut, _) in zip((output, down), cuts[layer]):
            weight_of(module)[:, cut] = 0
    norms = config.model_type.startswith("gemma3")
    parts = []
    for layer in range(layers):
        for which in range(2):
            module = projections(model, layer)[which]
            cut, size = cuts[layer][which]
            if not cut:
                continue
            # What a projection reads does not depend on its own weight.
            inputs = seen(model, module, sequences)
            own = sorted(set(range(inputs.shape[1])) - set(cut))
            whole = weight_of(projections(dense, layer)[which]).numpy()
            found = fitted(mode, inputs[:, own], inputs @ whole.T, whole[:, own], size, norms)
            if found is None:
                return None
            weight_of(module)[:, own] = torch.from_numpy(found["weight"])
            if found["bias"] is not None:
                if module.bias is None:
                    module.bias = torch.nn.Parameter(torch.zeros(len(found["bias"]), dtype=torch.float64))
                module.bias.data += torch.from_numpy(found["bias"])
            parts.append(dict(layer=layer, attention=which == 0, mu=found["mu"], error_before=found["before"],
                              error_after=found["after"], factors=numbers(found["factors"]),
                              bias=numbers(found["bias"]),
                              weight=numbers(found["weight"]) if mode == "weights" else None))
    return parts


def main():
    cases = {}
    for name, seed in SEEDS.items():
        model = load(name)
        draw = np.random.default_rng(seed)
        sequences = [draw.integers(3, model.config.vocab_size, length).tolist() for length in LENGTHS]
        modes = {mode: fit(model, mode, sequences) for mode in ("bias", "scale", "both", "weights")}
        cases[name] = dict(sequences=sequences, cut=dict(heads=HEADS, neurons=NEURONS),
                           modes={mode: parts for mode, parts in modes.items() if parts})
        print(name, {mode: [part["mu"] for part in parts] for mode, parts in cases[name]["modes"].items()})
    (HERE / "compensation.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
