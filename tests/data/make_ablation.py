#!/usr/bin/env python3
"""Writes ablation.json: the increase of the loss when one head, attention, MLP or block is removed from a model of
tests/data/forward, computed with transformers.

    python make_ablation.py

Needs torch, transformers (5.x), numpy, and gradient_metrics.json, from which texts, labels and cuts are taken. For each
model and metric: the increase of the mean loss as [layers][heads] or [layers]. "masked" has the same for the model
without the heads in "cut", with null for these heads. Everything is computed in float64 with each sequence alone.
"""

import contextlib
import json
import pathlib

import numpy as np
import torch

import forward_judge as fj
from gradient_metrics_judge import Judge
from make_forward_metrics import load

HERE = pathlib.Path(__file__).parent


def loss(judge):
    with torch.no_grad():
        logs = torch.cat([judge.logs(number) for number in range(len(judge.sequences))])
    return -logs.mean().item()


def closed(judge, layer, head):
    gates = judge.gates()
    gates[layer].data[head] = 0
    return judge.gated(gates)


@contextlib.contextmanager
def silent(module):
    hook = module.register_forward_hook(lambda _, __, output: torch.zeros_like(output))
    yield
    hook.remove()


@contextlib.contextmanager
def passed(layer):
    """Makes a layer return its input."""
    def skip(_, args, named, output):
        entered = args[0] if args else named["hidden_states"]
        return (entered, *output[1:]) if isinstance(output, tuple) else entered

    hook = layer.register_forward_hook(skip, with_kwargs=True)
    yield
    hook.remove()


def rise(judge, whole, removal):
    with removal:
        if judge.cut:
            with judge.gated(judge.gates()):
                return loss(judge) - whole
        return loss(judge) - whole


def expected(judge):
    with judge.gated(judge.gates()):
        whole = loss(judge)
    of = {name: [] for name in ("ablation_head", "ablation_attention", "ablation_mlp", "ablation_block")}
    for number, layer in enumerate(judge.layers):
        modules = fj.modules_of(layer, judge.kind)
        of["ablation_head"].append([None if [number, head] in judge.cut else
                                    rise(judge, whole, closed(judge, number, head)) for head in range(judge.heads)])
        of["ablation_attention"].append(rise(judge, whole, silent(modules["output"])))
        of["ablation_mlp"].append(rise(judge, whole, silent(modules["down"])))
        of["ablation_block"].append(rise(judge, whole, passed(layer)))
    repeats = judge.applications // len(judge.layers)
    return {name: values * repeats for name, values in of.items()}


def rounded(values):
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return None if values is None else float(f"{values:.9g}")


def main():
    texts = json.loads((HERE / "gradient_metrics.json").read_text())
    document = {}
    for name, own in texts.items():
        model = load(name)
        with fj.InDouble():
            found = [expected(Judge(model, own["sequences"], own["labels"], cut)) for cut in ([], own["cut"])]
        document[name] = {part: {metric: rounded(values) for metric, values in metrics.items()}
                          for part, metrics in zip(("metrics", "masked"), found)}
        print(name, np.array(document[name]["metrics"]["ablation_head"]).round(4).tolist()[0])
    (HERE / "ablation.json").write_text(json.dumps(document, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
