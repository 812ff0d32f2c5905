#!/usr/bin/env python3
"""Writes pooled.json: the change of the pooled output of forward/bert-bare under a mask, computed with transformers.

    python make_pooled.py [MODEL MASK TEXT]

Needs torch and transformers (5.x). Every document of the text is one sequence: BOS and its characters, encoded with the
tokenizer perplexity/adds-bos. The model runs in float64. The activations of cut units are set to 0 before the
projections that read them. With arguments, the script prints the same for a checkpoint with its own tokenizer, in
sequences of 128 tokens.
"""

import json
import pathlib
import re
import sys

import numpy as np
import tokenizers
import torch
import transformers as tf

HERE = pathlib.Path(__file__).parent
DOCUMENTS = ["he read it", "on a train, and", "so did he; at", "12 or 31 lines.", "no hint in it", "its salt is red"]
LAYERS = [{"layer": 0, "heads_cut": [1]}, {"layer": 1, "neurons_cut": [[0, 4], 9]}]


def zeroes(places):
    def hook(_, args):
        values = args[0].clone()
        values[..., places] = 0
        return (values,)
    return hook


def expand(ranges):
    return [i for r in ranges for i in (range(r[0], r[1] + 1) if isinstance(r, list) else [r])]


def cut(model, layers):
    width = model.config.hidden_size // model.config.num_attention_heads
    for own in layers:
        layer = model.encoder.layer[own["layer"]]
        columns = [h * width + i for h in own.get("heads_cut", []) for i in range(width)]
        layer.attention.output.dense.register_forward_pre_hook(zeroes(columns))
        layer.output.dense.register_forward_pre_hook(zeroes(expand(own.get("neurons_cut", []))))


def outputs(model, sequences):
    with torch.no_grad():
        results = [model(input_ids=torch.tensor([ids])) for ids in sequences]
    return (np.concatenate([r.pooler_output.numpy() for r in results]),
            np.concatenate([r.last_hidden_state[:, 0].numpy() for r in results]))


def figures(before, after):
    lengths = np.linalg.norm(before, axis=1)
    relative = np.linalg.norm(after - before, axis=1) / lengths
    cosine = 1 - (before * after).sum(1) / (lengths * np.linalg.norm(after, axis=1))
    found = {}
    for name, values in (("relative", relative), ("cosine", cosine)):
        found[name] = values.mean()
        found[name + "_standard_error"] = values.std(ddof=1) / np.sqrt(len(values))
    return found


def compare(folder, layers, sequences):
    dense = outputs(tf.BertModel.from_pretrained(folder, dtype=torch.float64).eval(), sequences)
    masked = tf.BertModel.from_pretrained(folder, dtype=torch.float64).eval()
    cut(masked, layers)
    pruned = outputs(masked, sequences)
    return {"sequences": len(sequences), "tokens": sum(map(len, sequences)),
            "pooler": figures(dense[0], pruned[0]), "first_token": figures(dense[1], pruned[1])}


def sequences_of(tokenizer, text, length):
    """Splits a text at two or more blank lines into documents and these into sequences. Last sequences of fewer than 16
    tokens are dropped.
    """
    found = []
    for document in [d.strip("\n") for d in re.split(r"\n{3,}", text) if d.strip()]:
        ids = tokenizer.encode(document, add_special_tokens=False).ids
        whole = tokenizer.encode(document).ids
        front, back = [whole[0]], [whole[-1]]
        step = length - 2
        for begin in range(0, len(ids), step):
            piece = ids[begin:begin + step]
            if begin == 0 or len(piece) >= 16:
                found.append(front + piece + back)
    return found


def main():
    if len(sys.argv) > 1:
        folder, mask, text = sys.argv[1:]
        tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        sequences = sequences_of(tokenizer, pathlib.Path(text).read_text(), 128)
        print(json.dumps(compare(folder, json.loads(pathlib.Path(mask).read_text())["layers"], sequences), indent=1))
        return
    tokenizer = tokenizers.Tokenizer.from_file(str(HERE / "perplexity/adds-bos/tokenizer.json"))
    sequences = [tokenizer.encode(document).ids for document in DOCUMENTS]
    assert max(map(len, sequences)) <= 17 and all(0 not in ids for ids in sequences)
    expected = {"documents": DOCUMENTS, "layers": LAYERS} | compare(HERE / "forward/bert-bare", LAYERS, sequences)
    (HERE / "pooled.json").write_text(json.dumps(expected, indent=1) + "\n")


main()
