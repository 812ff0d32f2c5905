#!/usr/bin/env python3
"""Writes config_keys.json: configurations of all architectures as the installed version of transformers writes them.

    python make_config_keys.py

Needs transformers; no torch. Adds to the file, under the version of transformers: for each model_type `written` (what
save_pretrained() writes) and `full` (every key of the class). The file was made with 4.51.3 and 5.23.0, which spell
keys differently. `published` is kept as it is: keys of well-known checkpoints that no version writes by default.
"""

import json
import pathlib

import transformers as tf

FILE = pathlib.Path(__file__).parent / "config_keys.json"
CLASSES = [tf.LlamaConfig, tf.MistralConfig, tf.Qwen2Config, tf.Qwen3Config, tf.Gemma2Config, tf.Gemma3TextConfig,
           tf.Gemma3Config, tf.PhiConfig, tf.GPT2Config, tf.BertConfig, tf.RobertaConfig, tf.XLMRobertaConfig,
           tf.AlbertConfig]
SCALED = {"linear": {"rope_type": "linear", "factor": 2.0},
          "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 64}}


def parsed(text):
    """A configuration as a file holds it; the vision tower's own keys are not of interest."""
    config = json.loads(text)
    if config.get("vision_config"):
        config["vision_config"] = {"model_type": "siglip_vision_model"}
    return config


def both(config):
    return {"written": parsed(config.to_json_string(use_diff=True)),
            "full": parsed(config.to_json_string(use_diff=False))}


def main():
    configs = {kind.model_type: both(kind()) for kind in CLASSES}
    key = "rope_parameters" if tf.__version__ >= "5" else "rope_scaling"
    for name, scaling in SCALED.items():
        theta = {"rope_theta": 1e4} if tf.__version__ >= "5" else {}
        configs["llama " + name] = both(tf.LlamaConfig(**{key: scaling | theta}))
    document = json.loads(FILE.read_text()) if FILE.exists() else {}
    document[tf.__version__] = configs
    FILE.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
