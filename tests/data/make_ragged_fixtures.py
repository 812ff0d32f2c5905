#!/usr/bin/env python3
"""Writes the small models under tests/data/ragged, whose layers differ, and the logits of independent implementations.

    python make_ragged_fixtures.py [NAME ...]        writes all models, or only the named ones, to this folder

Needs torch, transformers (5.x), safetensors, gguf and numpy. The output is deterministic. Each folder holds the model
(config.json and model.safetensors, or model.gguf) and expected.safetensors: ids [rows, T], lengths [rows] and logits
[rows, T, V], which are 0 at padded positions. The logits are computed in float64 from the stored weights.

Two kinds of models: dense models of transformers, in which the parts that a layer lacks are set to 0 or replaced, and
models that transformers does not have, computed by reference() from the definition of their architecture.
"""

import argparse
import copy
import dataclasses
import functools
import json
import math
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

import forward_judge as fj
import forward_models as fm
import make_fixtures as mf

FOLDER = pathlib.Path(__file__).parent / "ragged"


@dataclasses.dataclass
class Cut:
    """What a layer of a dense model keeps. None keeps everything."""
    heads: list = None
    neurons: int = None             # the first neurons are kept
    skip: tuple = ()
    bypass: float = None
    attention_bias: bool = False    # whether the output projection gets a bias that the architecture does not have
    mlp_bias: bool = False


@dataclasses.dataclass
class Ragged:
    case: fm.Case
    cuts: list
    model_type: str
    digits: int = 1                 # of the keys of per_layer_config


PLAIN = dict(rope_parameters={"rope_type": "default", "rope_theta": 100.0})


def ragged_cases():
    four = [Cut(heads=[0, 1, 2, 3], skip=("attention",), neurons=11), Cut(heads=[0, 1], bypass=0.75, mlp_bias=True),
            Cut(heads=[1, 2], skip=("mlp",), attention_bias=True), Cut(heads=[0, 2], attention_bias=True, neurons=5,
                                                                        mlp_bias=True)]
    windows = dict(layer_types=["sliding_attention", "full_attention", "full_attention", "sliding_attention"])
    capped = dict(attn_logit_softcapping=5.0, final_logit_softcapping=2.0)
    local = {"sliding_attention": {"rope_type": "default", "rope_theta": 10.0},
             "full_attention": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}}
    case = lambda name, seed, sizes, **more: fm.Case(*fm.decoder(name, **sizes, **more), seed, (11, 8))
    return {
        "mistral": Ragged(case("mistral", 801, fm.sizes(14, 4, 4, 2, 6, 17, 29), **PLAIN, sliding_window=5), four,
                          "secateur_mistral"),
        "qwen2": Ragged(case("qwen2", 802, fm.sizes(12, 4, 4, 2, 4, 15, 31), **PLAIN, use_sliding_window=True,
                             sliding_window=4, **windows), four, "secateur_qwen2"),
        "qwen3": Ragged(case("qwen3", 803, fm.sizes(14, 4, 4, 2, 6, 15, 29), **PLAIN, tie_word_embeddings=True), four,
                        "qwen3", 2),
        "llama": Ragged(case("llama", 804, fm.sizes(16, 4, 4, 2, 6, 15, 27), rope_parameters=fm.LLAMA3,
                             attention_bias=True, mlp_bias=True),
                        [dataclasses.replace(cut, attention_bias=False, mlp_bias=False) for cut in four],
                        "secateur_llama"),
        "gemma2": Ragged(case("gemma2", 805, fm.sizes(16, 4, 4, 2, 6, 15, 27), **PLAIN, **capped, **windows,
                              sliding_window=4, query_pre_attn_scalar=9), four, "secateur_gemma2"),
        "gemma3": Ragged(case("gemma3", 806, fm.sizes(16, 4, 4, 2, 6, 15, 27), rope_parameters=local, **windows,
                              sliding_window=4, query_pre_attn_scalar=9), four, "secateur_gemma3"),
    }


# --- models of transformers ------------------------------------------------------------------------------------------

def columns(heads, head_dim):
    return [head * head_dim + i for head in heads for i in range(head_dim)]


