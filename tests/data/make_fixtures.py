#!/usr/bin/env python3
"""Writes the small models under tests/data and the values that an independent implementation computes from them.

    python make_fixtures.py                                       all small models, to this folder
    python make_fixtures.py --real NAME=PATH [NAME=PATH ...]      expected_NAME.json for real checkpoints

Needs torch, transformers (5.x), safetensors, gguf and numpy. The output is deterministic. All parameters are random,
including norms and biases, because the usual initial values (biases 0, norms 1) would hide mistakes.

Each model has an expected.json beside it with these entries:
    files     paths to open, relative to the folder ("." = the folder itself), each with the model's fingerprint; all
              have the same weights
    tensors   by layer and weight ("0.query"; layer -1 stands for weights of no layer): shape, and SHA-256 of the
              elements as float32
    metrics   by result id: one number or one list per layer
"""

import argparse
import hashlib
import json
import pathlib
import struct

import gguf
import numpy as np
import torch
import transformers as tf
from safetensors import safe_open
from safetensors.torch import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import families
import judge

HERE = pathlib.Path(__file__).parent
KINDS = gguf.GGMLQuantizationType
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
ODD = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=6,
           intermediate_size=20, vocab_size=17, max_position_embeddings=64)
ENCODER = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=28, vocab_size=17,
               max_position_embeddings=14, hidden_act="gelu")
# The six wavelengths go from 6 to 13,500 tokens. Two of them lie between 400 and 3200, the bounds of llama3 scaling, so
# a mistake in these bounds changes the result.
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=8.0,
              original_max_position_embeddings=3200)


# --- expected values -------------------------------------------------------------------------------------------------

def read_safetensors(folder):
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            tensors |= {name: opened.get_tensor(name) for name in opened.keys()}
    return tensors


def as_floats(state):
    return {name: values.float().numpy() for name, values in state.items()}


def fingerprint(stored):
    """The fingerprint of a model. `stored` has (name, shape, bytes) of each tensor as it is in the file."""
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


def stored_torch(state):
    for name, values in state.items():
        yield name, list(values.shape), values.contiguous().view(torch.uint8).numpy().tobytes()


def stored_gguf(path):
    for tensor in gguf.GGUFReader(path).tensors:
        yield tensor.name, [int(n) for n in reversed(tensor.shape)], tensor.data.tobytes()


def write_expected(folder, files, weights, shape, judged=None):
    record = {"files": files,
              "tensors": {f"{layer}.{which}":
                              {"shape": list(t.shape), "sum": float(t.astype(np.float64).sum()),
                               "sha256": hashlib.sha256(np.ascontiguousarray(t, np.float32).tobytes()).hexdigest()}
                          for (layer, which), t in sorted(weights.items())},
              "metrics": judge.all_metrics(judged or weights, shape)}
    (folder / "expected.json").write_text(json.dumps(record, indent=1) + "\n")


