#!/usr/bin/env python3
"""Writes the small models under tests/data/forward, and the values that transformers computes with them.

    python make_forward_fixtures.py [NAME ...]       writes all models, or only the named ones, to this folder

Needs torch, transformers (5.x), safetensors, gguf and numpy. The output is deterministic. Each folder holds
config.json, model.safetensors, model.gguf with the same weights if llama.cpp has the architecture, and
expected.safetensors:

    ids, lengths, types      the batch: [rows, T], [rows], [rows, T]; rows are padded on the right
    hidden.L                 [rows, T, D] input of layer L; the last one is the last layer's output, before a final norm
    attention.L              [rows, H, T, T] probabilities
    logits, pooled           [rows, T, V] of decoders, [rows, classes] of classifiers; [rows, D] without a classifier
    losses                   [rows, T - 1] nats for the next token, from the logits in float64
    S                        the scalar that is differentiated, a weighted sum: of decoders the losses of the tokens, of
                             classifiers the cross-entropy of each row's label, otherwise the norm of each row's pooled
                             vector
    grad.input.L             [rows, T, D] gradient of S with respect to hidden.L
    grad.query|key|value.L   [rows, T, H, d] with respect to the outputs of the projections, for each query head
    grad.context.L           [rows, T, H * d] before the output projection; .attention_output.L after it;
                             .attention_update.L after the norm that follows (Gemma)
    grad.mlp_hidden.L        [rows, T, I] before the down projection; .mlp_output.L after it
    tap.*                    in some folders: the activations with respect to which the gradients are taken
    kept_heads.L, kept_neurons.L  models with cut layers: the heads and neurons that are left; the other tensors are
                             reduced to these

All values are 0 at padded positions. They are computed in float64 from the float32 weights, then rounded to float32.
"""

import argparse
import copy
import pathlib

import torch
from safetensors.torch import save_file

import families
import forward_judge as fj
import forward_models
import make_fixtures as mf

FOLDER = pathlib.Path(__file__).parent / "forward"
GRADIENTS = ("input", "query", "key", "value", "context", "attention_output", "attention_update", "mlp_hidden",
             "mlp_output")


def masked(tensor, real, axis=1):
    shape = [real.shape[0]] + [1] * (tensor.dim() - 1)
    shape[axis] = real.shape[1]
    return (tensor * real.reshape(shape)).contiguous()


def expected(case, batch, output, total, found):
    real = fj.visible(batch["lengths"], batch["ids"].shape[1])
    tensors = dict(batch) | {"S": total.float().reshape(1)}
    if case.decoder:
        tensors |= {"logits": masked(output, real), "losses": fj.token_losses(output, batch).float()}
    else:
        tensors["logits" if case.labelled else "pooled"] = output
    for name in ("hidden", "attention"):
        for layer, values in enumerate(found[name]):
            tensors[f"{name}.{layer}"] = masked(values, real, 2 if name == "attention" else 1)
    for name in GRADIENTS:
        for layer, values in enumerate(found.get("grad." + name, [])):
            tensors[f"grad.{name}.{layer}"] = masked(values, real)
            if case.taps and name != "input":
                tensors[f"tap.{name}.{layer}"] = masked(found[name][layer], real)
    return {name: (values.float() if values.is_floating_point() else values).contiguous().clone()
            for name, values in tensors.items()}


def bend(values, cap):
    """The share of the values that a softcap changes noticeably."""
    return (values.abs() > 0.3 * cap).float().mean().item()


# --- ragged models ---------------------------------------------------------------------------------------------------

def columns(heads, head_dim):
    return [head * head_dim + i for head in heads for i in range(head_dim)]


