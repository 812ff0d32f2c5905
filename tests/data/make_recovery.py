#!/usr/bin/env python3
"""Writes tests/data/recovery with transformers and torch: gradients and runs of trained compensations, and of losses
with a teacher.

    python make_recovery.py [NAME ...]

Needs torch, transformers (5.x), peft and safetensors. The output is deterministic. NAME.json has, of a model under a
mask with a compensation:

    targets      [rows, T] the token that each position predicts, -1 = none; of classifiers [rows] the labels
    heads, neurons   [[layer, unit], ...] that the mask cuts
    layers       by layer: head_scale, neuron_scale, attention_bias, mlp_bias
    loss, gradients  mean over the targets, and its gradients in the shape of `layers`, float64
    losses       [20] of a run with AdamW from factors 1 and biases 0, before each step: float32, clipped gradients,
                 linear decay; every step uses all rows
    teacher      of decoders: weight and top (options of the loss), and the same three with the dense model as teacher
    learning_rate, clip_norm

The loss with a teacher is (1 - W) cross-entropy + W KL(p || q) at each target. The classes of the divergence are the
`top` most probable tokens of the dense model and all other tokens together.

Scales multiply the inputs of the output and down projections, biases are added to their outputs; hooks do both.
"""

import argparse
import json
import pathlib

import torch

import forward_judge as fj
import make_adapters as adapters
import make_training as training

HERE = pathlib.Path(__file__).parent
RUNS = ("llama-gqa", "phi", "bert")
STEPS, RATE, CLIP = 20, 1e-2, 1.0
WEIGHT, TOP = 0.3, 5
PARTS = ("head_scale", "neuron_scale", "attention_bias", "mlp_bias")


class Compensated:
    """A model whose output and down projections have factors and biases."""

    def __init__(self, name, dtype):
        self.model = adapters.open_model(adapters.model_folder(name)).to(dtype)
        kind = self.model.config.model_type
        self.projections = [[fj.modules_of(layer, kind)[which] for which in ("output", "down")]
                            for layer in fj.layers_of(self.model)]
        last = len(self.projections) - 1
        self.heads, self.neurons = [[0, 1]], [[last, 0], [last, 3]]
        self.layers, self.kept, self.handles = [], [], []
        count = self.model.config.num_attention_heads
        for index, (output, down) in enumerate(self.projections):
            columns = [self.inputs(output, kind), self.inputs(down, kind)]
            hidden = self.model.config.hidden_size
            own = {"head_scale": torch.ones(count), "neuron_scale": torch.ones(columns[1]),
                   "attention_bias": torch.zeros(hidden), "mlp_bias": torch.zeros(hidden)}
            self.layers.append({key: value.to(dtype).requires_grad_(True) for key, value in own.items()})
            kept = [torch.ones(count, dtype=dtype), torch.ones(columns[1], dtype=dtype)]
            for cuts, units in ((self.heads, kept[0]), (self.neurons, kept[1])):
                for layer, unit in cuts:
                    if layer == index:
                        units[unit] = 0
            self.kept.append(kept)
            self.widths = (columns[0] // count, 1)

    @staticmethod
    def inputs(projection, kind):
        return projection.weight.shape[0 if kind == "gpt2" else 1]

    def draw(self):
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for layer in self.layers:
                for key, value in layer.items():
                    spread = 0.3 if key.endswith("scale") else 0.1
                    value.add_((torch.randn(value.shape, generator=generator) * spread))
                    value.copy_(value.float())

    def __enter__(self):
        for layer, kept, projections in zip(self.layers, self.kept, self.projections):
            for which, width in enumerate(self.widths):
                factors, bias = layer[PARTS[which]], layer[PARTS[2 + which]]
                self.handles.append(projections[which].register_forward_pre_hook(
                    lambda _, args, f=factors, k=kept[which], w=width: ((args[0] * (f * k).repeat_interleave(w)),)))
                self.handles.append(projections[which].register_forward_hook(
                    lambda _, args, output, b=bias: output + b))
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def parameters(self):
        return [value for layer in self.layers for value in layer.values()]

    def lists(self, of=lambda value: value.detach()):
        return [{key: of(value).tolist() for key, value in layer.items()} for layer in self.layers]


def logits_of(model, batch):
    named = {"input_ids": batch["ids"].long(), "attention_mask": fj.visible(batch["lengths"], batch["ids"].shape[1])}
    if "types" in batch:
        named["token_type_ids"] = batch["types"].long()
    return model(**named).logits


def divergence(dense, logits, targets):
    """KL(p || q) at each target, over the classes that p names."""
    chosen = targets.flatten() >= 0
    log_p = dense.flatten(0, -2)[chosen].log_softmax(1)
    log_q = logits.flatten(0, -2)[chosen].log_softmax(1)
    top = log_p.topk(TOP, 1).indices
    others = torch.ones_like(log_p, dtype=torch.bool).scatter_(1, top, False)

    def classes(log):
        rest = log.masked_fill(~others, -torch.inf).logsumexp(1, keepdim=True)
        return torch.cat([log.gather(1, top), rest], 1)

    p, q = classes(log_p), classes(log_q)
    return (p.exp() * (p - q)).sum(1).mean()


def loss_of(own, batch, targets, dense=None):
    with own:
        logits = logits_of(own.model, batch)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten().long(), ignore_index=-1)
    return loss if dense is None else (1 - WEIGHT) * loss + WEIGHT * divergence(dense, logits, targets)


