#!/usr/bin/env python3
"""Shows that the forward fixtures see: makes one mistake at a time in transformers, and measures how far outputs move.

    python mutations.py

Prints for each mistake and fixture the largest change of the logits (without a head: of the last hidden states),
relative to their scale. Fails where one stays below 1e-2, a hundred times what tests of the engine may tolerate.
"""

import contextlib
import copy
import sys
from unittest import mock

import torch
from torch import nn

import forward_judge as fj
import forward_models

ENOUGH = 1e-2
MISTAKES = []


def mistake(name, *fixtures):
    def register(make):
        MISTAKES.append((name, fixtures, make if hasattr(make, "__wrapped__") else settled(make)))
        return make
    return register


def settled(change):
    """A mistake made by changing the model itself."""
    @contextlib.contextmanager
    def applied(model, batch):
        with torch.no_grad():
            change(model, batch)
        yield
    return applied


def home(model):
    """The module of transformers that the model's class is from."""
    return sys.modules[type(model).__module__]


def modules(model):
    return [fj.modules_of(layer, model.config.model_type) for layer in fj.layers_of(model)]


def patched(model, name, replacement):
    return mock.patch.object(home(model), name, replacement)


# --- biases and norms ------------------------------------------------------------------------------------------------

def without_bias(*names):
    def change(model, _):
        for layer in fj.layers_of(model):
            for name, parameter in layer.named_parameters():
                if name in names:
                    parameter.zero_()
    return change


for bias in ("q", "k", "v"):
    mistake(f"{bias} bias dropped", "qwen2", "qwen2-window", "llama-bias")(without_bias(f"self_attn.{bias}_proj.bias"))
mistake("output bias dropped", "llama-bias", "phi", "gpt2", "bert")(
    without_bias("self_attn.o_proj.bias", "self_attn.dense.bias", "attn.c_proj.bias", "attention.output.dense.bias"))
for bias in ("gate", "up", "down"):
    mistake(f"{bias} bias dropped", "llama-bias")(without_bias(f"mlp.{bias}_proj.bias"))
mistake("query bias dropped", "bert", "albert", "roberta")(
    without_bias("attention.self.query.bias", "attention.query.bias"))
mistake("norm bias dropped", "gpt2", "phi", "bert", "albert")(
    without_bias("ln_1.bias", "input_layernorm.bias", "attention.output.LayerNorm.bias", "attention.LayerNorm.bias"))


@mistake("read-out bias dropped", "phi")
def _(model, _):
    model.lm_head.bias.zero_()


@mistake("embedding projection bias dropped", "albert")
def _(model, _):
    model.albert.encoder.embedding_hidden_mapping_in.bias.zero_()


def offset_norms(by):
    def change(model, _):
        for name, parameter in model.named_parameters():
            if forward_models.is_norm(name):
                parameter += by
    return change


mistake("w for 1 + w", "gemma2", "gemma2-gguf", "gemma3", "gemma3-gguf")(offset_norms(-1))
mistake("1 + w for w", "llama-gqa", "qwen3", "mistral")(offset_norms(1))


@mistake("w for 1 + w in q and k norms alone", "gemma3", "gemma3-gguf")
def _(model, _):
    for layer in fj.layers_of(model):
        layer.self_attn.q_norm.weight -= 1
        layer.self_attn.k_norm.weight -= 1


def rms_with_outer_epsilon(self, x):
    epsilon = self.eps if hasattr(self, "eps") else self.variance_epsilon
    gain = 1 + self.weight if hasattr(self, "eps") else self.weight
    return gain * x / (x.pow(2).mean(-1, keepdim=True).sqrt() + epsilon)


@mistake("RMSNorm: epsilon outside the root", "llama-gqa", "llama-tied", "mistral", "qwen2", "qwen3", "gemma2",
         "gemma3")
@contextlib.contextmanager
def _(model, _):
    names = [name for name in vars(home(model)) if name.endswith("RMSNorm")]
    with mock.patch.object(getattr(home(model), names[0]), "forward", rms_with_outer_epsilon):
        yield


def layer_norm(centre=True, outer=False, unbiased=False):
    def forward(self, x):
        if centre:
            x = x - x.mean(-1, keepdim=True)
        variance = x.pow(2).sum(-1, keepdim=True) / (x.shape[-1] - unbiased)
        root = variance.sqrt() + self.eps if outer else (variance + self.eps).sqrt()
        return x / root * self.weight + self.bias

    @contextlib.contextmanager
    def applied(model, batch):
        with mock.patch.object(nn.LayerNorm, "forward", forward):
            yield
    return applied


mistake("LayerNorm: epsilon outside the root", "gpt2", "phi", "bert", "bert-bare", "roberta", "xlm-roberta", "albert")(
    layer_norm(outer=True))
