#!/usr/bin/env python3
"""Writes gate_effects.json: the gradients of losses with respect to gates, and the Fisher information of the gates,
computed with autograd on models of transformers.

    python make_gate_effects.py

Needs torch, transformers (5.x) and numpy. For each model of tests/data/forward, the file has "units" as [kind, layer,
head], and two sets of texts, "texts" and "pairs". Each set has "sequences" of token ids, "labels" of a classifier,
"slopes" [units], "fisher" [units][units], and "neuron_slopes" and "neuron_fisher" [layers][neurons]. Slopes and Fisher
information are means over single targets, computed without random signs. The sequences of "pairs" have two tokens and
thus one target, for which an estimate with random signs is exact.
"""

import contextlib
import json
import pathlib

import numpy as np
import torch

import forward_judge as fj
from make_forward_metrics import load

HERE = pathlib.Path(__file__).parent
MODELS = ["llama-gqa", "qwen3", "gemma3", "phi", "bert"]
LENGTHS = (15, 9, 12, 4)
PAIRS = 6
KINDS = ("head", "attention", "mlp", "block", "bypass")


def replaced(output, value):
    return (value, *output[1:]) if isinstance(output, tuple) else value


class Judge:
    def __init__(self, model):
        self.model, self.kind = fj.with_own_keys(model), model.config.model_type
        self.layers = fj.layers_of(self.model)
        self.heads = model.config.num_attention_heads
        self.units = [(kind, layer, head) for kind in KINDS for layer in range(len(self.layers))
                      for head in (range(self.heads) if kind == "head" else (-1,))]

    def places(self, layer):
        """The modules of a layer whose outputs are added to the residual stream, and the projections of values, heads
        and neurons.
        """
        found = fj.modules_of(layer, self.kind)
        around = self.kind.startswith("gemma")
        return {"attention": layer.post_attention_layernorm if around else found["output"],
                "mlp": layer.post_feedforward_layernorm if around else found["down"],
                "value": found["value"], "output": found["output"], "down": found["down"]}

    @contextlib.contextmanager
    def gated(self, gates, neurons):
        hooks, at = [], {unit: number for number, unit in enumerate(self.units)}
        for number, layer in enumerate(self.layers):
            self.gate_layer(hooks, layer, {kind: gates[at[kind, number, -1]] for kind in KINDS[1:]},
                            gates[at["head", number, 0]:at["head", number, 0] + self.heads], neurons[number])
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def gate_layer(self, hooks, layer, gate, heads, neurons):
        places, kept = self.places(layer), {}

        def on_context(_, args):
            values = args[0].unflatten(-1, (self.heads, -1)) * heads[:, None]
            return (values.flatten(-2),)

        def keep_value(_, args, output):
            kept["value"] = output

        def on_update(module, args, output):
            # The bypassed attention update; forward() does not apply the gates of heads.
            own = places["output"].forward(kept["value"])
            own = own if module is places["output"] else module.forward(own)
            return gate["attention"] * output + gate["bypass"] * own

        def on_block(_, args, named, output):
            stream = args[0] if args else named["hidden_states"]
            out = output[0] if isinstance(output, tuple) else output
            return replaced(output, stream + gate["block"] * (out - stream))

        hooks += [places["output"].register_forward_pre_hook(on_context),
                  places["value"].register_forward_hook(keep_value),
                  places["attention"].register_forward_hook(on_update),
                  places["mlp"].register_forward_hook(lambda _, args, output: gate["mlp"] * output),
                  places["down"].register_forward_pre_hook(lambda _, args: (args[0] * neurons,)),
                  layer.register_forward_hook(on_block, with_kwargs=True)]

    def losses(self, ids, label):
        logits = fj.answer(self.model, {"ids": torch.tensor([ids]), "lengths": torch.tensor([len(ids)])})[0]
        if label is not None:
            return -logits.log_softmax(-1)[label][None]
        return -logits[:-1].log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]

    def effects(self, sequences, labels):
        gates = torch.tensor([0.0 if kind == "bypass" else 1.0 for kind, *_ in self.units], dtype=torch.float64)
        gates.requires_grad_()
        widths = [self.places(layer)["down"].weight.shape[1] for layer in self.layers]
        neurons = [torch.ones(width, dtype=torch.float64, requires_grad=True) for width in widths]
        found, found_neurons = [], []
        for number, ids in enumerate(sequences):
            with self.gated(gates, neurons):
                for loss in self.losses(ids, labels[number] if labels else None):
                    own, *rest = torch.autograd.grad(loss, [gates, *neurons], retain_graph=True)
                    found.append(own.numpy())
                    found_neurons.append(torch.stack(rest).numpy())
        found, found_neurons = np.array(found), np.array(found_neurons)
        return {"slopes": numbers(found.mean(0)), "fisher": numbers(found.T @ found / len(found)),
                "neuron_slopes": numbers(found_neurons.mean(0)),
                "neuron_fisher": numbers((found_neurons ** 2).mean(0))}


def numbers(values):
    return [numbers(own) if np.ndim(own) else float(f"{own:.8g}") for own in values]


def main():
    document = {}
    for number, name in enumerate(MODELS):
        model = load(name)
        random = np.random.default_rng(200 + number)
        judge = Judge(model)
        document[name] = {"units": judge.units}
        for part, lengths in (("texts", LENGTHS), ("pairs", (2,) * PAIRS)):
            sequences = [random.integers(3, model.config.vocab_size, n).tolist() for n in lengths]
            labels = random.integers(0, model.config.num_labels, len(lengths)).tolist() if name == "bert" else []
            with fj.InDouble():
                document[name][part] = {"sequences": sequences, "labels": labels} | judge.effects(sequences, labels)
        print(name, len(judge.units), "units")
    text = json.dumps(document, separators=(",", ":")).replace('},"', '},\n"')
    (HERE / "gate_effects.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