def without_cut(model, case):
    """The model in its full shape. The columns of W_o and W_down for cut heads and neurons are set to 0."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for layer, (heads, _, neurons) in zip(model.model.layers, case.keep):
            for matrix, kept in ((layer.self_attn.o_proj.weight, columns(heads, case.config.head_dim)),
                                 (layer.mlp.down_proj.weight, neurons)):
                cut = [i for i in range(matrix.shape[1]) if i not in kept]
                matrix[:, cut] = 0
    return model


def only_kept(tensors, case):
    """Reduces the expected tensors to the heads and neurons that are kept. A layer without heads has no tensors of
    attention.
    """
    for layer, (heads, _, neurons) in enumerate(case.keep):
        picks = {"attention": (1, heads), "grad.context": (2, columns(heads, case.config.head_dim)),
                 "grad.mlp_hidden": (2, neurons)} | {f"grad.{name}": (2, heads) for name in fj.SPLIT}
        for name, (axis, kept) in picks.items():
            name = f"{name}.{layer}"
            tensors[name] = tensors[name].index_select(axis, torch.tensor(kept, dtype=torch.long)).contiguous()
            if not kept:
                tensors.pop(name)
        if not heads:
            tensors.pop(f"grad.attention_output.{layer}")
        tensors |= {f"kept_heads.{layer}": torch.tensor(heads, dtype=torch.long),
                    f"kept_neurons.{layer}": torch.tensor(neurons, dtype=torch.long)}
    return tensors


def ragged(weights, case):
    """Returns (weights, shape) of the model with the cut heads and neurons removed."""
    config, layers, left = case.config, [], {}
    per_key = config.num_attention_heads // config.num_key_value_heads
    for index, (heads, share, neurons) in enumerate(case.keep):
        groups = sorted({head // per_key for head in heads})
        assert len(heads) == share * len(groups)
        rows = {"query": columns(heads, config.head_dim), "key": columns(groups, config.head_dim),
                "value": columns(groups, config.head_dim), "gate": neurons, "up": neurons}
        for (layer, which), values in weights.items():
            if layer != index or not heads and which in ("attentionNorm", "query", "key", "value", "output"):
                continue
            if which in rows:
                values = values[rows[which]]
            if which in ("output", "down"):
                values = values[:, rows["query"] if which == "output" else neurons]
            left[layer, which] = values
        layers.append(mf.judge.Layer(len(heads), len(groups), len(neurons), config.head_dim))
    whole = {key: values for key, values in weights.items() if key[0] < 0}
    return whole | left, mf.judge.Shape(config.head_dim, layers)


# --- files -----------------------------------------------------------------------------------------------------------

def write_gguf(case, folder, state):
    settings, family = case.config.to_dict(), case.config.model_type
    shape = mf.shape_of(settings, family)
    weights = families.weights_of(mf.as_floats(state), family)
    if case.keep:
        weights, shape = ragged(weights, case)
    tensors = families.gguf_tensors(weights, case.architecture, shape, case.fused)
    if (settings.get("rope_parameters") or {}).get("rope_type") == "llama3":
        tensors = {"rope_freqs.weight": mf.rope_divisors(case.config)} | tensors
    mf.write_gguf(folder / "model.gguf", case.architecture, tensors,
                  mf.gguf_fields(settings, shape, case.architecture) | case.fields)


def write(name, case):
    model, batch = forward_models.build(case)
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    mf.without_extras(folder)
    if case.keep:
        model = without_cut(model, case)
    model = model.double()
    with fj.InDouble():
        figures = fj.score_figures(model, batch)
        output, total, found = fj.observe_by_query_head(model, batch, case.decoder, case.labelled)
        checks = (fj.rows_alone(model, batch, output, found),
                  *fj.rounding(model, batch, case.decoder, case.labelled, output, found))
    tensors = expected(case, batch, output, total, found)
    save_file(only_kept(tensors, case) if case.keep else tensors, folder / "expected.safetensors")
    if case.architecture:
        write_gguf(case, folder, mf.read_safetensors(folder))
    report(name, case, batch, figures, output, checks)


def report(name, case, batch, figures, output, checks):
    real = fj.visible(batch["lengths"], batch["ids"].shape[1]).bool()
    logits = output[real] if case.decoder else output
    line = "scores " + " ".join(f"{figure[0]:.2f}" for figure in figures) + f", output {logits.std():.2f}"
    assert all(2 <= figure[0] <= 5 for figure in figures), line
    cap = getattr(case.config, "attn_logit_softcapping", None) if case.config.model_type == "gemma2" else None
    if cap:
        line += ", bent scores " + " ".join(f"{bend(figure[1], cap):.0%}" for figure in figures)
    cap = getattr(case.config, "final_logit_softcapping", None)
    if cap:
        line += f", bent logits {bend(cap * torch.atanh(logits / cap), cap):.0%}"
    size = sum(file.stat().st_size for file in (FOLDER / name).iterdir())
    print(f"{name:16} {line}, rows alone {checks[0]:.0e}, rounding {checks[1]:.0e} and {checks[2]:.0e}, "
          f"{size / 1000:.0f} kB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args().names
    for name, case in forward_models.cases().items():
        if not chosen or name in chosen:
            write(name, case)
