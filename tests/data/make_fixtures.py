#!/usr/bin/env python3
"""Writes the small models under tests/data and what an independent implementation makes of them.

    python make_fixtures.py                                       all small models, beside this file
    python make_fixtures.py --real NAME=PATH [NAME=PATH ...]      expected_NAME.json for real checkpoints

Needs torch, transformers (5.x), safetensors, gguf and numpy. Deterministic. Every parameter is drawn anew, norms and
biases too: a freshly initialised model (biases 0, norms 1) hides mistakes.

expected.json beside each model:
    file      what to open, relative to the folder ("." = the folder itself)
    fingerprint  by the description in backends/fingerprint.h
    tensors   by Hugging Face name, after reading: shape, SHA-256 of the float32 bytes in the half-rotation layout
    metrics   by result id: one number, or one list, per layer; float64, by forming the matrices themselves
"""

import argparse
import hashlib
import itertools
import json
import pathlib
import struct

import gguf
import numpy as np
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

HERE = pathlib.Path(__file__).parent
GQA = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2, head_dim=12,
           intermediate_size=32, vocab_size=37, max_position_embeddings=48, rms_norm_eps=1e-5)
MHA = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, head_dim=16,
           intermediate_size=40, vocab_size=29, max_position_embeddings=32, rms_norm_eps=1e-6)
MQA = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, num_key_value_heads=1, head_dim=12,
           intermediate_size=56, vocab_size=31, max_position_embeddings=32, rms_norm_eps=1e-5,
           tie_word_embeddings=True)
SUPER = dict(hidden_size=256, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
             intermediate_size=32, vocab_size=16, max_position_embeddings=32, rms_norm_eps=1e-5,
             tie_word_embeddings=True)
# Of the six wavelengths (6 to 13,500) two lie between the bounds 400 and 3200, so that divisors tell the bounds.
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=8.0,
              original_max_position_embeddings=3200)


# --- the judge: gate-norms in float64, from their definitions (design: methods.md 1) ---------------------------------

def phase_mean(query, key, dims):
    """Mean of ||sum_h q_h^T R k_h||^2 over independent uniform phases; query, key [heads, headDim, columns].

    Each pair contributes a trigonometric polynomial of degree one, whose square four equally spaced phases average
    exactly; products of different pairs average to zero.
    """
    half = dims // 2
    total = 0.0
    for pair in range(half):
        q1, q2 = query[:, pair], query[:, pair + half]
        k1, k2 = key[:, pair], key[:, pair + half]
        for phase in 0.3 + np.arange(4) * np.pi / 2:
            c, s = np.cos(phase), np.sin(phase)
            product = q1.T @ (c * k1 - s * k2) + q2.T @ (s * k1 + c * k2)
            total += (product ** 2).sum() / 4
    rest = sum(q.T @ k for q, k in zip(query[:, dims:], key[:, dims:]))
    return total + (rest ** 2).sum()


def norm(query, key, rope_averaged, dims):
    """||sum_h query_h^T key_h||_F, or its root mean square over rotary phases."""
    if rope_averaged:
        return float(np.sqrt(phase_mean(query, key, dims)))
    return float(np.sqrt((sum(q.T @ k for q, k in zip(query, key)) ** 2).sum()))


def gate_norms(tensors, config, options):
    heads, groups = config["heads"], config["kv_heads"]
    values = {"gate_norm": [], "gate_norm_headwise": [], "gate_norm_head": [], "gate_norm_group": []}
    for layer in range(config["layers"]):
        def get(name):
            return tensors[f"model.layers.{layer}.{name}"].astype(np.float64)
        query, key = get("self_attn.q_proj.weight"), get("self_attn.k_proj.weight")
        if "fold_norm" in options:
            query, key = query * get("input_layernorm.weight"), key * get("input_layernorm.weight")
        if "augmented" in options and config["bias"]:
            query = np.concatenate([query, get("self_attn.q_proj.bias")[:, None]], 1)
            key = np.concatenate([key, get("self_attn.k_proj.bias")[:, None]], 1)
        query = query.reshape(heads, config["head_dim"], -1)
        key = key.reshape(groups, config["head_dim"], -1)
        per_head = heads // groups
        repeated = np.repeat(key, per_head, axis=0)
        rope = "rope_averaged" in options
        dims = config["rotary"]
        by_head = [norm(query[h:h + 1], repeated[h:h + 1], rope, dims) for h in range(heads)]
        values["gate_norm"].append(norm(query, repeated, rope, dims))
        values["gate_norm_headwise"].append(float(np.sqrt(np.sum(np.square(by_head)))))
        values["gate_norm_head"].append(by_head)
        values["gate_norm_group"].append([
            norm(query[g * per_head:(g + 1) * per_head].sum(0, keepdims=True), key[g:g + 1], rope, dims)
            for g in range(groups)])
    return {metric + "".join(f":{o}=true" for o in options): v for metric, v in values.items()}


def all_metrics(tensors, config, most_options=3):
    metrics = {}
    for count in range(most_options + 1):
        for options in itertools.combinations(["augmented", "fold_norm", "rope_averaged"], count):
            metrics |= gate_norms(tensors, config, options)
    return metrics