mistake("LayerNorm: mean left in", "gpt2", "phi", "bert")(layer_norm(centre=False))
mistake("LayerNorm: variance of a sample", "gpt2", "phi", "bert")(layer_norm(unbiased=True))


def skip(path):
    def change(model, _):
        for layer in fj.layers_of(model) if path[0] != "/" else [model.base_model]:
            *owner, name = path.strip("/").split(".")
            for part in owner:
                layer = getattr(layer, part)
            setattr(layer, name, nn.Identity())
    return change


mistake("q norm dropped", "qwen3", "gemma3", "gemma3-gguf")(skip("self_attn.q_norm"))
mistake("k norm dropped", "qwen3", "gemma3", "gemma3-gguf")(skip("self_attn.k_norm"))
mistake("post-attention norm missing", "gemma2", "gemma3")(skip("post_attention_layernorm"))
mistake("post-MLP norm missing", "gemma2", "gemma3")(skip("post_feedforward_layernorm"))
mistake("final norm missing", "llama-gqa", "llama-tied", "qwen2", "gemma2", "gemma3")(skip("/norm"))
mistake("final norm missing", "gpt2")(skip("/ln_f"))
mistake("final norm missing", "phi")(skip("/final_layernorm"))
mistake("embedding norm missing", "bert", "bert-bare", "roberta", "albert")(skip("/embeddings.LayerNorm"))


# --- rotary positions ------------------------------------------------------------------------------------------------

def turned_pairs(x, cos, sin):
    """Neighbours as pairs, as in GPT-J."""
    half = cos.shape[-1] // 2
    cos, sin = cos[:, None, :, :half], sin[:, None, :, :half]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)


