"""The models of the forward fixtures, and their parameters.

All are tiny, of odd sizes, and drawn so that a mistake shows: unlike norm weights, large biases, an epsilon of the size
of what it is added to, scores of standard deviation 3, softcaps that bend, texts longer than windows and contexts.
"""

import dataclasses
import math

import torch
import transformers as tf

import forward_judge as fj

ENCODERS = ("bert", "roberta", "xlm-roberta", "albert")
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=0.5, high_freq_factor=1.2,
              original_max_position_embeddings=8)


@dataclasses.dataclass
class Case:
    config: object
    kind: type
    seed: int
    lengths: tuple = (15, 10)
    architecture: str = None     # of the GGUF file beside it
    fields: dict = dataclasses.field(default_factory=dict)  # its metadata beyond the usual
    fused: bool = False          # one matrix for query, key and value in GGUF
    taps: bool = False           # the values at the places of the gradients, too
    embedding: float = 0.2       # standard deviation
    score: float = 3.0           # standard deviation of the attention's scores
    keep: list = None            # ragged models: (query heads, neurons) that each layer keeps

    @property
    def decoder(self):
        return self.config.model_type not in ENCODERS

    @property
    def labelled(self):
        return "SequenceClassification" in self.kind.__name__


def decoder(name, **settings):
    config, kind = {"llama": (tf.LlamaConfig, tf.LlamaForCausalLM), "mistral": (tf.MistralConfig, tf.MistralForCausalLM),
                    "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM), "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM),
                    "gemma2": (tf.Gemma2Config, tf.Gemma2ForCausalLM),
                    "gemma3": (tf.Gemma3TextConfig, tf.Gemma3ForCausalLM),
                    "phi": (tf.PhiConfig, tf.PhiForCausalLM), "gpt2": (tf.GPT2Config, tf.GPT2LMHeadModel)}[name]
    tokens = dict(bos_token_id=1, eos_token_id=2, pad_token_id=None)
    return config(**tokens, **settings), kind


def sizes(hidden, layers, heads, groups, head_dim, ffn, vocab=37, epsilon=0.04):
    return dict(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=groups,
                head_dim=head_dim, intermediate_size=ffn, vocab_size=vocab, rms_norm_eps=epsilon,
                max_position_embeddings=64)


def llama_cases():
    plain = dict(rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    linear = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}
    base = {"rope.freq_base": 100.0}
    return {
        "llama-gqa": Case(*decoder("llama", **sizes(20, 2, 4, 2, 6, 29), **plain), 101, architecture="llama",
                          fields=base, taps=True),
        "llama-mqa": Case(*decoder("llama", **sizes(15, 2, 5, 1, 8, 23, 31), **plain), 102, (10, 14)),
        "llama-mha": Case(*decoder("llama", **sizes(18, 2, 3, 3, 8, 21, 41), **plain), 103, (17, 11)),
        "llama-bias": Case(*decoder("llama", **sizes(18, 2, 6, 2, 4, 19, 29), **plain, attention_bias=True,
                                    mlp_bias=True), 104, (13, 16)),
        "llama-llama3": Case(*decoder("llama", **sizes(16, 2, 4, 2, 12, 19), rope_parameters=LLAMA3), 105, (16, 11),
                             architecture="llama", fields=base),
        "llama-linear": Case(*decoder("llama", **sizes(16, 2, 2, 1, 10, 23), rope_parameters=linear), 106, (18, 12)),
        "llama-tied": Case(*decoder("llama", **sizes(21, 2, 3, 3, 6, 17, 29), **plain, tie_word_embeddings=True), 107,
                           embedding=0.3),
    }


def encoder_cases():
    size = dict(hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=27, vocab_size=37,
                max_position_embeddings=21, hidden_act="gelu", layer_norm_eps=0.04)
    return {
        "bert": Case(tf.BertConfig(**size, type_vocab_size=2, num_labels=3), tf.BertForSequenceClassification, 140,
                     taps=True, embedding=0.15),
    }


def cases():
    return llama_cases() | encoder_cases()


# --- parameters ------------------------------------------------------------------------------------------------------

def is_norm(name):
    return "norm" in name.lower() or "ln_" in name


def draw(model, seed, embedding):
    """Every parameter anew; matrices so that outputs are about as large as inputs."""
    generator = torch.Generator().manual_seed(seed)
    gemma = model.config.model_type.startswith("gemma")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if is_norm(name):
                parameter.copy_(0.3 * noise + (0 if gemma else 1) if name.endswith("weight") else 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            elif "embed" in name or "wte" in name or "wpe" in name:
                parameter.copy_(embedding * noise)
            else:
                inputs = parameter.shape[0 if model.config.model_type == "gpt2" and parameter.dim() == 2 else -1]
                parameter.copy_(1.5 * noise / math.sqrt(inputs))


def strengthen(layer, kind, factor):
    """Multiplies a layer's scores by factor."""
    root = math.sqrt(factor)
    modules = fj.modules_of(layer, kind)
    with torch.no_grad():
        if kind in ("qwen3", "gemma3_text"):
            for norm in (layer.self_attn.q_norm.weight, layer.self_attn.k_norm.weight):
                norm.copy_(root * (1 + norm) - 1 if kind == "gemma3_text" else root * norm)
        elif kind == "gpt2":
            both = 2 * modules["fused"].nf // 3
            modules["fused"].weight[:, :both] *= root
            modules["fused"].bias[:both] *= root
        else:
            for module in (modules["query"], modules["key"]):
                for parameter in module.parameters():
                    parameter *= root


def batch_of(case):
    """Rows of unlike length, padded on the right with ids that mean nothing; weights and labels for the losses."""
    generator = torch.Generator().manual_seed(case.seed + 1000)
    config, width = case.config, max(case.lengths)
    lengths = torch.tensor(case.lengths)
    first = 2 if config.model_type in ("roberta", "xlm-roberta") else 0
    batch = {"ids": torch.randint(first, config.vocab_size, (len(lengths), width), generator=generator),
             "lengths": lengths}
    real = fj.visible(lengths, width)
    if getattr(config, "type_vocab_size", 1) > 1 and not case.decoder:
        batch["types"] = torch.randint(0, config.type_vocab_size, real.shape, generator=generator)
    if case.decoder:
        batch["loss_weights"] = torch.rand(len(lengths), width - 1, generator=generator) * real[:, 1:]
    else:
        batch["loss_weights"] = torch.rand(len(lengths), generator=generator)
        if case.labelled:
            batch["labels"] = torch.randint(0, config.num_labels, (len(lengths),), generator=generator)
    return batch


def build(case):
    """The model with its parameters, in evaluation mode with the plain attention."""
    case.config._attn_implementation = "eager"
    model = case.kind(case.config).float().eval()
    draw(model, case.seed, case.embedding)
    batch, kind = batch_of(case), case.config.model_type
    layers = fj.layers_of(model)
    for index, layer in enumerate(layers):  # each sees what the ones before it were made to give
        found = [figure[0] for figure in fj.score_figures(model, batch)]
        measured = found[index] if len(layers) > 1 else math.prod(found) ** (1 / len(found))
        strengthen(layer, kind, case.score / measured)
    return model, batch
