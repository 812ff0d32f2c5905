"""Runs a transformers model and records its activations, attention maps and gradients: the expected values of the
tests.

Activations are recorded in the order of the calls of a module, so ALBERT's single layer records L of each. Their names
are those in expected.safetensors (make_forward_fixtures.py). H is the number of query heads. A model with fewer key
heads is also run as an equivalent model in which every query head has its own copy of the key and value rows.
"""

import contextlib
import copy
import math
import sys

import torch
from torch.overrides import TorchFunctionMode

SPLIT = ("query", "key", "value")


class InDouble(TorchFunctionMode):
    """Makes Tensor.float() convert to float64. Models of transformers call it in norms and softmax, which would round
    to float32.
    """

    def __torch_function__(self, function, types, args=(), named=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        wider = {torch.float32: torch.float64}
        args = [wider.get(value, value) if isinstance(value, torch.dtype) else value for value in args]
        named = {name: wider.get(value, value) if isinstance(value, torch.dtype) else value
                 for name, value in (named or {}).items()}
        return function(*args, **named)


def layers_of(model):
    base, kind = model.base_model, model.config.model_type
    if kind == "albert":
        return list(base.encoder.albert_layer_groups[0].albert_layers)
    if kind in ("bert", "roberta", "xlm-roberta"):
        return list(base.encoder.layer)
    return list(base.h if kind == "gpt2" else base.layers)


def modules_of(layer, kind):
    """The modules of a layer, by the name of the activation that is their input or output."""
    if kind == "gpt2":
        return {"attention": layer.attn, "fused": layer.attn.c_attn, "output": layer.attn.c_proj,
                "activated": layer.mlp.c_fc, "down": layer.mlp.c_proj}
    if kind == "albert":
        inner = layer.attention
        return {"attention": inner, "query": inner.query, "key": inner.key, "value": inner.value,
                "output": inner.dense, "activated": layer.ffn, "down": layer.ffn_output}
    if kind in ("bert", "roberta", "xlm-roberta"):
        inner = layer.attention.self
        return {"attention": inner, "query": inner.query, "key": inner.key, "value": inner.value,
                "output": layer.attention.output.dense, "activated": layer.intermediate.dense,
                "down": layer.output.dense}
    inner = layer.self_attn
    found = {"attention": inner, "query": inner.q_proj, "key": inner.k_proj, "value": inner.v_proj,
             "output": inner.dense if kind == "phi" else inner.o_proj,
             "activated": layer.mlp.fc1 if kind == "phi" else layer.mlp.gate_proj,
             "down": layer.mlp.fc2 if kind == "phi" else layer.mlp.down_proj}
    if kind.startswith("gemma"):
        found["update"] = layer.post_attention_layernorm
    return found


class Recorder:
    """Records tensors inside the model and keeps their gradients."""

    def __init__(self, model):
        self.kept = {}
        self.hooks = []
        kind = model.config.model_type
        for layer in layers_of(model):
            self.inputs(layer, "input")
            self.outputs(layer, "layer_output")
            modules = modules_of(layer, kind)
            self.hooks.append(modules["attention"].register_forward_hook(
                lambda _, __, output: self.keep("attention", output[1])))
            self.inputs(modules["output"], "context")
            self.outputs(modules["output"], "attention_output")
            self.inputs(modules["down"], "mlp_hidden")
            self.outputs(modules["down"], "mlp_output")
            for name in SPLIT + ("fused",):
                if name in modules:
                    self.outputs(modules[name], name)
            if "update" in modules:
                self.outputs(modules["update"], "attention_update")

    def keep(self, name, tensor):
        if tensor.requires_grad:
            tensor.retain_grad()
        self.kept.setdefault(name, []).append(tensor)

    def inputs(self, module, name):
        self.hooks.append(module.register_forward_pre_hook(
            lambda _, args, named: self.keep(name, args[0] if args else named["hidden_states"]), with_kwargs=True))

    def outputs(self, module, name):
        self.hooks.append(module.register_forward_hook(
            lambda _, __, output: self.keep(name, output[0] if isinstance(output, tuple) else output)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()


def visible(lengths, width):
    """1 at the positions of tokens, 0 in the padding on their right."""
    return (torch.arange(width)[None] < lengths[:, None]).long()


def answer(model, batch):
    """The logits. For an encoder without a head, the pooled output."""
    named = {"input_ids": batch["ids"], "attention_mask": visible(batch["lengths"], batch["ids"].shape[1])}
    if "types" in batch:
        named["token_type_ids"] = batch["types"]
    if model.config.model_type not in ("bert", "roberta", "xlm-roberta", "albert"):
        named["use_cache"] = False
    result = model(**named)
    return result.logits if "logits" in result else result.pooler_output


@contextlib.contextmanager
def scores_seen(model):
    """Collects (scores, mask) of the attention in every layer. The scores are those before the softcap."""
    module = sys.modules[type(model).__module__]
    original, seen = module.eager_attention_forward, []

    def watching(attention, query, key, value, mask, *args, **named):
        shared = query.shape[1] // key.shape[1]
        seen.append((query @ key.repeat_interleave(shared, 1).transpose(2, 3) * named["scaling"], mask))
        return original(attention, query, key, value, mask, *args, **named)

    module.eager_attention_forward = watching
    try:
        yield seen
    finally:
        module.eager_attention_forward = original


def score_figures(model, batch):
    """For each layer, the standard deviation of the attention scores that are not masked, and these scores as a vector.
    """
    with torch.no_grad(), scores_seen(model) as seen:
        answer(model, batch)
    real = visible(batch["lengths"], batch["ids"].shape[1]).bool()
    figures = []
    for scores, mask in seen:
        counts = real[:, None, :, None] & real[:, None, None, :]
        if mask is not None:
            counts = counts & (mask.bool() if mask.dtype == torch.bool else mask > -1)
        chosen = scores[counts.expand_as(scores)]
        figures.append((chosen.std().item(), chosen))
    return figures


def with_own_keys(model):
    """Returns an equivalent model with one key head and one value head for every query head."""
    config = copy.deepcopy(model.config)
    shared = config.num_attention_heads // getattr(config, "num_key_value_heads", config.num_attention_heads)
    if shared == 1:
        return model
    config.num_key_value_heads = config.num_attention_heads
    twin = type(model)(config).eval().to(model.dtype)
    # Rotary frequencies, which have the same precision in both models.
    for ours, theirs in zip(twin.buffers(), model.buffers()):
        ours.copy_(theirs)
    state = model.state_dict()
    for name, values in state.items():
        if "k_proj" in name or "v_proj" in name:
            heads = values.reshape(-1, model.config.head_dim, *values.shape[1:])
            state[name] = heads.repeat_interleave(shared, 0).reshape(-1, *values.shape[1:])
    twin.load_state_dict(state)
    return twin


def token_losses(logits, batch):
    """The loss of each next token in nats, [rows, T - 1] in float64; 0 in the padding."""
    targets = batch["ids"][:, 1:]
    losses = -logits[:, :-1].double().log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    return losses * visible(batch["lengths"], batch["ids"].shape[1])[:, 1:]


def scalar(output, batch, decoder, labelled):
    """The scalar S whose gradients are computed: the weighted sum of the losses, or of the norms of the pooled vectors.
    """
    if decoder:
        return (batch["loss_weights"] * token_losses(output, batch)).sum()
    if labelled:
        losses = torch.nn.functional.cross_entropy(output.double(), batch["labels"], reduction="none")
        return (batch["loss_weights"] * losses).sum()
    return (batch["loss_weights"] * output.double().norm(dim=-1)).sum()


def observe(model, batch, decoder, labelled):
    """Runs one forward and one backward pass. Returns (output, S, {name: one tensor per layer}). Gradients have names
    that begin with "grad.".
    """
    with Recorder(model) as recorder:
        output = answer(model, batch)
        total = scalar(output, batch, decoder, labelled)
        model.zero_grad()
        total.backward()
    kept = recorder.kept
    kept["hidden"] = kept.pop("input") + [kept.pop("layer_output")[-1]]
    found = {name: [t.detach() for t in tensors] for name, tensors in kept.items()}
    found |= {"grad." + name: [t.grad.detach() for t in tensors] for name, tensors in kept.items()
              if name != "attention"}
    found["grad.input"] = found.pop("grad.hidden")
    for prefix in ("", "grad."):
        if prefix + "fused" in found:
            pieces = [fused.chunk(3, -1) for fused in found.pop(prefix + "fused")]
            found |= {prefix + name: [piece[i] for piece in pieces] for i, name in enumerate(SPLIT)}
    return output.detach(), total.detach(), found


def by_head(found, heads):
    """Reshapes projections from [rows, T, heads * d] to [rows, T, heads, d]."""
    for prefix in ("", "grad."):
        for name in SPLIT:
            found[prefix + name] = [t.unflatten(-1, (heads, -1)) for t in found[prefix + name]]


def observe_by_query_head(model, batch, decoder, labelled):
    """Like observe(), but with keys and values for every query head. Checks that the model with copied keys gives the
    same output as the original.
    """
    heads = model.config.num_attention_heads
    output, total, found = observe(model, batch, decoder, labelled)
    twin = with_own_keys(model)
    if twin is not model:
        twin_output, _, twin_found = observe(twin, batch, decoder, labelled)
        close(twin_output, output, "equal model with a key head per query head")
        groups = model.config.num_key_value_heads
        by_head(twin_found, heads)
        for name in ("grad.key", "grad.value"):
            for whole, parts in zip(found[name], twin_found[name]):
                summed = parts.unflatten(2, (groups, -1)).sum(3).flatten(2)
                close(summed, whole, f"sum of {name} over a group")
        for name, tensors in found.items():
            if name.split(".")[-1] not in SPLIT:
                for ours, theirs in zip(tensors, twin_found[name]):
                    close(theirs, ours, name + " of the equal model")
        found = twin_found
    else:
        by_head(found, heads)
    return output, total, found


def close(ours, theirs, what, tolerance=1e-5):
    scale = max(theirs.abs().max().item(), 1e-3)
    error = (ours - theirs).abs().max().item() / scale
    assert error <= tolerance, f"{what}: differs by {error:.1e} of its scale"
    return error


def rows_alone(model, batch, output, found):
    """The largest difference between rows in the padded batch and the same rows run alone, relative to the scale of the
    values.
    """
    worst = 0
    for row, length in enumerate(batch["lengths"].tolist()):
        alone = {name: batch[name][row:row + 1, :length] for name in ("ids", "types") if name in batch}
        alone["lengths"] = batch["lengths"][row:row + 1]
        with torch.no_grad(), Recorder(model) as recorder:
            single = answer(model, alone)
        together = output[row:row + 1, :length] if output.dim() == 3 else output[row:row + 1]
        worst = max(worst, close(single, together, "a row alone"))
        for ours, theirs in zip(recorder.kept["attention"], found["attention"]):
            worst = max(worst, close(ours[0], theirs[row, :, :length, :length], "attention of a row alone"))
        for ours, theirs in zip(recorder.kept["input"], found["hidden"]):
            worst = max(worst, close(ours[0], theirs[row, :length], "hidden state of a row alone"))
    return worst


def rounding(model, batch, decoder, labelled, output, found):
    """Changes the last bit of every parameter. Returns the largest changes, relative to the scale of the values:
    (forward, backward).
    """
    shaken = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in shaken.parameters():
            parameter *= 1 + 6e-8 * torch.randn(parameter.shape, generator=generator).sign()
    moved_output, _, moved = observe(with_own_keys(shaken), batch, decoder, labelled)
    by_head(moved, model.config.num_attention_heads)
    errors = {name: max(close(ours, theirs, name, math.inf) for ours, theirs in zip(moved[name], found[name]))
              for name in found}
    backward = max(error for name, error in errors.items() if name.startswith("grad."))
    forward = max(error for name, error in errors.items() if not name.startswith("grad."))
    return max(forward, close(moved_output, output, "output", math.inf)), backward
