#!/usr/bin/env python3
"""Checks that the forward fixtures reveal mistakes: makes one mistake at a time in transformers and measures how much
the outputs change.

    python mutations.py

For each mistake and fixture, prints the largest change of the logits (or of the last hidden states, if the model has no
head) relative to their scale. Fails if a change is below 1e-2, which is a hundred times the tolerance of the engine's
tests.
"""

import copy
import sys

import torch

import forward_judge as fj
import forward_models
import mistakes_attention  # the import registers the mistakes
from mistakes import MISTAKES

ENOUGH = 1e-2


def outcome(model, batch, real):
    with torch.no_grad(), fj.Recorder(model) as recorder:
        output = fj.answer(model, batch)
    if type(model).__name__ == "BertModel":
        output = recorder.kept["layer_output"][-1]
    return output[real] if output.dim() == 3 else output


def main():
    cases, built, poor = forward_models.cases(), {}, []
    for name, fixtures, make in MISTAKES:
        figures = []
        for fixture in fixtures:
            if fixture not in built:
                model, batch = forward_models.build(cases[fixture])
                built[fixture] = model, batch, fj.visible(batch["lengths"], batch["ids"].shape[1]).bool()
            model, batch, real = built[fixture]
            right = outcome(model, batch, real)
            wrong, other = copy.deepcopy(model), {key: values.clone() for key, values in batch.items()}
            with make(wrong, other):
                change = (outcome(wrong, other, real) - right).abs().max() / right.abs().max()
            figures.append(f"{fixture} {change:.3f}")
            if not change > ENOUGH:
                poor.append(f"{name}: {figures[-1]}")
        print(f"{name:52} {', '.join(figures)}")
    print(len(MISTAKES), "mistakes,", len(poor), "unseen")
    return "\n".join(poor)


if __name__ == "__main__":
    sys.exit(main() or 0)
