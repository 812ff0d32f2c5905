"""Deliberate mistakes in transformers models: in biases, norms, activations, blocks, embeddings and heads.

Each mistake is a context manager that is called with a copy of the model and the batch. It is registered with the names
of the fixtures whose outputs must change.
"""

import contextlib
import sys
from unittest import mock

import torch
from torch import nn

import forward_judge as fj
import forward_models

MISTAKES = []


def mistake(name, *fixtures):
    def register(make):
        MISTAKES.append((name, fixtures, make if hasattr(make, "__wrapped__") else settled(make)))
        return make
    return register


def settled(change):
    """Makes a mistake from a function that changes the parameters or modules of the model."""
    @contextlib.contextmanager
    def applied(model, batch):
        with torch.no_grad():
            change(model, batch)
        yield
    return applied


def home(model):
    """The module of transformers in which the model's class is defined."""
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
