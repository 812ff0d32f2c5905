"""Small random models, and the workbench's command line as their reference."""

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLI = os.environ.get("SECATEUR_CLI", "")
WORDS = 48  # of the vocabulary; the first four are special
CONTEXT = 64

needs_cli = unittest.skipUnless(CLI, "needs SECATEUR_CLI, the path of secateur-cli")


def needs(*modules):
    missing = [module for module in modules if not importlib.util.find_spec(module)]
    return unittest.skipIf(missing, f"needs {', '.join(missing)}")


def cli(*arguments, folder=None):
    """Runs secateur-cli and returns its JSON document."""
    run = subprocess.run([CLI, *map(str, arguments), "--json", "--progress", "none"], cwd=folder, capture_output=True,
                         text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
    if run.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))}: {run.stdout}{run.stderr}")
    return json.loads(run.stdout)


# --- models -----------------------------------------------------------------------------------------------------------

DECODER = dict(vocab_size=WORDS, hidden_size=24, intermediate_size=36, num_hidden_layers=6, num_attention_heads=4,
               max_position_embeddings=CONTEXT, bos_token_id=None, eos_token_id=None, pad_token_id=None)
ENCODER = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=36, num_hidden_layers=6, num_attention_heads=4,
               max_position_embeddings=CONTEXT + 2, num_labels=5)


def configurations():
    """By name: the configuration of a small model and the suffix of its class."""
    import transformers as tf

    grouped = dict(DECODER, num_key_value_heads=2, head_dim=8)
    gemma = dict(grouped, sliding_window=5, query_pre_attn_scalar=9, tie_word_embeddings=True)
    return {"llama": (tf.LlamaConfig(**grouped, attention_bias=True, mlp_bias=True), "CausalLM"),
            "mistral": (tf.MistralConfig(**grouped, sliding_window=6), "CausalLM"),
            "qwen2": (tf.Qwen2Config(**dict(DECODER, num_key_value_heads=2)), "CausalLM"),
            "qwen3": (tf.Qwen3Config(**grouped), "CausalLM"),
            "gemma2": (tf.Gemma2Config(**gemma, attn_logit_softcapping=8.0, final_logit_softcapping=9.0), "CausalLM"),
            "gemma3": (tf.Gemma3TextConfig(**gemma), "CausalLM"),
            "phi": (tf.PhiConfig(**dict(DECODER, hidden_size=32)), "CausalLM"),
            "gpt2": (tf.GPT2Config(vocab_size=WORDS, n_embd=24, n_inner=36, n_layer=6, n_head=4, n_positions=CONTEXT,
                                   bos_token_id=None, eos_token_id=None), "LMHeadModel"),
            "bert": (tf.BertConfig(**ENCODER), "SequenceClassification"),
            "roberta": (tf.RobertaConfig(**ENCODER, pad_token_id=3), "SequenceClassification"),
            "xlm-roberta": (tf.XLMRobertaConfig(**ENCODER, pad_token_id=3), "SequenceClassification"),
            "albert": (tf.AlbertConfig(**ENCODER, embedding_size=12, num_hidden_groups=3, inner_group_num=1),
                       "SequenceClassification"),
            "albert-inner": (tf.AlbertConfig(**dict(ENCODER, num_hidden_layers=3), embedding_size=12,
                                             num_hidden_groups=2, inner_group_num=2), "SequenceClassification")}


def drawn_model(name, folder):
    """Draws all parameters of a model anew, saves it with a tokenizer, and returns it and its folder. A freshly
    initialised model would hide mistakes: its biases are 0 and its norms are 1.
    """
    import torch
    import transformers as tf

    config, suffix = configurations()[name]
    torch.manual_seed(sum(map(ord, name)))
    auto = tf.AutoModelForSequenceClassification if suffix == "SequenceClassification" else tf.AutoModelForCausalLM
    model = auto.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            is_norm = "norm" in key.lower() or ".ln_" in key
            if parameter.ndim > 1:
                parameter.normal_(std=1.5 / math.sqrt(min(parameter.shape)))
            elif is_norm and key.endswith("weight") and not name.startswith("gemma"):
                parameter.uniform_(0.6, 1.4)
            else:
                parameter.normal_(std=0.3)
    path = pathlib.Path(folder) / name
    model.save_pretrained(path)
    (path / "tokenizer.json").write_text(json.dumps(tokenizer(suffix == "SequenceClassification")))
    return model, path