@mistake("interleaved rotary", "llama-gqa", "llama-mqa", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi")
@contextlib.contextmanager
def _(model, _):
    with patched(model, "apply_rotary_pos_emb",
                 lambda q, k, cos, sin, **_: (turned_pairs(q, cos, sin), turned_pairs(k, cos, sin))):
        yield


@mistake("rotation the wrong way", "llama-gqa", "qwen3-tied", "phi")
@contextlib.contextmanager
def _(model, _):
    original = home(model).apply_rotary_pos_emb
    with patched(model, "apply_rotary_pos_emb", lambda q, k, cos, sin, **named: (
            original(q, k, cos, sin, **named)[0], original(q, k, cos, -sin, **named)[1])):
        yield


@mistake("query and key rows left in llama.cpp's order", "llama-gqa", "llama-llama3", "mistral-full")
def _(model, _):
    size = model.config.head_dim
    for layer in modules(model):
        for name in ("query", "key"):
            weight = layer[name].weight
            pairs = weight.unflatten(0, (-1, 2, size // 2)).transpose(1, 2).flatten(0, 2)
            weight.copy_(pairs.clone())


def plain_frequencies(size, theta, like):
    return (theta ** (-torch.arange(0, size, 2).double() / size)).to(like)


@mistake("scaling of positions left out", "llama-llama3", "llama-linear")
def _(model, _):
    rotary = model.base_model.rotary_emb
    rotary.inv_freq.copy_(plain_frequencies(model.config.head_dim, model.config.rope_parameters["rope_theta"],
                                            rotary.inv_freq))


@mistake("llama3 scaling without its middle", "llama-llama3")
def _(model, _):
    frequencies, rope = model.base_model.rotary_emb.inv_freq, model.config.rope_parameters
    plain = plain_frequencies(model.config.head_dim, rope["rope_theta"], frequencies)
    middle = (frequencies < 0.999 * plain) & (frequencies > 1.001 * plain / rope["factor"])
    assert middle.any() and (frequencies > 0.999 * plain).any()
    frequencies[middle] = plain[middle]


@mistake("llama3 scaling as linear", "llama-llama3")
def _(model, _):
    frequencies, rope = model.base_model.rotary_emb.inv_freq, model.config.rope_parameters
    frequencies.copy_(plain_frequencies(model.config.head_dim, rope["rope_theta"], frequencies) / rope["factor"])


@mistake("scaling of global positions left out", "gemma3", "gemma3-gguf")
def _(model, _):
    model.base_model.rotary_emb.full_attention_inv_freq *= 8 if model.config.num_hidden_layers > 3 else 4


@mistake("local positions scaled too", "gemma3", "gemma3-gguf")
def _(model, _):
    model.base_model.rotary_emb.sliding_attention_inv_freq /= 8 if model.config.num_hidden_layers > 3 else 4


@mistake("local and global theta swapped", "gemma3", "gemma3-gguf")
def _(model, _):
    rotary = model.base_model.rotary_emb
    both = rotary.full_attention_inv_freq.clone(), rotary.sliding_attention_inv_freq.clone()
    rotary.sliding_attention_inv_freq, rotary.full_attention_inv_freq = both


@mistake("theta of 10,000", "llama-gqa", "mistral", "qwen2", "qwen3", "gemma2", "phi")
def _(model, _):
    frequencies = model.base_model.rotary_emb.inv_freq
    frequencies.copy_(plain_frequencies(2 * len(frequencies), 10000.0, frequencies))


@mistake("partial rotary made full", "phi")
@contextlib.contextmanager
def _(model, _):
    size = model.config.hidden_size // model.config.num_attention_heads
    rotary = model.base_model.rotary_emb
    rotary.inv_freq = plain_frequencies(size, model.config.rope_parameters["rope_theta"], rotary.inv_freq)
    for layer in fj.layers_of(model):
        layer.self_attn.rotary_ndims = size
    yield


@mistake("frequencies of the whole head in a partial rotary", "phi")
def _(model, _):
    rotary = model.base_model.rotary_emb
    size = model.config.hidden_size // model.config.num_attention_heads
    whole = plain_frequencies(size, model.config.rope_parameters["rope_theta"], rotary.inv_freq)
    rotary.inv_freq.copy_(whole[:len(rotary.inv_freq)])


@mistake("q and k norms after the rotation", "qwen3", "qwen3-tied", "gemma3", "gemma3-gguf")
@contextlib.contextmanager
def _(model, _):
    original, waiting = home(model).apply_rotary_pos_emb, []

    class Later(nn.Module):
        def __init__(self, norm):
            super().__init__()
            self.norm = norm

        def forward(self, x):
            waiting.append(self.norm)
            return x

    def rotate(q, k, cos, sin, **named):
        q, k = original(q, k, cos, sin, **named)
        key, query = waiting.pop(), waiting.pop()
        return query(q), key(k)

    for layer in fj.layers_of(model):
        layer.self_attn.q_norm = Later(layer.self_attn.q_norm)
        layer.self_attn.k_norm = Later(layer.self_attn.k_norm)
    with patched(model, "apply_rotary_pos_emb", rotate):
        yield


# --- attention -------------------------------------------------------------------------------------------------------

@mistake("keys tiled, not repeated", "llama-gqa", "llama-bias", "llama-llama3", "mistral", "qwen2-window", "qwen3",
         "gemma2")
@contextlib.contextmanager
def _(model, _):
    with patched(model, "repeat_kv", lambda x, count: x.repeat(1, count, 1, 1)):
        yield


def attention_with(change):
    """change(attention module, arguments of the attention by name) before the plain attention."""
    @contextlib.contextmanager
    def applied(model, batch):
        original = home(model).eager_attention_forward

        def changed(module, query, key, value, mask, **named):
            named |= {"query": query, "key": key, "value": value, "attention_mask": mask}
            change(module, named)
            return original(module, **named)
        with patched(model, "eager_attention_forward", changed):
            yield
    return applied


mistake("scale left out", "llama-gqa", "bert", "gpt2")(attention_with(lambda _, named: named.update(scaling=1.0)))
mistake("scale of the head for query_pre_attn_scalar", "gemma2", "gemma3")(
    attention_with(lambda module, named: named.update(scaling=module.head_dim ** -0.5)))
mistake("inverse layer scaling left out", "gpt2-inverse")(
    attention_with(lambda module, named: named.update(scaling=module.head_dim ** -0.5)))
mistake("inverse layer scaling from 0", "gpt2-inverse")(
    attention_with(lambda module, named: named.update(scaling=module.head_dim ** -0.5 / max(module.layer_idx, 1))))
mistake("attention softcap missing", "gemma2", "gemma2-gguf")(
    attention_with(lambda _, named: named.update(softcap=None)))
mistake("future visible", "llama-gqa", "gpt2")(
    attention_with(lambda _, named: named.update(attention_mask=None)))


@mistake("softcap after the mask", "gemma2", "gemma2-gguf")
@contextlib.contextmanager
def _(model, _):
    def attention(module, query, key, value, mask, scaling, softcap, **_):
        key, value = (home(model).repeat_kv(x, module.num_key_value_groups) for x in (key, value))
        scores = torch.tanh((query @ key.transpose(2, 3) * scaling + mask) / softcap) * softcap
        weights = scores.softmax(-1)
        return (weights @ value).transpose(1, 2).contiguous(), weights
    with patched(model, "eager_attention_forward", attention):
        yield


def window(by):
    def change(model, _):
        model.config.sliding_window += by
    return change


windowed = ("mistral", "qwen2-window", "gemma2", "gemma2-gguf", "gemma3", "gemma3-gguf")
mistake("window one wider", *windowed)(window(1))
mistake("window one narrower", *windowed)(window(-1))
mistake("window left out", *windowed)(window(100))


@mistake("local and full layers exchanged", "qwen2-window", "gemma2", "gemma2-gguf")
def _(model, _):
    other = {"full_attention": "sliding_attention", "sliding_attention": "full_attention"}
    model.config.layer_types = [other[kind] for kind in model.config.layer_types]


@mistake("all layers local", "gemma2", "gemma3", "gemma3-gguf", "qwen2-window")
@contextlib.contextmanager
def _(model, _):
    local = home(model).create_sliding_window_causal_mask
    with patched(model, "create_causal_mask", local):
        yield


@mistake("padding keys visible", "bert", "bert-bare", "roberta", "xlm-roberta", "albert")
@contextlib.contextmanager
def _(model, _):
    with mock.patch.object(fj, "visible", lambda lengths, width: torch.ones(len(lengths), width, dtype=torch.long)):
        yield


@mistake("columns of query, key and value head by head", "gpt2")
def _(model, _):
    heads = model.config.num_attention_heads
    for layer in modules(model):
        for parameter in layer["fused"].parameters():
            parameter.copy_(parameter.unflatten(-1, (heads, 3, -1)).transpose(-3, -2).flatten(-3).clone())


# --- activations, blocks, embeddings, heads --------------------------------------------------------------------------

def activation(function):
    names = ("act_fn", "activation_fn", "act", "activation", "intermediate_act_fn")

    def change(model, _):
        for layer in fj.layers_of(model):
            for module in layer.modules():
                for name in names:
                    if hasattr(module, name):
                        setattr(module, name, function)
    return change


mistake("erf GELU for tanh GELU", "gemma2-gguf", "phi", "gpt2-inverse", "albert")(activation(nn.GELU()))
mistake("tanh GELU for erf GELU", "bert-bare")(activation(nn.GELU("tanh")))
mistake("SiLU for GELU", "gemma2", "gemma3", "gpt2", "phi", "bert")(activation(nn.SiLU()))
mistake("GELU for SiLU", "llama-gqa", "qwen3")(activation(nn.GELU()))


@mistake("gate and up exchanged", "llama-gqa", "gemma2")
def _(model, _):
    for layer in fj.layers_of(model):
        layer.mlp.gate_proj, layer.mlp.up_proj = layer.mlp.up_proj, layer.mlp.gate_proj


@mistake("parallel block made sequential", "phi")
@contextlib.contextmanager
def _(model, _):
    def forward(self, hidden_states, **named):
        hidden_states = hidden_states + self.self_attn(hidden_states=self.input_layernorm(hidden_states), **named)[0]
        return hidden_states + self.mlp(self.input_layernorm(hidden_states))
    with mock.patch.object(home(model).PhiDecoderLayer, "forward", forward):
        yield


@mistake("embedding not scaled", "gemma2", "gemma3")
def _(model, _):
    model.base_model.embed_tokens.embed_scale.fill_(1)


@mistake("logit softcap missing", "gemma2", "gemma2-gguf")
def _(model, _):
    model.config.final_logit_softcapping = None


@mistake("positions one too late", "gpt2")
def _(model, _):
    model.base_model.wpe.weight.copy_(model.base_model.wpe.weight.roll(-1, 0).clone())


def shift_positions(by):
    def change(model, _):
        table = model.base_model.embeddings.position_embeddings.weight
        table.copy_(table.roll(-by, 0).clone())
    return change


mistake("positions one too late", "bert", "bert-bare", "albert")(shift_positions(1))
mistake("positions from 0", "roberta", "xlm-roberta")(shift_positions(-2))
mistake("positions from the padding id", "roberta", "xlm-roberta")(shift_positions(-1))


@mistake("token types ignored", "bert", "bert-bare", "albert")
def _(model, batch):
    batch["types"].zero_()


@mistake("type embedding left out", "bert", "roberta", "xlm-roberta", "albert")
def _(model, _):
    model.base_model.embeddings.token_type_embeddings.weight.zero_()


@mistake("pooled vector without tanh", "bert", "roberta", "xlm-roberta", "albert")
@contextlib.contextmanager
def _(model, _):
    with mock.patch.object(torch, "tanh", lambda x: x), mock.patch.object(nn.Tanh, "forward", lambda self, x: x):
        yield


@mistake("input embedding as read-out", "llama-gqa")
def _(model, _):
    model.lm_head.weight.copy_(model.base_model.embed_tokens.weight)


# --- measuring -------------------------------------------------------------------------------------------------------

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