def values_only(attention, groups, hidden_states, **_):
    """The attention sublayer if each token attends to itself only."""
    values = attention.v_proj(hidden_states).unflatten(-1, (-1, attention.head_dim))
    return attention.o_proj(values.repeat_interleave(groups, -2).flatten(-2)), None


def no_update(hidden_states, **_):
    return torch.zeros_like(hidden_states), None


def add_biases(model, cuts, seed):
    generator = torch.Generator().manual_seed(seed)
    for layer, cut in zip(model.model.layers, cuts):
        for wanted, linear in ((cut.attention_bias, layer.self_attn.o_proj), (cut.mlp_bias, layer.mlp.down_proj)):
            if wanted:
                noise = torch.randn(linear.out_features, generator=generator)
                linear.bias = torch.nn.Parameter(0.5 * noise)


def scaled(factor, _module, _inputs, output):
    return output * factor


def without_cut(model, cuts):
    """The dense model, changed so that it computes what the model without the cut parts computes."""
    config, sandwich = model.config, hasattr(model.model.layers[0], "pre_feedforward_layernorm")
    per_key = config.num_attention_heads // config.num_key_value_heads
    for layer, cut in zip(model.model.layers, cuts):
        attention = layer.self_attn
        with torch.no_grad():
            if cut.heads is not None:
                lost = [c for c in range(attention.o_proj.in_features)
                        if c not in columns(cut.heads, config.head_dim)]
                attention.o_proj.weight[:, lost] = 0
            if cut.neurons is not None:
                layer.mlp.down_proj.weight[:, cut.neurons:] = 0
            if "mlp" in cut.skip:
                layer.mlp.down_proj.weight.zero_()
                if layer.mlp.down_proj.bias is not None:
                    layer.mlp.down_proj.bias.zero_()
        if cut.bypass is not None:
            attention.forward = functools.partial(values_only, attention, per_key)
            (layer.post_attention_layernorm if sandwich else attention.o_proj).register_forward_hook(
                functools.partial(scaled, cut.bypass))
        if "attention" in cut.skip:
            attention.forward = no_update
    return model


