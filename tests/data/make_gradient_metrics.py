#!/usr/bin/env python3
"""Writes gradient_metrics.json: gradient metrics of the models of tests/data/forward, computed with autograd and numpy.

    python make_gradient_metrics.py

Needs torch, transformers (5.x) and numpy. For each model: "sequences" of token ids, "labels" of a classifier, "metrics"
by result id as [layers][heads], and "masked": the same with the gates of the heads in "cut" closed. "head_fisher" is
the exact value, which random signs estimate.

Every result is computed again after a change of the last bit of all parameters in float32. Texts for which this moves a
value by more than MOST_MOVED of the largest are refused: a test could not tell rounding from an error there. Draw them
with another seed.
"""

import copy
import json
import pathlib

import numpy as np
import torch

import forward_judge as fj
from gradient_metrics_judge import ENCODERS, Judge
from make_forward_metrics import load

HERE = pathlib.Path(__file__).parent
SEEDS = {"llama-mha": 100, "gpt2": 101, "llama-gqa": 102, "qwen3": 203, "gemma3": 104, "bert": 105, "albert": 106}
MOST_MOVED = 6e-6
LENGTHS = (15, 9, 12, 4)
CUT = ((0, 1), (1, 0))


def numbers(values):
    return [[float(f"{value:.8g}") for value in row] for row in values]


def magnitudes(judge, of):
    suffix = "" if of == "task_loss" else f":scalarisation={of}"
    return {"head_mask_gradient" + suffix: np.abs(judge.gate_gradients(of)).mean(0)}


def norms(judge, found, of, usual, batch=0):
    options = (f":code_compat_batch={batch}" if batch else "") + ("" if of == usual else f":scalarisation={of}")
    values = judge.norms(of, batch)
    for name, one in zip(("gnorm_q", "gnorm_k", "gnorm_v", "gnorm"), (*values, values.prod(0))):
        found[name + options] = one


def expected(judge):
    usual = "logit_norm" if judge.encoder else "task_loss"
    found = {}
    for of in ["task_loss", "logit_norm", "gold_logprob"] + ["pooled_norm"] * judge.encoder:
        norms(judge, found, of, usual)
        found |= magnitudes(judge, of)
    norms(judge, found, usual, usual, batch=3)
    gates = judge.gate_gradients("task_loss")
    found["head_mask_gradient:abs=token"] = judge.token_magnitude("task_loss")
    found["head_mask_gradient:abs=batch:batch=3"] = (np.abs(gates[:3].mean(0)) + np.abs(gates[3:].mean(0))) / 2
    mean = np.abs(gates).mean(0)
    found["head_mask_gradient:layer_normalised=true"] = mean / np.sqrt((mean ** 2).sum(1, keepdims=True))
    found["head_mask_gradient:tis_abs=true"] = judge.pair_magnitude("task_loss")
    targets = np.array([1 if judge.encoder else len(ids) - 1 for ids in judge.sequences])
    found["head_gate_gradient"] = (gates * targets[:, None, None]).sum(0) / targets.sum()
    found["head_fisher"] = judge.fisher()
    return {name: numbers(judge.spread(values)) for name, values in found.items()} | {
        "self_attribution:steps=5": numbers(judge.attribution(5, "mean")),
        **({} if judge.encoder else {"self_attribution:position=last:steps=3": numbers(judge.attribution(3, "last"))})}


def masked(judge):
    of = "logit_norm" if judge.encoder else "task_loss"
    found = {}
    norms(judge, found, of, of)
    for layer, head in judge.cut:
        assert all(values[layer][head] == 0 for values in found.values())
    found["head_mask_gradient"] = np.abs(judge.gate_gradients("task_loss")).mean(0)
    for layer, head in judge.cut:
        found["head_mask_gradient"][layer][head] = 0  # a cut head has no gate
    return {name: numbers(judge.spread(values)) for name, values in found.items()}


def shaken(model):
    model, generator = copy.deepcopy(model).double(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1 + 6e-8 * torch.randn(parameter.shape, generator=generator).sign()
    return model


def moved(ours, theirs):
    """The largest change of a result, relative to its largest value."""
    return max((np.abs(np.array(ours[name]) - theirs[name]).max() / np.abs(theirs[name]).max(), name) for name in ours)


def main():
    document = {}
    for name, seed in SEEDS.items():
        model = load(name)
        random = np.random.default_rng(seed)
        sequences = [random.integers(3, model.config.vocab_size, n).tolist() for n in LENGTHS]
        encoder = model.config.model_type in ENCODERS
        labels = random.integers(0, model.config.num_labels, len(LENGTHS)).tolist() if encoder else []
        cut = CUT[:1] if model.config.model_type == "albert" else CUT
        with fj.InDouble():
            whole = expected(Judge(model, sequences, labels))
            change, result = moved(expected(Judge(shaken(model), sequences, labels)), whole)
            assert change <= MOST_MOVED, f"{name}: {result} moves by {change:.1e}"
            document[name] = {"sequences": sequences, "labels": labels, "cut": cut, "metrics": whole,
                              "masked": masked(Judge(model, sequences, labels, cut))}
        print(name, len(whole), f"results, of which {result} moves most, by {change:.0e}")
    (HERE / "gradient_metrics.json").write_text(json.dumps(document, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