# --- checkpoints as plain arrays under Hugging Face names ------------------------------------------------------------

def shape_of(config):
    return {"layers": config["num_hidden_layers"], "heads": config["num_attention_heads"],
            "kv_heads": config["num_key_value_heads"], "head_dim": config["head_dim"], "rotary": config["head_dim"],
            "bias": config.get("attention_bias", False)}


def read_safetensors(folder):
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            tensors |= {name: opened.get_tensor(name).float().numpy() for name in opened.keys()}
    return tensors


def permute(weight, heads):
    """Half-rotation rows to the consecutive pairs that llama.cpp's `llama` keeps."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def unpermute(weight, heads):
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


GGUF_NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
              "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
              "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
GGUF_TOP = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
            "output.weight": "lm_head.weight"}


def hugging_face_name(name):
    if name in GGUF_TOP:
        return GGUF_TOP[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{GGUF_NAMES[part]}.{kind}"


def read_gguf(path):
    reader = gguf.GGUFReader(path)
    field = {name: f.contents() for name, f in reader.fields.items() if not name.startswith("tokenizer")}
    heads = field["llama.attention.head_count"]
    config = {"layers": field["llama.block_count"], "heads": heads,
              "kv_heads": field.get("llama.attention.head_count_kv", heads), "bias": False}
    config["head_dim"] = field.get("llama.attention.key_length", field["llama.embedding_length"] // heads)
    config["rotary"] = field.get("llama.rope.dimension_count", config["head_dim"])
    tensors = {}
    for tensor in reader.tensors:
        if tensor.name == "rope_freqs.weight":
            continue
        config["bias"] = config["bias"] or tensor.name.endswith("attn_q.bias")
        shape = [int(n) for n in reversed(tensor.shape)]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        if ".attn_q." in tensor.name:
            values = unpermute(values, config["heads"])
        if ".attn_k." in tensor.name:
            values = unpermute(values, config["kv_heads"])
        tensors[hugging_face_name(tensor.name)] = values
    return tensors, config


# --- writing ---------------------------------------------------------------------------------------------------------

def redraw(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name:
                parameter.copy_(1 + 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(noise * 1.5 / parameter.shape[-1] ** 0.5)
        for layer in model.model.layers:  # heads of unlike strength
            scales = torch.linspace(0.2, 2, layer.self_attn.q_proj.weight.shape[0])
            layer.self_attn.q_proj.weight.mul_(scales[:, None])


def fingerprint(stored):
    """stored: (name, shape, bytes) of each tensor as the file keeps it."""
    digest = hashlib.sha256()
    for name, shape, data in sorted(stored, key=lambda tensor: tensor[0].encode()):
        digest.update(name.encode() + b"\0" + struct.pack(f"<{1 + len(shape)}q", len(shape), *shape))
        if len(data) <= 4096:
            digest.update(data)
        else:
            for piece in range(16):
                start = (len(data) - 256) * piece // 15
                digest.update(data[start:start + 256])
    return "sha256:" + digest.hexdigest()


def stored_safetensors(folder):
    for file in sorted(folder.glob("*.safetensors")):
        raw = file.read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        for name, info in json.loads(raw[8:start]).items():
            if name != "__metadata__":
                begin, end = info["data_offsets"]
                yield name, info["shape"], raw[start + begin:start + end]


def stored_gguf(path):
    for tensor in gguf.GGUFReader(path).tensors:
        yield tensor.name, [int(n) for n in reversed(tensor.shape)], tensor.data.tobytes()


def write_expected(folder, file, stored, tensors, config):
    record = {"file": file,
              "fingerprint": fingerprint(stored),
              "tensors": {name: {"shape": list(t.shape), "sum": float(t.astype(np.float64).sum()),
                                 "sha256": hashlib.sha256(np.ascontiguousarray(t, np.float32).tobytes()).hexdigest()}
                          for name, t in sorted(tensors.items())},
              "metrics": all_metrics(tensors, config)}
    (folder / "expected.json").write_text(json.dumps(record, indent=1) + "\n")


def write_hugging_face(name, shape, dtype, seed, kind=(LlamaConfig, LlamaForCausalLM), shards=None, old_spelling=False,
                       **extra):
    settings = shape | extra
    model = kind[1](kind[0](**settings, bos_token_id=1, eos_token_id=2))
    redraw(model, seed)
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    model.to(dtype).save_pretrained(folder, max_shard_size=shards or "5GB")
    (folder / "generation_config.json").unlink(missing_ok=True)
    if old_spelling:
        config = json.loads((folder / "config.json").read_text())
        rope = config.pop("rope_parameters")
        config |= {"rope_theta": rope["rope_theta"], "rope_scaling": None, "torch_dtype": config.pop("dtype")}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_expected(folder, ".", stored_safetensors(folder), read_safetensors(folder), shape_of(settings))


def encode(values, kind, random):
    if kind == gguf.GGMLQuantizationType.Q6_K:  # gguf-py reads it but does not write it: draw blocks
        blocks = values.size // 256
        raw = random.integers(0, 256, (blocks, 208), np.uint8)
        scale = (0.002 * (1 + random.random((blocks, 1)))).astype(np.float16).view(np.uint8).reshape(blocks, 2)
        return np.concatenate([raw, scale], 1).reshape(*values.shape[:-1], -1)
    if kind == gguf.GGMLQuantizationType.F32:
        return values
    if kind == gguf.GGMLQuantizationType.F16:
        return values.astype(np.float16)
    return gguf.quants.quantize(values, kind)


def storage_kind(values, kind):
    """Vectors stay float32, and rows that are no whole blocks of 256 become Q8_0, as llama.cpp's converter does."""
    if values.ndim == 1:
        return gguf.GGMLQuantizationType.F32
    if kind == gguf.GGMLQuantizationType.Q6_K and values.shape[1] % 256:
        return gguf.GGMLQuantizationType.Q8_0
    return kind