def word(token):
    return f"w{token}"


def tokenizer(frames):
    """A tokenizer whose words are tokens: w4 to w47. frames: whether texts are framed by [CLS] and [SEP]."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    vocabulary = {text: number for number, text in enumerate(special)} | {word(id): id for id in range(4, WORDS)}
    part = lambda name, kind: {name: {"id": kind, "type_id": 0}}
    single = [part("SpecialToken", "[CLS]"), part("Sequence", "A"), part("SpecialToken", "[SEP]")]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    template = {"type": "TemplateProcessing", "single": single, "pair": pair,
                "special_tokens": {text: {"id": text, "ids": [vocabulary[text]], "tokens": [text]}
                                   for text in ("[CLS]", "[SEP]")}}
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None,
            "added_tokens": [{"id": vocabulary[text], "content": text, "single_word": False, "lstrip": False,
                              "rstrip": False, "normalized": False, "special": True} for text in special],
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": template if frames else None,
            "decoder": None, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                                       "max_input_chars_per_word": 100, "vocab": vocabulary}}


# --- masks ------------------------------------------------------------------------------------------------------------

def drawn_compensation(shape, hidden, names, seed):
    import numpy as np

    draw = np.random.default_rng(seed)
    sizes = {"head_scale": (shape.heads,), "neuron_scale": (shape.neurons,), "attention_bias": (hidden,),
             "mlp_bias": (hidden,), "o_weight": (hidden, shape.heads * shape.head_dim),
             "down_weight": (hidden, shape.neurons)}
    return {name: (draw.uniform(0.5, 1.5, sizes[name]) if name.endswith("scale") else
                   draw.normal(0, 0.3, sizes[name])).astype(np.float32) for name in names}


def masks_for(model):
    """By name: masks that together have every kind of cut and of compensation."""
    import secateur

    dense = secateur.Mask.of_model(model)
    hidden = model.config.hidden_size
    first = [group[0] for group in dense.tied_groups] or list(range(len(dense.layers)))
    at = [first[number % len(first)] for number in range(6)]
    shape = dense.shapes[0]

    def compensated(mask, layer, names, seed):
        for tied in mask.tied_to(layer):
            mask.layers[tied].compensation = drawn_compensation(shape, hidden, names, seed)
        return mask

    masks = {"dense": dense.copy(),
             "heads": dense.copy().cut_heads(at[0], [0]).cut_heads(at[1], [1, 2]).cut_heads(at[2], range(4)),
             "neurons": dense.copy().cut_neurons(at[0], [*range(7, 20), 30]).cut_neurons(at[2], range(36)),
             "attention": dense.copy().drop_attention(at[1]).drop_attention(at[5]),
             "mlp": dense.copy().drop_mlp(at[0]).drop_mlp(at[4]),
             "block": dense.copy().drop_block(at[2]).drop_block(at[3]),
             "bypass": dense.copy().bypass(at[1], 0.4).cut_heads(at[1], [3]).bypass(at[2], 1.7)}
    scales = ("head_scale", "neuron_scale", "attention_bias", "mlp_bias")
    masks["scale"] = compensated(dense.copy().cut_heads(at[0], [1]).cut_neurons(at[0], [3]), at[0], scales, 1)
    compensated(masks["scale"].bypass(at[1], 0.6), at[1], scales, 2)
    masks["weights"] = compensated(dense.copy().cut_heads(at[1], [2]).cut_neurons(at[1], range(9)), at[1],
                                   ("o_weight", "down_weight", "attention_bias"), 3)
    compensated(masks["weights"].bypass(at[2], 0.8), at[2], ("o_weight", "mlp_bias"), 4)
    everything = dense.copy().cut_heads(at[0], [0]).cut_neurons(at[0], range(11)).drop_attention(at[1])
    everything.drop_mlp(at[1]).bypass(at[2], 0.7)
    if len(first) > 3:
        everything.drop_mlp(at[3]).drop_block(at[4]).cut_heads(at[5], [1, 2])
        compensated(everything, at[5], ("o_weight", "neuron_scale", "mlp_bias"), 5)
    masks["everything"] = everything
    return masks
