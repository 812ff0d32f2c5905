"""The names of weights in the Hugging Face and llama.cpp checkpoints of each model family
(resources/manual/architecture.md).

NAMES maps names of analysis/model.h, without ".weight" or ".bias", to those of Hugging Face. GGUF_NAMES maps them to
those of llama.cpp.
"""

import re

import gguf
import numpy as np

LAYERS = r"(?:model\.|language_model\.|transformer\.|bert\.|roberta\.|albert\.|encoder\.)*(?:layers|layer|h)\.(\d+)\.(.*)"
LLAMA = {"attentionNorm": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj",
         "value": "self_attn.v_proj", "output": "self_attn.o_proj", "queryNorm": "self_attn.q_norm",
         "keyNorm": "self_attn.k_norm", "mlpNorm": "post_attention_layernorm", "gate": "mlp.gate_proj",
         "up": "mlp.up_proj", "down": "mlp.down_proj", "embedding": "embed_tokens", "finalNorm": "norm",
         "readOut": "lm_head"}
GEMMA = LLAMA | {"attentionPostNorm": "post_attention_layernorm", "mlpNorm": "pre_feedforward_layernorm",
                 "mlpPostNorm": "post_feedforward_layernorm"}
PHI = {"attentionNorm": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj",
       "value": "self_attn.v_proj", "output": "self_attn.dense", "up": "mlp.fc1", "down": "mlp.fc2",
       "embedding": "embed_tokens", "finalNorm": "final_layernorm", "readOut": "lm_head"}
GPT2 = {"attentionNorm": "ln_1", "query|key|value": "attn.c_attn", "output": "attn.c_proj", "mlpNorm": "ln_2",
        "up": "mlp.c_fc", "down": "mlp.c_proj", "embedding": "wte", "positionEmbedding": "wpe", "finalNorm": "ln_f",
        "readOut": "lm_head"}
ENCODER = {"embedding": "embeddings.word_embeddings", "positionEmbedding": "embeddings.position_embeddings",
           "typeEmbedding": "embeddings.token_type_embeddings", "embeddingNorm": "embeddings.LayerNorm",
           "classifier": "classifier"}
BERT = ENCODER | {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
                  "output": "attention.output.dense", "attentionPostNorm": "attention.output.LayerNorm",
                  "up": "intermediate.dense", "down": "output.dense", "mlpPostNorm": "output.LayerNorm",
                  "pooler": "pooler.dense"}
ROBERTA = BERT | {"classifierDense": "classifier.dense", "classifier": "classifier.out_proj"}
ALBERT = ENCODER | {"query": "attention.query", "key": "attention.key", "value": "attention.value",
                    "output": "attention.dense", "attentionPostNorm": "attention.LayerNorm", "up": "ffn",
                    "down": "ffn_output", "mlpPostNorm": "full_layer_layer_norm", "pooler": "pooler",
                    "embeddingProjection": "encoder.embedding_hidden_mapping_in"}
NAMES = {"llama": LLAMA, "mistral": LLAMA, "qwen2": LLAMA, "qwen3": LLAMA, "gemma2": GEMMA, "gemma3": GEMMA,
         "gemma3_text": GEMMA, "phi": PHI, "gpt2": GPT2, "bert": BERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA,
         "albert": ALBERT}
TOP_PREFIX = r"^(?:model\.|language_model\.|transformer\.|bert\.|roberta\.|albert\.)*"


def weights_of(state, family):
    """Converts a Hugging Face state dict to weights by (layer, name). Fused matrices are split and Conv1D matrices are
    transposed to [out, in].
    """
    by_name = {theirs: ours for ours, theirs in NAMES[family].items()}
    weights = {}
    for name, values in state.items():
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        name = name.replace("albert_layer_groups.0.albert_layers.", "layer.")
        inner = re.fullmatch(LAYERS, name)
        layer, rest = (int(inner[1]), inner[2]) if inner else (-1, re.sub(TOP_PREFIX, "", name))
        base, _, kind = rest.rpartition(".")
        if base not in by_name:
            continue
        ours = by_name[base].split("|")
        if family == "gpt2" and kind == "weight" and values.ndim == 2 and layer >= 0:
            values = values.T
        for part, piece in zip(ours, np.split(values, len(ours))):
            weights[layer, part + ("Bias" if kind == "bias" else "")] = np.ascontiguousarray(piece)
    return weights


def permute(weight, heads):
    """Reorders the rows of a query or key matrix for llama.cpp: Hugging Face rotates dimension i with i + d / 2,
    llama.cpp's `llama` architecture rotates neighbouring dimensions.
    """
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def unpermute(weight, heads):
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


GGUF_NAMES = {"embedding": "token_embd", "positionEmbedding": "position_embd", "typeEmbedding": "token_types",
              "embeddingNorm": "token_embd_norm", "finalNorm": "output_norm", "readOut": "output",
              "attentionNorm": "attn_norm", "query": "attn_q", "key": "attn_k", "value": "attn_v",
              "output": "attn_output", "queryNorm": "attn_q_norm", "keyNorm": "attn_k_norm", "mlpNorm": "ffn_norm",
              "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
SANDWICH = {"attentionPostNorm": "post_attention_norm", "mlpPostNorm": "post_ffw_norm"}
FOLLOWING = {"attentionPostNorm": "attn_output_norm", "mlpPostNorm": "layer_output_norm"}
PERMUTED = {"llama", "deci"}


def gguf_tensors(weights, architecture, shape, fused=False):
    """The tensors that llama.cpp's converter would write for these weights, by llama.cpp's names."""
    names = GGUF_NAMES | (FOLLOWING if architecture == "bert" else SANDWICH)
    tensors = {}
    for (layer, which), values in weights.items():
        base, kind = (which[:-4], "bias") if which.endswith("Bias") else (which, "weight")
        if base not in names:
            continue  # poolers and classifiers have no name in GGUF files
        if architecture.startswith("gemma") and base.lower().endswith("norm"):
            values = values + np.float32(1)
        if architecture in PERMUTED and base == "query":
            values = permute(values, shape.layers[layer].heads)
        if architecture in PERMUTED and base == "key":
            values = permute(values, shape.layers[layer].kv_heads)
        tensors[(f"blk.{layer}." if layer >= 0 else "") + f"{names[base]}.{kind}"] = values
    if fused:
        for layer in range(len(shape.layers)):
            for kind in ("weight", "bias"):
                parts = [tensors.pop(f"blk.{layer}.attn_{part}.{kind}") for part in "qkv"]
                tensors[f"blk.{layer}.attn_qkv.{kind}"] = np.concatenate(parts)
    return tensors


def read_gguf(path):
    """Reads a GGUF file of the `llama` architecture. Returns weights, with query and key rows in Hugging Face's order,
    and metadata fields.
    """
    reader = gguf.GGUFReader(path)
    field = {name: f.contents() for name, f in reader.fields.items() if not name.startswith("tokenizer")}
    heads = field["llama.attention.head_count"]
    ours = {theirs: ours for ours, theirs in GGUF_NAMES.items()}
    weights = {}
    for tensor in reader.tensors:
        if tensor.name == "rope_freqs.weight":
            continue
        *layer, part, kind = tensor.name.split(".")
        shape = [int(n) for n in reversed(tensor.shape)]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        if part == "attn_q":
            values = unpermute(values, heads)
        if part == "attn_k":
            values = unpermute(values, field.get("llama.attention.head_count_kv", heads))
        weights[int(layer[1]) if layer else -1, ours[part] + ("Bias" if kind == "bias" else "")] = values
    return weights, field
