"""The models of the forward fixtures and their random parameters.

All models are tiny and have odd sizes. Their parameters are chosen so that a mistake in the engine changes the output:
all norm weights differ, biases are large, epsilon is as large as the mean square it is added to, attention scores have
a standard deviation of 3, softcaps matter, and texts are longer than windows.
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
    lengths: tuple = (13, 9)
    architecture: str = None     # architecture name in the GGUF file; None if no GGUF file is written
    fields: dict = dataclasses.field(default_factory=dict)  # additional metadata of the GGUF file
    fused: bool = False          # whether the GGUF file has one matrix for query, key and value
    taps: bool = False           # whether activations are written too, for each gradient
    embedding: float = 0.2       # standard deviation of the embedding's elements
    score: float = 3.0           # standard deviation of the attention scores
    tail: float = 0              # factor on the output of a third of the neurons, see lean(); 0 for none
    # For models with cut layers: (query heads, query heads per key head, neurons) that each layer keeps.
    keep: list = None

    @property
    def decoder(self):
        return self.config.model_type not in ENCODERS

    @property
    def labelled(self):
        return "SequenceClassification" in self.kind.__name__


def decoder(name, **settings):
    config, kind = {"llama": (tf.LlamaConfig, tf.LlamaForCausalLM),
                    "mistral": (tf.MistralConfig, tf.MistralForCausalLM),
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
    ragged = [([0, 1, 4, 5], 2, list(range(19))), ([], 0, [0, 2, 3, 6, 7, 8, 11, 13, 17, 18]),
              ([1, 2, 5], 1, [n for n in range(19) if n % 5])]
    return {
        "llama-gqa": Case(*decoder("llama", **sizes(20, 2, 4, 2, 6, 29), **plain), 101, architecture="llama",
                          fields=base, taps=True),
        "llama-mqa": Case(*decoder("llama", **sizes(15, 2, 5, 1, 8, 23, 31), **plain), 302, (9, 12)),
        "llama-mha": Case(*decoder("llama", **sizes(18, 2, 3, 3, 8, 21, 41), **plain), 103, (14, 11)),
        "llama-bias": Case(*decoder("llama", **sizes(18, 2, 6, 2, 4, 19, 29), **plain, attention_bias=True,
                                    mlp_bias=True), 104, (13, 15)),
        "llama-llama3": Case(*decoder("llama", **sizes(16, 2, 4, 2, 12, 19), rope_parameters=LLAMA3), 105,
                             architecture="llama", fields=base),
        "llama-linear": Case(*decoder("llama", **sizes(16, 2, 2, 1, 10, 23), rope_parameters=linear), 106, (17, 12)),
        "llama-tied": Case(*decoder("llama", **sizes(21, 2, 3, 3, 6, 17, 29), **plain, tie_word_embeddings=True), 107,
                           embedding=0.3),
        "mistral": Case(*decoder("mistral", **sizes(18, 2, 6, 3, 4, 23, 31), **plain, sliding_window=5), 108),
        "mistral-full": Case(*decoder("mistral", **sizes(16, 2, 4, 1, 6, 19, 29), **plain, sliding_window=None), 109,
                             architecture="llama", fields=base),
        "deci": Case(*decoder("llama", **sizes(18, 3, 6, 3, 4, 19, 31), **plain), 210, (11, 8), architecture="deci",
                     fields=base, keep=ragged),
    }


def other_decoders():
    plain = dict(rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    base = {"rope.freq_base": 100.0}
    capped = dict(attn_logit_softcapping=5.0, final_logit_softcapping=2.0)
    local = {"sliding_attention": {"rope_type": "default", "rope_theta": 10.0},
             "full_attention": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}}
    released = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}
    layered = dict(layer_types=["sliding_attention", "full_attention", "sliding_attention"])
    phi = {k: v for k, v in sizes(20, 2, 2, 2, 10, 23, 33).items() if k not in ("head_dim", "rms_norm_eps")}
    gpt2 = dict(n_embd=20, n_head=5, n_positions=16, vocab_size=33, n_inner=27, layer_norm_epsilon=0.04)
    return {
        "qwen2": Case(*decoder("qwen2", **sizes(18, 2, 3, 1, 6, 23, 33), **plain), 120, architecture="qwen2",
                      fields=base),
        "qwen2-window": Case(*decoder("qwen2", **sizes(16, 3, 4, 2, 4, 17, 29), **plain, use_sliding_window=True,
                                      sliding_window=4, max_window_layers=1), 121, (11, 9)),
        "qwen3": Case(*decoder("qwen3", **sizes(16, 2, 4, 2, 12, 19, 33), **plain), 122, (12, 9),
                      architecture="qwen3", fields=base),
        "qwen3-tied": Case(*decoder("qwen3", **sizes(15, 2, 3, 1, 4, 17, 29), **plain, tie_word_embeddings=True), 923),
        "gemma2": Case(*decoder("gemma2", **sizes(16, 3, 4, 2, 6, 19, 33), **plain, **capped, sliding_window=4,
                                query_pre_attn_scalar=9), 124, (11, 9)),
        "gemma2-gguf": Case(*decoder("gemma2", **sizes(15, 2, 3, 1, 4, 17, 31), **plain, **capped, sliding_window=5,
                                     query_pre_attn_scalar=4), 125, (12, 9), architecture="gemma2", fields=base,
                            tail=20),
        "gemma3": Case(*decoder("gemma3", **sizes(15, 3, 3, 1, 6, 19, 33), rope_parameters=local, **layered,
                                sliding_window=4, query_pre_attn_scalar=9,
                                attn_logit_softcapping=2.0), 526, (11, 9), taps=True),  # stored, but not applied
        "gemma3-gguf": Case(*decoder("gemma3", **sizes(12, 6, 2, 1, 8, 13, 29), rope_parameters=released,
                                     sliding_window=4, query_pre_attn_scalar=8), 327, (10, 8), architecture="gemma3",
                            score=2.2, embedding=0.5,
                            fields={"rope.freq_base": 1e6, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}),
        "phi": Case(*decoder("phi", **phi, rope_parameters=plain["rope_parameters"] | {"partial_rotary_factor": 0.4},
                             layer_norm_eps=0.04), 128, (12, 9), architecture="phi2", fused=True, tail=70,
                    fields=base | {"rope.dimension_count": 4}),
        "gpt2": Case(*decoder("gpt2", n_layer=2, **gpt2), 129, architecture="gpt2", fused=True, embedding=0.15),
        "gpt2-inverse": Case(*decoder("gpt2", n_layer=3, **gpt2 | {"n_embd": 16, "n_head": 4, "n_inner": 17},
                                      scale_attn_by_inverse_layer_idx=True), 130, (11, 9), embedding=0.15, tail=70),
    }


def encoder_cases():
    size = dict(num_hidden_layers=2, vocab_size=33, max_position_embeddings=17, hidden_act="gelu", layer_norm_eps=0.04)
    wide = size | dict(hidden_size=20, num_attention_heads=4, intermediate_size=27)
    narrow = size | dict(hidden_size=18, num_attention_heads=3, intermediate_size=23)
    albert = narrow | dict(embedding_size=11, num_hidden_layers=3, hidden_act="gelu_new", type_vocab_size=2)
    small = dict(embedding=0.15)
    roberta = (tf.RobertaConfig, tf.RobertaForSequenceClassification)
    multilingual = (tf.XLMRobertaConfig, tf.XLMRobertaForSequenceClassification)
    return {
        "bert": Case(tf.BertConfig(**wide, type_vocab_size=2, num_labels=3), tf.BertForSequenceClassification, 140,
                     taps=True, **small),
        "bert-bare": Case(tf.BertConfig(**narrow, type_vocab_size=2), tf.BertModel, 141, (9, 14), architecture="bert",
                          fields={"tokenizer.ggml.token_type_count": 2}, tail=20, score=2.4, embedding=0.4),
        "roberta": Case(roberta[0](**wide, type_vocab_size=1, pad_token_id=1, num_labels=3), roberta[1], 142,
                        **small),
        "xlm-roberta": Case(multilingual[0](**narrow, type_vocab_size=1, pad_token_id=1), multilingual[1], 143, (8, 12),
                            **small),
        "albert": Case(tf.AlbertConfig(**albert, num_labels=3), tf.AlbertForSequenceClassification, 144, (11, 9),
                       embedding=0.15, tail=40),
    }


def cases():
    return llama_cases() | other_decoders() | encoder_cases()


# --- parameters ------------------------------------------------------------------------------------------------------

def is_norm(name):
    return "norm" in name.lower() or "ln_" in name


def draw(model, seed, embedding):
    """Sets every parameter to random values. Matrices are scaled so that their outputs are about as large as their
    inputs.
    """
    generator = torch.Generator().manual_seed(seed)
    gemma = model.config.model_type.startswith("gemma")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if is_norm(name):
                parameter.copy_(0.3 * noise + (0 if gemma else 1) if name.endswith("weight") else 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            elif any(part in name for part in ("embeddings", "embed_tokens", "wte", "wpe")):
                parameter.copy_(embedding * noise)
            else:
                inputs = parameter.shape[0 if model.config.model_type == "gpt2" and parameter.dim() == 2 else -1]
                parameter.copy_(1.5 * noise / math.sqrt(inputs))


def strengthen(layer, kind, factor):
    """Multiplies the attention scores of a layer by `factor`."""
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


def lean(model, layer, batch, kind, strength):
    """Moves the input of the activation function of a third of the neurons to -2.7, where GELU and its approximations
    differ most, and multiplies the weights of their outputs by `strength`.
    """
    modules = fj.modules_of(layer, kind)
    activated, down = modules["activated"].weight, modules["down"].weight
    if kind == "gpt2":
        activated, down = activated.T, down.T
    count = activated.shape[0] // 3
    with torch.no_grad():
        activated[:count] *= 0.1
        down[:, :count] *= strength
        if kind.startswith("gemma"):  # Gemma has no biases, so the input is moved with channel 0, see level()
            real = fj.visible(batch["lengths"], batch["ids"].shape[1]).bool()
            seen = []
            hook = modules["activated"].register_forward_pre_hook(lambda _, args: seen.append(args[0][real][:, 0]))
            fj.answer(model, batch)
            hook.remove()
            activated[:count, 0] = -2.7 / seen[0].mean()
        else:
            modules["activated"].bias[:count] = -2.7 + 0.4 * modules["activated"].bias[:count]


def level(model):
    """Makes channel 0 of a Gemma model's residual stream equal in all tokens and nearly unchanged by the layers."""
    with torch.no_grad():
        model.base_model.embed_tokens.weight[:, 0] = 0.8
        for layer in fj.layers_of(model):
            for norm in (layer.post_attention_layernorm, layer.post_feedforward_layernorm):
                norm.weight[0] = -0.9


def batch_of(case):
    """A batch of rows of different lengths, padded on the right with random ids, and the weights and labels for its
    loss.
    """
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
    """The model of a case with its parameters, in evaluation mode and with eager attention."""
    case.config._attn_implementation = "eager"
    model = case.kind(case.config).float().eval()
    draw(model, case.seed, case.embedding)
    batch, kind = batch_of(case), case.config.model_type
    if case.tail and kind.startswith("gemma"):
        level(model)
    layers = fj.layers_of(model)
    # In this order, because the input of a layer depends on the layers before it.
    for index, layer in enumerate(layers):
        if case.tail:
            lean(model, layer, batch, kind, case.tail)
        found = [figure[0] for figure in fj.score_figures(model, batch)]
        measured = found[index] if len(layers) > 1 else math.prod(found) ** (1 / len(found))
        strengthen(layer, kind, case.score / measured)
    return model, batch
