"""Which folders with `pruned_heads` does transformers 4 open rightly?

    python pruned_heads_facts.py

For each family, class, attention implementation and set of pruned heads, builds a folder from a small model with
random parameters: config.json with `pruned_heads` and weights without the rows and columns of these heads. The folder
is built by slicing tensors, not by transformers' own prune_heads(). Prints whether

- open: from_pretrained() gives the outputs of the whole model with zeros in the output projection's columns;
- again: the same after save_pretrained() and from_pretrained() of the opened model;
- own: the same for a folder that prune_heads() and save_pretrained() of transformers wrote.

Needs transformers 4; transformers 5 ignores `pruned_heads`. ctest does not run it.
"""

import json
import pathlib
import tempfile
import warnings

import safetensors.torch
import torch
import transformers as tf

HEADS, WIDTH, LAYERS = 4, 6, 3
HIDDEN = HEADS * WIDTH
PLAIN = dict(hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=28,
             vocab_size=23, max_position_embeddings=20, num_labels=3)
FAMILIES = {
    "bert": (tf.BertConfig(**PLAIN, type_vocab_size=2), tf.BertModel, tf.BertForSequenceClassification),
    "roberta": (tf.RobertaConfig(**PLAIN, type_vocab_size=1, pad_token_id=1), tf.RobertaModel,
                tf.RobertaForSequenceClassification),
    "xlm-roberta": (tf.XLMRobertaConfig(**PLAIN, type_vocab_size=1, pad_token_id=1), tf.XLMRobertaModel,
                    tf.XLMRobertaForSequenceClassification),
    "albert": (tf.AlbertConfig(**PLAIN, embedding_size=10, type_vocab_size=2), tf.AlbertModel,
               tf.AlbertForSequenceClassification),
    "albert, 3 groups": (tf.AlbertConfig(**PLAIN, embedding_size=10, type_vocab_size=2, num_hidden_groups=3),
                         tf.AlbertModel, tf.AlbertForSequenceClassification),
    "albert, 2 inner": (tf.AlbertConfig(**PLAIN, embedding_size=10, type_vocab_size=2, inner_group_num=2),
                        tf.AlbertModel, tf.AlbertForSequenceClassification),
}
CASES = {
    "one head": {0: [1]},
    "different numbers": {0: [1], 1: [0, 3], 2: [0, 1, 2]},
    "the same number": {0: [1], 1: [0], 2: [3]},
    "a whole layer": {1: [0, 1, 2, 3]},
    "a whole layer and others": {0: [0, 1, 2, 3], 1: [2]},
}


def redraw(model):
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.2 * noise if "LayerNorm.weight" in name or "layer_norm.weight" in name
                            else 0.4 * noise)


def stored_layers(config):
    return config.num_hidden_groups * config.inner_group_num if config.model_type == "albert" else LAYERS


def stored_name(config, layer):
    """The part of a tensor's name that belongs to a stored layer."""
    if config.model_type != "albert":
        return f"encoder.layer.{layer}."
    group, inner = divmod(layer, config.inner_group_num)
    return f"albert_layer_groups.{group}.albert_layers.{inner}."


def outputs(model):
    ids = torch.tensor([[5, 7, 9, 2, 4, 11, 12], [6, 8, 3, 10, model.config.pad_token_id, model.config.pad_token_id,
                                                  model.config.pad_token_id]])
    visible = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    with torch.no_grad():
        found = model.eval()(input_ids=ids, attention_mask=visible)
    return found.logits if "logits" in found else found.last_hidden_state[visible.bool()]


def zeroed(model, pruned):
    """The outputs of the whole model with zeros in the columns of pruned heads."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for layer, heads in pruned.items():
        for name, value in state.items():
            if stored_name(model.config, layer) in name and name.endswith(("output.dense.weight", "attention.dense.weight")) \
                    and ".attention." in name:
                for head in heads:
                    value[:, head * WIDTH:(head + 1) * WIDTH] = 0
    model.load_state_dict(state)
    return outputs(model)


def slice_folder(folder, pruned, whole_config):
    """Removes heads from the folder of a whole model."""
    config = json.loads((folder / "config.json").read_text())
    config["pruned_heads"] = {str(layer): heads for layer, heads in pruned.items()}
    (folder / "config.json").write_text(json.dumps(config))
    state = safetensors.torch.load_file(folder / "model.safetensors")
    for layer, heads in pruned.items():
        rows = torch.tensor([head * WIDTH + i for head in range(HEADS) if head not in heads for i in range(WIDTH)],
                            dtype=torch.long)
        for name, value in state.items():
            if stored_name(whole_config, layer) not in name or ".attention." not in name:
                continue
            if any(part in name for part in (".query.", ".key.", ".value.")):
                state[name] = value.index_select(0, rows).contiguous()
            elif name.endswith(("attention.output.dense.weight", "attention.dense.weight")):
                state[name] = value.index_select(1, rows).contiguous()
    safetensors.torch.save_file(state, folder / "model.safetensors", {"format": "pt"})


def verdict(work, expected):
    try:
        found = work()
        worst = float((found - expected).abs().max() / expected.abs().max())
        return f"yes ({worst:.0e})" if worst < 1e-5 else f"WRONG ({worst:.0e})"
    except Exception as error:
        return f"no: {type(error).__name__}: {str(error).strip().splitlines()[0][:60]}"


def judge(family, kind, attention, pruned):
    config = FAMILIES[family][0]
    opened = lambda folder: kind.from_pretrained(folder, attn_implementation=attention)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as scratch:
        whole, own, again = (pathlib.Path(scratch) / name for name in ("whole", "own", "again"))
        model = kind(type(config)(**config.to_dict()))
        redraw(model)
        model.save_pretrained(whole)
        model.save_pretrained(own)
        expected = zeroed(opened(whole), pruned)

        def from_own():
            mine = opened(own)
            mine.prune_heads(pruned)
            mine.save_pretrained(own)
            return outputs(opened(own))

        def from_again():
            opened(whole).save_pretrained(again)
            return outputs(opened(again))

        slice_folder(whole, pruned, config)
        return {"open": verdict(lambda: outputs(opened(whole)), expected), "again": verdict(from_again, expected),
                "own": verdict(from_own, expected)}


def main():
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity_error()
    print("transformers", tf.__version__, "torch", torch.__version__)
    for family, (_, base, classifier) in FAMILIES.items():
        for case, pruned in CASES.items():
            stored = stored_layers(FAMILIES[family][0])
            pruned = {layer: heads for layer, heads in pruned.items() if layer < stored} or {0: [0, 1, 2, 3]}
            for kind in (base, classifier):
                for attention in ("eager", "sdpa"):
                    found = judge(family, kind, attention, pruned)
                    print(f"{family:17}{case:26}{kind.__name__:38}{attention:6}",
                          "; ".join(f"{way} {said}" for way, said in found.items()), flush=True)


if __name__ == "__main__":
    main()