def rope_divisors(config):
    """What llama.cpp keeps of llama3 scaling: the plain frequencies divided by the scaled ones."""
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    plain = config.rope_parameters["rope_theta"] ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    return (plain / scaled.double().numpy()).astype(np.float32)


def write_gguf(name, tensors, shape, kind):
    folder = HERE / f"{name}-{kind.name.lower()}-gguf"
    folder.mkdir(exist_ok=True)
    path = folder / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(shape["num_hidden_layers"])
    writer.add_context_length(shape["max_position_embeddings"])
    writer.add_embedding_length(shape["hidden_size"])
    writer.add_feed_forward_length(shape["intermediate_size"])
    writer.add_head_count(shape["num_attention_heads"])
    writer.add_head_count_kv(shape["num_key_value_heads"])
    writer.add_key_length(shape["head_dim"])
    writer.add_value_length(shape["head_dim"])
    writer.add_rope_dimension_count(shape["head_dim"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(shape["rms_norm_eps"])
    writer.add_vocab_size(shape["vocab_size"])
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"t{i}" for i in range(shape["vocab_size"])])
    names = {v: k for k, v in GGUF_NAMES.items()}
    top = {v: k for k, v in GGUF_TOP.items()}
    random = np.random.default_rng(11)
    if "rope_parameters" in shape:
        writer.add_tensor("rope_freqs.weight", rope_divisors(LlamaConfig(**shape)))
    for tensor_name, values in tensors.items():
        if tensor_name in top:
            target = top[tensor_name]
        else:
            _, _, layer, *part, suffix = tensor_name.split(".")
            target = f"blk.{layer}.{names['.'.join(part)]}.{suffix}"
        if "q_proj" in tensor_name:
            values = permute(values, shape["num_attention_heads"])
        if "k_proj" in tensor_name:
            values = permute(values, shape["num_key_value_heads"])
        stored = storage_kind(values, kind)
        writer.add_tensor(target, encode(np.ascontiguousarray(values), stored, random), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read, config = read_gguf(path)
    write_expected(folder, "model.gguf", stored_gguf(path), read, config)


def small_models():
    mistral = (MistralConfig, MistralForCausalLM)
    write_hugging_face("mha-f32", MHA, torch.float32, 1, old_spelling=True)
    scaled = GQA | {"rope_parameters": LLAMA3, "max_position_embeddings": 25600}
    write_hugging_face("gqa-f32", scaled, torch.float32, 2)
    write_hugging_face("gqa-bf16", scaled, torch.bfloat16, 2)
    write_hugging_face("gqa-f16-mistral", GQA, torch.float16, 3, kind=mistral, sliding_window=None)
    write_hugging_face("gqa-f32-bias", GQA | {"num_hidden_layers": 1}, torch.float32, 4, attention_bias=True)
    write_hugging_face("mqa-f32-sharded", MQA, torch.float32, 5, shards="40KB")
    kinds = gguf.GGMLQuantizationType
    gqa = read_safetensors(HERE / "gqa-f32")
    for kind in (kinds.F32, kinds.F16, kinds.BF16, kinds.Q8_0, kinds.Q4_0, kinds.Q4_1):
        write_gguf("gqa", gqa, scaled, kind)
    write_gguf("bias", read_safetensors(HERE / "gqa-f32-bias"), GQA | {"num_hidden_layers": 1}, kinds.F16)
    wide = LlamaForCausalLM(LlamaConfig(**SUPER))
    redraw(wide, 6)
    write_gguf("wide", {n: p.detach().numpy() for n, p in wide.named_parameters()}, SUPER, kinds.Q6_K)


def real_model(argument):
    name, _, path = argument.partition("=")
    path = pathlib.Path(path)
    if path.is_dir():
        config = json.loads((path / "config.json").read_text())
        config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
        tensors, shape = read_safetensors(path), shape_of(config)
    else:
        tensors, shape = read_gguf(path)
    metrics = all_metrics(tensors, shape, most_options=1)
    (HERE / f"expected_{name}.json").write_text(json.dumps({"metrics": metrics}, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", nargs="+", metavar="NAME=PATH")
    arguments = parser.parse_args()
    if arguments.real:
        for item in arguments.real:
            real_model(item)
    else:
        small_models()