def check_differences(own, gradients, loss):
    """Compares with central differences in random directions."""
    worst = 0
    for value, gradient in zip(own.parameters(), gradients):
        direction = torch.randn(value.shape, dtype=value.dtype, generator=torch.Generator().manual_seed(3)) * 1e-5
        with torch.no_grad():
            value.add_(direction)
            above = loss().item()
            value.sub_(2 * direction)
            below = loss().item()
            value.add_(direction)
        expected = (gradient * direction).sum().item()
        worst = max(worst, abs((above - below) / 2 - expected) / (gradient.norm() * direction.norm() + 1e-12).item())
    assert worst < 1e-6, worst
    return worst


def gradients(name, batch, targets, has_teacher):
    own = Compensated(name, torch.float64)
    own.draw()
    with fj.InDouble():
        dense = logits_of(own.model, batch).detach() if has_teacher else None
        loss = loss_of(own, batch, targets, dense)
        found = torch.autograd.grad(loss, own.parameters())
        worst = check_differences(own, found, lambda: loss_of(own, batch, targets, dense))
    print(f"{name}: loss {loss.item():.6f}, gradients differ by {worst:.1e} from differences")
    by_value = dict(zip(map(id, own.parameters()), found))
    return {"heads": own.heads, "neurons": own.neurons, "layers": own.lists()}, {
        "loss": loss.item(), "gradients": own.lists(lambda value: by_value[id(value)])}


def run(name, batch, targets, has_teacher):
    own = Compensated(name, torch.float32)
    dense = logits_of(own.model, batch).detach() if has_teacher else None
    optimiser = torch.optim.AdamW(own.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / STEPS)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(own, batch, targets, dense)
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(own.parameters(), CLIP)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    print(f"{name}: losses {losses[0]:.6f} to {losses[-1]:.6f}")
    return losses


def make(name):
    (HERE / "recovery").mkdir(exist_ok=True)
    batch = adapters.batch_of(adapters.model_folder(name))
    targets = training.targets_of(name, batch)
    is_decoder = not training.is_classifier(name)
    begin, plain = gradients(name, batch, targets, False)
    about = {"targets": targets.tolist(), **begin, **plain}
    if name in RUNS:
        about |= {"losses": run(name, batch, targets, False), "learning_rate": RATE, "clip_norm": CLIP}
    if is_decoder:
        about["teacher"] = {"weight": WEIGHT, "top": TOP, **gradients(name, batch, targets, True)[1]}
        if name in RUNS:
            about["teacher"]["losses"] = run(name, batch, targets, True)
    (HERE / "recovery" / f"{name}.json").write_text(json.dumps(about) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *training.NAMES], metavar="NAME")
    for chosen in parser.parse_args().names or training.NAMES:
        make(chosen)