def shape_of(config, family):
    """Makes the judge.Shape of a Hugging Face configuration."""
    get = lambda *names, otherwise=None: next((config[n] for n in names if config.get(n) is not None), otherwise)
    heads, hidden = get("num_attention_heads", "n_head"), get("hidden_size", "n_embd")
    head_dim = get("head_dim", otherwise=hidden // heads)
    encoder = family in ("bert", "roberta", "xlm-roberta", "albert")
    rotary = 0 if encoder or family == "gpt2" else head_dim // 2 if family == "phi" else head_dim
    layer = judge.Layer(heads, get("num_key_value_heads", otherwise=heads),
                        get("intermediate_size", "n_inner", otherwise=4 * hidden), rotary, rotary > 0)
    return judge.Shape(head_dim, [layer] * get("num_hidden_layers", "n_layer"), int(family.startswith("gemma")),
                       encoder, family == "albert")


# --- models written with transformers --------------------------------------------------------------------------------

def redraw(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name.lower() or "ln_" in name:
                parameter.copy_(1 + 0.3 * noise if name.endswith("weight") else 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(noise * 1.5 / parameter.shape[-1] ** 0.5)
            # Multiplied row by row, so that heads differ in strength.
            if name.endswith(("q_proj.weight", "query.weight")):
                parameter.mul_(torch.linspace(0.2, 2, parameter.shape[0])[:, None])


def drawn(config, kind, dtype, seed):
    model = kind(config)
    redraw(model, seed)
    return model.to(dtype)


def without_extras(folder):
    (folder / "generation_config.json").unlink(missing_ok=True)


def write_llama(name, shape, dtype, seed, kind=(tf.LlamaConfig, tf.LlamaForCausalLM), shards=None, old_spelling=False,
                **extra):
    settings = shape | extra
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    model = drawn(kind[0](**settings, bos_token_id=1, eos_token_id=2), kind[1], dtype, seed)
    model.save_pretrained(folder, max_shard_size=shards or "5GB")
    without_extras(folder)
    if old_spelling:
        config = json.loads((folder / "config.json").read_text())
        rope = config.pop("rope_parameters")
        config |= {"rope_theta": rope["rope_theta"], "rope_scaling": None, "torch_dtype": config.pop("dtype")}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    state = read_safetensors(folder)
    write_expected(folder, {".": fingerprint(stored_torch(state))},
                   families.weights_of(as_floats(state), "llama"), shape_of(settings, "llama"))


def write_family(folder, model, seed, family=None, dtype=torch.float32, architecture=None, fused=False, rename=None,
                 extra=None, text_config=False):
    """Writes a tiny model as safetensors, as pytorch_model.bin and, if llama.cpp supports the architecture, as GGUF."""
    config, kind = model
    family = family or config.model_type
    model = drawn(config, kind, dtype, seed)
    folder = HERE / folder
    folder.mkdir(exist_ok=True)
    model.save_pretrained(folder)
    without_extras(folder)
    state = read_safetensors(folder)
    if rename or extra:
        state = {(rename(name) if rename else name): values for name, values in state.items()} | (extra or {})
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    torch.save(state, folder / "pytorch_model.bin")
    settings = config.to_dict()
    shape = shape_of(settings["text_config"] if text_config else settings, family)
    weights = families.weights_of(as_floats(state), family)
    files = {".": fingerprint(stored_torch(state)), "pytorch_model.bin": fingerprint(stored_torch(state))}
    if architecture:
        path = folder / "model.gguf"
        write_gguf(path, architecture, families.gguf_tensors(weights, architecture, shape, fused),
                   gguf_fields(settings, shape, architecture))
        files["model.gguf"] = fingerprint(stored_gguf(path))
    applied = None
    if shape.tied:
        applied = {(layer, which): values for (stored, which), values in weights.items()
                   for layer in (range(len(shape.layers)) if stored == 0 else [stored])}
    write_expected(folder, files, weights, shape, applied)


# --- GGUF files ------------------------------------------------------------------------------------------------------

def encode(values, kind, random):
    if kind == KINDS.Q6_K:  # gguf-py can read but not write this type, so the blocks are random
        blocks = values.size // 256
        raw = random.integers(0, 256, (blocks, 208), np.uint8)
        scale = (0.002 * (1 + random.random((blocks, 1)))).astype(np.float16).view(np.uint8).reshape(blocks, 2)
        return np.concatenate([raw, scale], 1).reshape(*values.shape[:-1], -1)
    if kind == KINDS.F32:
        return values.astype(np.float32)
    if kind == KINDS.F16:
        return values.astype(np.float16)
    return gguf.quants.quantize(values, kind)


def storage_kind(values, kind):
    """The type that llama.cpp's converter chooses: vectors stay float32, and matrices whose rows do not fill blocks of
    256 elements become Q8_0.
    """
    if values.ndim == 1:
        return KINDS.F32
    if kind == KINDS.Q6_K and values.shape[1] % 256:
        return KINDS.Q8_0
    return kind


def rope_divisors(config):
    """The factors of llama3 scaling as llama.cpp stores them: unscaled frequencies divided by scaled ones."""
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    plain = config.rope_parameters["rope_theta"] ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    return (plain / scaled.double().numpy()).astype(np.float32)


def gguf_fields(config, shape, architecture):
    """The metadata that llama.cpp's converter writes, by key. The prefix of the keys, the architecture's name, is left
    out.
    """
    per_layer = lambda values: values[0] if len(set(values)) == 1 else values
    get = lambda *names, otherwise=None: next((config[n] for n in names if config.get(n) is not None), otherwise)
    epsilon = "attention.layer_norm_rms_epsilon" if "rms_norm_eps" in config else "attention.layer_norm_epsilon"
    fields = {"block_count": len(shape.layers),
              "context_length": get("max_position_embeddings", "n_positions"),
              "embedding_length": get("hidden_size", "n_embd"),
              "feed_forward_length": per_layer([l.ffn for l in shape.layers]),
              "attention.head_count": per_layer([l.heads for l in shape.layers]),
              "attention.head_count_kv": per_layer([l.kv_heads for l in shape.layers]),
              "vocab_size": config["vocab_size"],
              epsilon: float(get("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"))}
    if shape.layers[0].rotary:
        fields |= {"rope.dimension_count": shape.layers[0].rotary, "rope.freq_base": 10000.0}
    if "head_dim" in config:
        fields |= {"attention.key_length": shape.head_dim, "attention.value_length": shape.head_dim}
    if architecture.startswith("gemma"):
        fields["attention.sliding_window"] = config["sliding_window"]
    if architecture == "gemma2":
        fields |= {"attn_logit_softcapping": config["attn_logit_softcapping"],
                   "final_logit_softcapping": config["final_logit_softcapping"]}
    if architecture == "gemma3":
        fields["rope.freq_base"] = 1e6
    if architecture == "bert":
        fields |= {"attention.causal": False, "pooling_type": 0}
    return fields


def write_gguf(path, architecture, tensors, fields, kind=KINDS.F32):
    writer = gguf.GGUFWriter(path, architecture)
    vocab = fields.pop("vocab_size")
    for key, value in fields.items():
        key = key if key.startswith("tokenizer.") else f"{architecture}.{key}"
        if isinstance(value, list):
            writer.add_array(key, value)
        else:
            {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32,
             str: writer.add_string}[type(value)](key, value)
    writer.add_vocab_size(vocab)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"t{i}" for i in range(vocab)])
    random = np.random.default_rng(11)
    for name, values in tensors.items():
        stored = storage_kind(values, kind)
        writer.add_tensor(name, encode(np.ascontiguousarray(values), stored, random), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_llama_gguf(name, weights, settings, kind):
    folder = HERE / f"{name}-{kind.name.lower()}-gguf"
    folder.mkdir(exist_ok=True)
    path = folder / "model.gguf"
    shape = shape_of(settings, "llama")
    tensors = families.gguf_tensors(weights, "llama", shape)
    if "rope_parameters" in settings:
        tensors = {"rope_freqs.weight": rope_divisors(tf.LlamaConfig(**settings))} | tensors
    write_gguf(path, "llama", tensors, gguf_fields(settings, shape, "llama"), kind)
    write_expected(folder, {"model.gguf": fingerprint(stored_gguf(path))}, families.read_gguf(path)[0], shape)


def write_deci():
    """Writes a model of the "deci" architecture, whose layers have different shapes: full, linear or no attention, and
    MLPs of several widths or none.
    """
    hidden, vocab, head_dim = 24, 17, 6
    layers = [judge.Layer(4, 2, 20, head_dim), judge.Layer(0, 0, 12), judge.Layer(4, 0, 28), judge.Layer(4, 4, 0, head_dim)]
    shape = judge.Shape(head_dim, layers)
    random = np.random.default_rng(31)
    draw = lambda *size: (random.standard_normal(size) * 1.5 / size[-1] ** 0.5).astype(np.float32)
    gain = lambda: (1 + 0.3 * random.standard_normal(hidden)).astype(np.float32)
    weights = {(-1, "embedding"): draw(vocab, hidden), (-1, "finalNorm"): gain(), (-1, "readOut"): draw(vocab, hidden)}
    for index, layer in enumerate(layers):
        queries, keys = layer.heads * head_dim, layer.kv_heads * head_dim
        if layer.heads:
            weights |= {(index, "attentionNorm"): gain(), (index, "output"): draw(hidden, queries)}
        if layer.kv_heads:
            weights |= {(index, "query"): draw(queries, hidden), (index, "key"): draw(keys, hidden),
                        (index, "value"): draw(keys, hidden)}
        if layer.ffn:
            weights |= {(index, "mlpNorm"): gain(), (index, "gate"): draw(layer.ffn, hidden),
                        (index, "up"): draw(layer.ffn, hidden), (index, "down"): draw(hidden, layer.ffn)}
    settings = {"max_position_embeddings": 32, "hidden_size": hidden, "vocab_size": vocab, "rms_norm_eps": 1e-5}
    folder = HERE / "deci-gguf"
    folder.mkdir(exist_ok=True)
    write_gguf(folder / "model.gguf", "deci", families.gguf_tensors(weights, "deci", shape),
               gguf_fields(settings, shape, "deci"))
    layers[2].heads = 0  # linear attention has no heads with gate-norms
    write_expected(folder, {"model.gguf": fingerprint(stored_gguf(folder / "model.gguf"))}, weights, shape)


# --- the list of models ----------------------------------------------------------------------------------------------

def llama_models():
    mistral = (tf.MistralConfig, tf.MistralForCausalLM)
    write_llama("mha-f32", MHA, torch.float32, 1, old_spelling=True)
    scaled = GQA | {"rope_parameters": LLAMA3, "max_position_embeddings": 25600}
    write_llama("gqa-f32", scaled, torch.float32, 2)
    write_llama("gqa-bf16", scaled, torch.bfloat16, 2)
    write_llama("gqa-f16-mistral", GQA, torch.float16, 3, kind=mistral, sliding_window=None)
    write_llama("gqa-f32-bias", GQA | {"num_hidden_layers": 1}, torch.float32, 4, attention_bias=True)
    write_llama("mqa-f32-sharded", MQA, torch.float32, 5, shards="40KB")
    gqa = families.weights_of(as_floats(read_safetensors(HERE / "gqa-f32")), "llama")
    for kind in (KINDS.F32, KINDS.F16, KINDS.BF16, KINDS.Q8_0, KINDS.Q4_0, KINDS.Q4_1):
        write_llama_gguf("gqa", gqa, scaled, kind)
    biased = families.weights_of(as_floats(read_safetensors(HERE / "gqa-f32-bias")), "llama")
    write_llama_gguf("bias", biased, GQA | {"num_hidden_layers": 1}, KINDS.F16)
    wide = drawn(tf.LlamaConfig(**SUPER), tf.LlamaForCausalLM, torch.float32, 6)
    state = {n: p.detach().numpy() for n, p in wide.named_parameters()}
    write_llama_gguf("wide", families.weights_of(state, "llama"), SUPER, KINDS.Q6_K)


def decoders():
    write_family("llama-mlp-bias", (tf.LlamaConfig(**ODD, mlp_bias=True), tf.LlamaForCausalLM), 20,
                 architecture="llama")
    write_family("qwen2", (tf.Qwen2Config(**ODD), tf.Qwen2ForCausalLM), 21, architecture="qwen2")
    write_family("qwen3", (tf.Qwen3Config(**ODD, tie_word_embeddings=True), tf.Qwen3ForCausalLM), 22,
                 architecture="qwen3")
    # Gemma's norms multiply by 1 + w, and GGUF files store 1 + w. In bfloat16 models this sum is exact in float32, so w
    # can be recovered from the GGUF file.
    gemma = ODD | {"num_hidden_layers": 3, "sliding_window": 16, "query_pre_attn_scalar": 6}
    write_family("gemma2", (tf.Gemma2Config(**gemma), tf.Gemma2ForCausalLM), 23, dtype=torch.bfloat16,
                 architecture="gemma2")
    one_key = gemma | {"num_key_value_heads": 1, "num_hidden_layers": 7}
    write_family("gemma3", (tf.Gemma3TextConfig(**one_key), tf.Gemma3ForCausalLM), 24, family="gemma3",
                 dtype=torch.bfloat16, architecture="gemma3")
    vision = dict(hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=2, image_size=4,
                  patch_size=2)
    both = (tf.Gemma3Config(text_config=gemma, vision_config=vision, mm_tokens_per_image=4),
            tf.Gemma3ForConditionalGeneration)
    write_family("gemma3-multimodal", both, 25, dtype=torch.bfloat16, text_config=True)
    # From version 4.52 on transformers saved these names with this order of prefixes. Earlier versions and the current
    # one use the reverse order.
    moved = lambda name: "model." + name.replace("language_model.model.", "language_model.")
    write_family("gemma3-resaved", both, 25, dtype=torch.bfloat16, text_config=True, rename=moved)
    phi = {k: v for k, v in ODD.items() if k != "head_dim"} | {"num_attention_heads": 3,
                                                               "num_key_value_heads": 3}
    write_family("phi", (tf.PhiConfig(**phi), tf.PhiForCausalLM), 26, architecture="phi2", fused=True)
    gpt2 = dict(n_embd=20, n_layer=2, n_head=5, n_positions=14, vocab_size=17)
    write_family("gpt2", (tf.GPT2Config(**gpt2), tf.GPT2LMHeadModel), 27, architecture="gpt2", fused=True)
    write_family("gpt2-hub", (tf.GPT2Config(**gpt2, n_inner=28), tf.GPT2LMHeadModel), 28,
                 rename=lambda name: name.removeprefix("transformer."),
                 extra={"h.0.attn.bias": torch.ones(1, 1, 14, 14, dtype=torch.uint8)})


def encoders():
    labels = {"num_labels": 3}
    write_family("bert", (tf.BertConfig(**ENCODER, **labels), tf.BertForSequenceClassification), 40)
    legacy = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    write_family("bert-legacy", (tf.BertConfig(**ENCODER), tf.BertModel), 41, architecture="bert",
                 rename=lambda name: "bert." + legacy(name),
                 extra={"bert.embeddings.position_ids": torch.arange(14)[None],
                        "cls.predictions.bias": torch.zeros(17)})
    write_family("bert-bare", (tf.BertConfig(**ENCODER), tf.BertModel), 42)
    roberta = ENCODER | {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
    write_family("roberta", (tf.RobertaConfig(**roberta, **labels), tf.RobertaForSequenceClassification), 43)
    write_family("xlm-roberta", (tf.XLMRobertaConfig(**roberta), tf.XLMRobertaForSequenceClassification), 44)
    albert = ENCODER | {"embedding_size": 10, "num_hidden_layers": 3}
    write_family("albert", (tf.AlbertConfig(**albert, **labels), tf.AlbertForSequenceClassification), 45)


def real_model(argument):
    name, _, path = argument.partition("=")
    path = pathlib.Path(path)
    if path.is_dir():
        config = json.loads((path / "config.json").read_text())
        family = config["model_type"]
        weights = families.weights_of(as_floats(read_safetensors(path)), family)
    else:
        family = "llama"
        weights, field = families.read_gguf(path)
        config = {"num_attention_heads": field["llama.attention.head_count"],
                  "num_key_value_heads": field["llama.attention.head_count_kv"],
                  "hidden_size": field["llama.embedding_length"], "num_hidden_layers": field["llama.block_count"],
                  "intermediate_size": field["llama.feed_forward_length"]}
    metrics = judge.all_metrics(weights, shape_of(config, family), most_options=1)
    metrics.pop("mag_sp_neuron")  # left out because of its size
    (HERE / f"expected_{name}.json").write_text(json.dumps({"metrics": metrics}, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", nargs="+", metavar="NAME=PATH")
    arguments = parser.parse_args()
    if arguments.real:
        for item in arguments.real:
            real_model(item)
    else:
        llama_models()
        decoders()
        encoders()
        write_deci()
