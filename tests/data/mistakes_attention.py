"""Deliberate mistakes in transformers models: in rotary positions, attention scores and attention masks."""

import contextlib
from unittest import mock

import torch
from torch import nn

import forward_judge as fj
from mistakes import home, mistake, modules, patched


# --- rotary positions ------------------------------------------------------------------------------------------------

def rotated_pairs(x, cos, sin):
    """Rotates pairs of neighbouring dimensions, as GPT-J does."""
    half = cos.shape[-1] // 2
    cos, sin = cos[:, None, :, :half], sin[:, None, :, :half]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)


@mistake("interleaved rotary", "llama-gqa", "llama-mqa", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi")
@contextlib.contextmanager
def _(model, _):
    with patched(model, "apply_rotary_pos_emb",
                 lambda q, k, cos, sin, **_: (rotated_pairs(q, cos, sin), rotated_pairs(k, cos, sin))):
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
    """Makes a mistake from a function. change(attention module, arguments by name) is called before each eager
    attention and may change the arguments.
    """
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
