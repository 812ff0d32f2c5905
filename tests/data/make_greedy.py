#!/usr/bin/env python3
"""Writes greedy.json: the heads that Greedy-Gnorm cuts from models of tests/data/forward, found by a loop that
recomputes all gradients with autograd after each cut. Also writes gradient_change.json: the change of gradients when
a head is cut.

    python make_greedy.py

Needs torch, transformers (5.x) and numpy. Texts and labels are those of gradient_metrics.json. The measured value of a
mask is the mean loss per token for decoders, and the accuracy for classifiers. greedy.json has for each model and
variant "before", the value of the dense model, and "cuts". Each cut is [layer, head, score before the step, value after
the step]. gradient_change.json has "cut", the head, and for each layer the change of the mean of dF/dW_q over the texts
as [heads][blocks]. A block has as many columns as a head has rows.
"""

import json
import pathlib

import numpy as np
import torch

import forward_judge as fj
from gradient_metrics_judge import Judge
from make_forward_metrics import load

HERE = pathlib.Path(__file__).parent
MODELS = ["llama-mha", "gpt2", "llama-gqa", "qwen3", "bert", "albert"]
CUTS = 8


def recorded(judge):
    with torch.no_grad(), judge.gated(judge.gates()):
        if judge.encoder:
            answers = [int(judge.output(ids)[0].argmax()) for ids in judge.sequences]
            return float(np.mean([a == b for a, b in zip(answers, judge.labels)]))
        return float(-torch.cat([judge.logs(number) for number in range(len(judge.sequences))]).mean())


def run(model, sequences, labels, inverse=False, per_step=1, protected=(), of=None):
    judge = Judge(model, sequences, labels)
    cut, cuts, before = [], [], recorded(judge)
    closest = np.inf
    while len(cuts) < CUTS:
        values = judge.norms(of or ("logit_norm" if judge.encoder else "task_loss")).prod(0)
        left = [(layer, head) for layer in range(values.shape[0]) for head in range(values.shape[1])
                if (layer, head) not in cut and layer not in protected]
        if not left:
            break
        order = sorted(left, key=lambda at: -values[at] if inverse else values[at])
        chosen = order[:per_step]
        if len(order) > per_step:
            closest = min(closest, abs(values[order[per_step]] / values[chosen[-1]] - 1))
        cut += chosen
        judge = Judge(model, sequences, labels, cut)
        value = recorded(judge)
        cuts += [[*map(int, at), float(f"{values[at]:.8g}"), float(f"{value:.8g}")] for at in chosen]
    print(f"  {len(cuts)} cuts, the closest choice {closest:.1e} apart")
    return {"before": float(f"{before:.8g}"), "cuts": cuts}


def in_small(gradient):
    """Reduces [heads, d, hidden] to [heads, hidden / d]: the mean of each block of d rows and d columns."""
    d = gradient.shape[1]
    return torch.stack([piece.mean((1, 2)) for piece in gradient.split(d, 2)], 1).numpy()


def query_gradients(judge):
    of = "logit_norm" if judge.encoder else "task_loss"
    sums = 0
    with judge.gated(judge.gates()):
        for number in range(len(judge.sequences)):
            weights = [judge.weights(layer) for layer in judge.own_layers()]
            unique = list(dict.fromkeys(own[0] for own in weights))
            found = dict(zip(unique, torch.autograd.grad(judge.scalar(number, of), unique)))
            sums = sums + np.array([in_small(judge.by_head(layer, [found[own[0]]] * 3)[0])
                                    for layer, own in enumerate(weights)])
    return judge.spread(sums / len(judge.sequences))


def change(model, sequences, labels):
    cut = (0, 1)
    values = query_gradients(Judge(model, sequences, labels, [cut])) - query_gradients(Judge(model, sequences, labels))
    return {"cut": cut, "layers": [[[float(f"{x:.8g}") for x in row] for row in layer] for layer in values]}


def write(name, document):
    (HERE / name).write_text(json.dumps(document, separators=(",", ":")).replace('},"', '},\n"') + "\n")


def main():
    texts = json.loads((HERE / "gradient_metrics.json").read_text())
    document, changes = {}, {}
    for name in MODELS:
        model = load(name)
        own = texts[name]["sequences"], texts[name]["labels"]
        print(name)
        with fj.InDouble():
            document[name] = {"gnorm_greedy": run(model, *own), "gnorm_inverse": run(model, *own, inverse=True),
                              "gnorm_greedy:per_step=2": run(model, *own, per_step=2),
                              "gnorm_greedy:scalarisation=logit_norm": run(model, *own, of="logit_norm")}
            if model.config.model_type != "albert":
                document[name]["protect 1"] = run(model, *own, protected=(1,))
            changes[name] = change(model, *own)
    write("greedy.json", document)
    write("gradient_change.json", changes)


if __name__ == "__main__":
    main()