def kept_tensors(state, config, cuts, sandwich):
    """The tensors of the model without the cut parts, by their names in the dense model."""
    per_key = config.num_attention_heads // config.num_key_value_heads
    left = {}
    for name, values in state.items():
        if not name.startswith("model.layers."):
            left[name] = values
            continue
        index, _, part = name.removeprefix("model.layers.").partition(".")
        cut = cuts[int(index)]
        norms = {"input_layernorm": "attention", "post_attention_layernorm": "attention" if sandwich else "mlp",
                 "pre_feedforward_layernorm": "mlp", "post_feedforward_layernorm": "mlp", "mlp": "mlp",
                 "self_attn": "attention"}
        if norms[part.split(".")[0]] in cut.skip:
            continue
        if cut.bypass is not None and part.split(".")[1] in ("q_proj", "k_proj", "q_norm", "k_norm"):
            continue
        heads = list(range(config.num_attention_heads)) if cut.heads is None else cut.heads
        groups = sorted({head // per_key for head in heads})
        neurons = slice(cut.neurons)
        rows = {"q_proj": columns(heads, config.head_dim), "k_proj": columns(groups, config.head_dim),
                "v_proj": columns(groups, config.head_dim), "gate_proj": neurons, "up_proj": neurons}
        inputs = {"o_proj": columns(heads, config.head_dim), "down_proj": neurons}
        module, kind = (part.split(".")[1], part.split(".")[-1]) if part.count(".") == 2 else (None, None)
        if module in rows:
            values = values[rows[module]]
        if module in inputs and kind == "weight":
            values = values[:, inputs[module]]
        left[name] = values.contiguous()
    return left


def layer_settings(config, cut):
    """The entry of a layer in per_layer_config."""
    settings = {}
    per_key = config.num_attention_heads // config.num_key_value_heads
    if cut.heads is not None and "attention" not in cut.skip:
        settings |= {"num_attention_heads": len(cut.heads),
                     "num_key_value_heads": len({head // per_key for head in cut.heads})}
    if cut.neurons is not None:
        settings["intermediate_size"] = cut.neurons
    if cut.skip:
        settings["skip"] = list(cut.skip)
    if cut.bypass is not None:
        settings["bypass_qk"] = cut.bypass
    if cut.attention_bias:
        settings["attention_output_bias"] = True
    if cut.mlp_bias:
        settings["mlp_output_bias"] = True
    return {name: value for name, value in settings.items() if value != getattr(config, name, None)}


def write_ragged(name, ragged):
    model, batch = fm.build(ragged.case)
    add_biases(model, ragged.cuts, ragged.case.seed + 7)
    config, sandwich = model.config, hasattr(model.model.layers[0], "pre_feedforward_layernorm")
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    tied = config.tie_word_embeddings
    state = {n: v for n, v in model.state_dict().items() if not (tied and n == "lm_head.weight")}
    save_file(kept_tensors(state, config, ragged.cuts, sandwich), folder / "model.safetensors",
              metadata={"format": "pt"})
    model = without_cut(copy.deepcopy(model).double(), ragged.cuts)
    with fj.InDouble(), torch.no_grad():
        logits = fj.answer(model, batch)
    settings = json.loads(config.to_json_string())
    settings["model_type"] = ragged.model_type
    if ragged.model_type.startswith("secateur_"):
        kind = type(model).__name__.removesuffix("ForCausalLM")
        kind = "Gemma3" if kind == "Gemma3Text" else kind
        settings["architectures"] = [f"Secateur{kind}ForCausalLM"]
        settings["auto_map"] = {"AutoConfig": f"modeling_secateur.Secateur{kind}Config",
                                "AutoModelForCausalLM": f"modeling_secateur.Secateur{kind}ForCausalLM"}
    settings["per_layer_config"] = {str(i).zfill(ragged.digits): entry for i, cut in enumerate(ragged.cuts)
                                    if (entry := layer_settings(config, cut))}
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n")
    write_expected(name, batch["ids"], batch["lengths"], logits)


# --- models that transformers does not have --------------------------------------------------------------------------

@dataclasses.dataclass
class Layer:
    """A pre-norm layer with gated MLP. `heads` without `kv_heads`: one matrix in place of attention."""
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    window: int = None


def rms_norm(x, weight, epsilon):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + epsilon) * weight


def rotated(x, theta):
    """Rotary positions of x [T, heads, d]. Pair i is (x[i], x[i + d / 2])."""
    tokens, _, size = x.shape
    angles = torch.outer(torch.arange(tokens).double(), theta ** (-torch.arange(0, size, 2).double() / size))
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    first, second = x[..., :size // 2], x[..., size // 2:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def attended(x, weights, layer, theta, epsilon, scores_seen):
    tokens = x.shape[0]
    query, key, value = (
        (x @ weights[name].T).unflatten(-1, (-1, layer.head_dim)) for name in ("query", "key", "value"))
    if "queryNorm" in weights:
        query, key = (rms_norm(query, weights["queryNorm"], epsilon), rms_norm(key, weights["keyNorm"], epsilon))
    shared = layer.heads // layer.kv_heads
    query, key = rotated(query, theta), rotated(key, theta).repeat_interleave(shared, 1)
    scores = torch.einsum("ihd,jhd->hij", query, key) / math.sqrt(layer.head_dim)
    behind = torch.arange(tokens)[:, None] - torch.arange(tokens)[None]
    seen = (behind >= 0) & (behind < (layer.window or tokens))
    scores_seen.append(scores[:, seen].std().item())
    maps = scores.masked_fill(~seen, -math.inf).softmax(-1)
    context = torch.einsum("hij,jhd->ihd", maps, value.repeat_interleave(shared, 1))
    return context.flatten(1) @ weights["output"].T


def reference(weights, layers, ids, theta=100.0, epsilon=0.04):
    """Returns (logits of the tokens of one text, standard deviations of the attention scores), in float64."""
    weights = {key: torch.as_tensor(values).double() for key, values in weights.items()}
    x, figures = weights[-1, "embedding"][ids], []
    for index, layer in enumerate(layers):
        own = {which: values for (owner, which), values in weights.items() if owner == index}
        if layer.heads:
            normed = rms_norm(x, own["attentionNorm"], epsilon)
            x = x + (attended(normed, own, layer, theta, epsilon, figures) if layer.kv_heads
                     else normed @ own["output"].T)
        if layer.ffn:
            normed = rms_norm(x, own["mlpNorm"], epsilon)
            gate = normed @ own["gate"].T
            x = x + (gate * gate.sigmoid() * (normed @ own["up"].T)) @ own["down"].T
    head = weights.get((-1, "readOut"), weights[-1, "embedding"])
    return rms_norm(x, weights[-1, "finalNorm"], epsilon) @ head.T, figures


def drawn(layers, hidden, vocab, seed, dtype, norms_heads=False, tied=False):
    """Random weights by (layer, name), rounded to `dtype`."""
    generator = torch.Generator().manual_seed(seed)
    noise = lambda *size: torch.randn(size, generator=generator)
    matrix = lambda rows, inputs: 1.5 * noise(rows, inputs) / math.sqrt(inputs)
    gain = lambda size: 1 + 0.3 * noise(size)
    weights = {(-1, "embedding"): 0.2 * noise(vocab, hidden), (-1, "finalNorm"): gain(hidden)}
    if not tied:
        weights[-1, "readOut"] = matrix(vocab, hidden)
    for i, layer in enumerate(layers):
        queries, keys = layer.heads * layer.head_dim, layer.kv_heads * layer.head_dim
        if layer.heads:
            weights |= {(i, "attentionNorm"): gain(hidden),
                        (i, "output"): matrix(hidden, queries if keys else hidden)}
        if layer.kv_heads:
            weights |= {(i, "query"): 2 * matrix(queries, hidden), (i, "key"): matrix(keys, hidden),
                        (i, "value"): matrix(keys, hidden)}
            if norms_heads:
                weights |= {(i, "queryNorm"): 2 * gain(layer.head_dim), (i, "keyNorm"): 1.5 * gain(layer.head_dim)}
        if layer.ffn:
            weights |= {(i, "mlpNorm"): gain(hidden), (i, "gate"): matrix(layer.ffn, hidden),
                        (i, "up"): matrix(layer.ffn, hidden), (i, "down"): matrix(hidden, layer.ffn)}
    return {key: values.to(dtype).float() for key, values in weights.items()}


def texts(vocab, seed, lengths=(11, 8)):
    generator = torch.Generator().manual_seed(seed + 1000)
    return torch.randint(0, vocab, (len(lengths), max(lengths)), generator=generator), torch.tensor(lengths)


def write_referenced(name, weights, layers, vocab, seed):
    ids, lengths = texts(vocab, seed)
    logits = torch.zeros(*ids.shape, vocab, dtype=torch.float64)
    for row, length in enumerate(lengths.tolist()):
        logits[row, :length], figures = reference(weights, layers, ids[row, :length])
        assert all(1.5 <= figure <= 6 for figure in figures), figures
    write_expected(name, ids, lengths, logits)


LLAMA = {"attentionNorm": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj",
         "value": "self_attn.v_proj", "output": "self_attn.o_proj", "mlpNorm": "post_attention_layernorm",
         "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
WHOLE = {"embedding": "model.embed_tokens", "finalNorm": "model.norm", "readOut": "lm_head"}


def write_hugging_face(name, weights, layers, config, dtype):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    state = {}
    for (layer, which), values in weights.items():
        base = WHOLE[which] if layer < 0 else f"model.layers.{layer}.{LLAMA[which]}"
        if which == "output" and not layers[layer].kv_heads:
            base = f"model.layers.{layer}.self_attn.linear_attn"
        state[base + ".weight"] = values.to(dtype).contiguous()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def write_decilm():
    """Layers with full attention, without attention, with a matrix in its place, and without an MLP."""
    hidden, vocab, heads = 12, 23, 3
    groups = [3, 0, -1, 1]
    layers = [Layer(3, 1, 4, 256), Layer(0, 0, 4, 256), Layer(3, 0, 4, 0), Layer(3, 3, 4, 0)]
    weights = drawn(layers, hidden, vocab, 811, torch.float16)
    blocks = [{"attention": {"n_heads_in_group": size if size > 0 else None, "no_op": size == 0,
                             "num_sink_tokens": None, "replace_with_linear": size < 0, "sparsify": None,
                             "unshifted_sink": False, "use_prefill_window_in_sink_attention": False,
                             "window_length": None},
               "ffn": {"ffn_mult": 1.3125 if layer.ffn else None, "no_op": not layer.ffn,
                       "replace_with_linear": False, "sparsify": None}} for size, layer in zip(groups, layers)]
    config = {"architectures": ["DeciLMForCausalLM"], "attention_bias": False, "block_configs": blocks,
              "hidden_act": "silu", "hidden_size": hidden, "intermediate_size": None, "max_position_embeddings": 64,
              "mlp_bias": False, "model_type": "nemotron-nas", "num_attention_heads": heads,
              "num_hidden_layers": len(layers), "num_key_value_heads": None, "rms_norm_eps": 0.04,
              "rope_scaling": None, "rope_theta": 100.0, "tie_word_embeddings": False, "torch_dtype": "float16",
              "vocab_size": vocab}
    write_hugging_face("decilm", weights, layers, config, torch.float16)
    write_referenced("decilm", weights, layers, vocab, 811)


def write_shapes():
    """A Mistral whose layers differ in head size and window too."""
    hidden, vocab = 14, 23
    layers = [Layer(4, 2, 6, 17, 4), Layer(2, 1, 10, 9, None), Layer(3, 3, 4, 17, 6)]
    weights = drawn(layers, hidden, vocab, 822, torch.float32)
    entries = {"1": {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 10, "intermediate_size": 9,
                     "sliding_window": None},
               "2": {"num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 4, "sliding_window": 6}}
    config = {"architectures": ["MistralForCausalLM"], "head_dim": 6, "hidden_act": "silu", "hidden_size": hidden,
              "intermediate_size": 17, "max_position_embeddings": 64, "model_type": "mistral",
              "num_attention_heads": 4, "num_hidden_layers": len(layers), "num_key_value_heads": 2,
              "per_layer_config": entries, "rms_norm_eps": 0.04, "rope_theta": 100.0, "sliding_window": 4,
              "tie_word_embeddings": False, "vocab_size": vocab}
    write_hugging_face("shapes", weights, layers, config, torch.float32)
    write_referenced("shapes", weights, layers, vocab, 822)


def write_openelm():
    hidden, vocab = 14, 23
    layers = [Layer(4, 2, 6, 17), Layer(2, 1, 6, 9), Layer(3, 3, 6, 21)]
    weights = drawn(layers, hidden, vocab, 813, torch.float32, norms_heads=True, tied=True)
    tensors = {}
    for (layer, which), values in weights.items():
        if which not in ("query", "key", "value"):
            place = f"blk.{layer}." if layer >= 0 else ""
            tensors[place + mf.families.GGUF_NAMES[which] + ".weight"] = values.numpy()
    for i in range(len(layers)):
        fused = torch.cat([weights[i, part] for part in ("query", "key", "value")])
        tensors[f"blk.{i}.attn_qkv.weight"] = fused.numpy()
    fields = {"block_count": len(layers), "context_length": 64, "embedding_length": hidden,
              "feed_forward_length": [layer.ffn for layer in layers],
              "attention.head_count": [layer.heads for layer in layers],
              "attention.head_count_kv": [layer.kv_heads for layer in layers], "attention.key_length": 6,
              "attention.value_length": 6, "rope.dimension_count": 6, "rope.freq_base": 100.0,
              "attention.layer_norm_rms_epsilon": 0.04, "vocab_size": vocab}
    folder = FOLDER / "openelm"
    folder.mkdir(parents=True, exist_ok=True)
    mf.write_gguf(folder / "model.gguf", "openelm", tensors, fields)
    write_referenced("openelm", weights, layers, vocab, 813)


# --- expected values -------------------------------------------------------------------------------------------------

def write_expected(name, ids, lengths, logits):
    real = fj.visible(lengths, ids.shape[1])
    save_file({"ids": ids, "lengths": lengths, "logits": (logits.detach() * real[..., None]).float().contiguous()},
              FOLDER / name / "expected.safetensors")
    size = sum(file.stat().st_size for file in (FOLDER / name).iterdir())
    print(f"{name:10} logits {logits[real.bool()].std():.2f}, {size / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args().names
    writers = {name: functools.partial(write_ragged, name, ragged) for name, ragged in ragged_cases().items()}
    writers |= {"decilm": write_decilm, "shapes": write_shapes, "openelm": write_openelm}
    for name, write in writers.items():
        if not chosen or name in chosen:
            write()


if __name__ == "__main__":
    main()
