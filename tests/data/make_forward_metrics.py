#!/usr/bin/env python3
"""Writes forward_metrics.json: forward metrics of the models of tests/data/forward, computed with transformers and
numpy.

    python make_forward_metrics.py

Needs torch, transformers (5.x) and numpy. The file has for each model "sequences", the lists of token ids, and
[layers][cells] for each result id. A metric with several lengths has them as an additional first axis. The attention
pattern is an object with one entry for each feature.
"""

import json
import math
import pathlib

import numpy as np
import torch
import transformers as tf

import forward_judge as fj
import forward_metrics_judge as judge

HERE = pathlib.Path(__file__).parent
MODELS = ["gpt2", "phi", "qwen3", "gemma3", "llama-gqa", "bert", "albert"]
LENGTHS = (15, 9, 12, 4)

BOTH = {"": {}, ":exclude_first=true": judge.FIRST}
STREAM = ["attention_ratio", "attention_importance", "mlp_importance", "block_influence", "token_similarity",
          "token_spread", "amp_head", "amp_neuron", "wanda_sp_head", "wanda_sp_neuron", "flap_head", "flap_neuron"]
SINKS = BOTH | {":key=3": {"key": 3}, ":key=-1": {"key": -1}, ":key=3:visible_only=true":
                {"key": 3, "visible_only": True}, ":visible_only=true": {"visible_only": True}}
ENTROPIES = BOTH | {":variant=A": {"variant": "A"}, ":epsilon=0.001:variant=B": {"variant": "B", "epsilon": 1e-3},
                    ":epsilon=0.001": {"epsilon": 1e-3}, ":normalised=true": {"normalised": True}}
PATTERNS = {"": {}, ":band=1:diagonal=0.3:first_query=4:sink=0.2:uniform=0.7":
            {"band": 1, "diagonal": 0.3, "first_query": 4, "sink": 0.2, "uniform": 0.7}}
OVER = (4, 8, 12)


def load(name):
    config = tf.AutoConfig.from_pretrained(HERE / "forward" / name)
    config._attn_implementation = "eager"
    kind = tf.AutoModelForSequenceClassification if name in ("bert", "albert") else tf.AutoModelForCausalLM
    return kind.from_pretrained(HERE / "forward" / name, config=config).eval().double()


def tidy(values):
    if isinstance(values, dict):
        return {name: tidy(own) for name, own in values.items()}
    if isinstance(values, (list, np.ndarray)):
        return [tidy(own) for own in values]
    return None if math.isnan(values) else float(f"{values:.9g}")


def expected(model, seen):
    found = {name + text: getattr(judge, name)(seen, model, **named)
             for name in STREAM for text, named in BOTH.items()}
    for text, named in SINKS.items():
        found["sink_head" + text] = judge.sink_head(seen, model, **named)
        found["sink_layer" + text] = judge.sink_layer(seen, model, **named)
    if not seen[0].encoder:  # in an encoder, attention over a text's prefix is not part of the attention over the text
        for name in ("sink_head", "sink_layer"):
            found[name + ":lengths=4/8/12"] = [getattr(judge, name)(seen, model, length=n) for n in OVER]
        found["sink_cv:lengths=4/8/12"] = judge.sink_cv(seen, model, OVER)
    found["sink_cv:key=2:lengths=natural"] = judge.sink_cv(seen, model, None, key=2)
    for text, named in ENTROPIES.items():
        found["attention_entropy" + text] = judge.attention_entropy(seen, model, **named)
    for text, named in PATTERNS.items():
        found["attention_pattern" + text] = judge.attention_pattern(seen, model, **named)
    for name in ("flap_head", "flap_neuron"):
        found[name + ":raw=true"] = getattr(judge, name)(seen, model, raw=True)
    if seen[0].encoder:
        for name in ("attention_importance", "mlp_importance"):
            found[name + ":before_norm=true"] = getattr(judge, name)(seen, model, before_norm=True)
    return found


def main():
    document = {}
    for number, name in enumerate(MODELS):
        model = load(name)
        random = np.random.default_rng(number)
        sequences = [random.integers(3, model.config.vocab_size, n).tolist() for n in LENGTHS]
        seen = [judge.Seen(model, ids) for ids in sequences]
        document[name] = {"sequences": sequences, "metrics": tidy(expected(model, seen))}
        print(name, len(document[name]["metrics"]), "results")
    (HERE / "forward_metrics.json").write_text(json.dumps(document, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    with torch.no_grad():
        main()
