#!/usr/bin/env python3
"""Writes the adapters under tests/data/adapters with PEFT, and the outputs of transformers with them.

    python make_adapters.py [NAME ...]       writes all adapters, or only the named ones, to this folder

Needs torch, transformers (5.x), peft and safetensors. The output is deterministic. Each folder belongs to the model of
this name in tests/data/forward, or in tests/data. It holds what PEFT saves (adapter_config.json and
adapter_model.safetensors), and expected.safetensors:

    ids, lengths, types      the batch: [rows, T], [rows], [rows, T]; rows are padded on the right
    logits, pooled           [rows, T, V] of decoders, [rows, classes] of classifiers; [rows, D] without a classifier
    plain                    the same without the adapter

A and B are re-drawn, so that B is not 0. Outputs are computed in float64 from float32 weights, then rounded to float32,
and are 0 at padded positions.
"""

import argparse
import json
import pathlib
import shutil

import peft
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import forward_judge as fj

HERE = pathlib.Path(__file__).parent
LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
BERT = ["query", "key", "value", "attention.output.dense", "intermediate.dense", r"output.dense"]
CLASSIFIER = dict(task_type="SEQ_CLS")

# Options of LoraConfig for each model.
CASES = {
    "llama-gqa": dict(r=3, lora_alpha=7, target_modules=LLAMA, modules_to_save=["input_layernorm", "norm"]),
    "llama-bias": dict(r=2, lora_alpha=4, target_modules=LLAMA, rank_pattern={"k_proj": 5, "layers.1.mlp.up_proj": 1},
                       alpha_pattern={"k_proj": 3, "layers.1.mlp.up_proj": 2.5}),
    "mistral": dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]),
    "qwen2": dict(r=4, lora_alpha=5, target_modules=LLAMA, use_rslora=True),
    "qwen3": dict(r=3, lora_alpha=6, target_modules=LLAMA, modules_to_save=["q_norm", "k_norm"]),
    "gemma2": dict(r=3, lora_alpha=6, target_modules="all-linear", modules_to_save=["pre_feedforward_layernorm"]),
    "gemma3": dict(r=3, lora_alpha=6, target_modules=LLAMA),
    "gemma3-multimodal": dict(r=3, lora_alpha=6, target_modules=r".*language_model.*_proj"),
    "phi": dict(r=3, lora_alpha=6, target_modules=["q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"]),
    "gpt2": dict(r=4, lora_alpha=6, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True,
                 modules_to_save=["ln_2"]),
    "bert": dict(r=3, lora_alpha=6, target_modules=["query", "key", "value", "attention.output.dense"], **CLASSIFIER),
    "bert-bare": dict(r=3, lora_alpha=6, target_modules=["query", "value", "intermediate.dense"]),
    "roberta": dict(r=3, lora_alpha=6, target_modules=["query", "key", "value", "intermediate.dense"], **CLASSIFIER),
    "xlm-roberta": dict(r=3, lora_alpha=6, target_modules=["query", "value"], **CLASSIFIER),
    "albert": dict(r=3, lora_alpha=6, target_modules=["query", "key", "value", "attention.dense", "ffn", "ffn_output"],
                   **CLASSIFIER),
}
HALF = ("mistral", "gemma3-multimodal")  # saved in bfloat16
WITH_EMBEDDING = ("gemma2", "phi")  # saved with the unchanged embedding and LM head, as PEFT does if it cannot compare


def model_folder(name):
    forward = HERE / "forward" / name
    return forward if forward.exists() else HERE / name


def open_model(folder):
    kind = getattr(transformers, json.loads((folder / "config.json").read_text())["architectures"][0])
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def batch_of(folder):
    stored = folder / "expected.safetensors"
    if stored.exists():
        tensors = load_file(stored)
        return {name: tensors[name] for name in ("ids", "lengths", "types") if name in tensors}
    return {"ids": torch.arange(24).reshape(2, 12) * 5 % 17, "lengths": torch.tensor([12, 12])}


def output_of(model, batch):
    """The logits, or the pooled output of an encoder without a classifier, in float64."""
    real = fj.visible(batch["lengths"], batch["ids"].shape[1])
    named = {"input_ids": batch["ids"].long(), "attention_mask": real}
    if "types" in batch:
        named["token_type_ids"] = batch["types"].long()
    with torch.no_grad(), fj.InDouble():
        answer = model(**named)
    output = answer.logits if hasattr(answer, "logits") else answer.pooler_output
    return output * real[..., None] if output.dim() == 3 else output


def redraw(model, is_half):
    """Draws all trained parameters; with is_half, in the precision of bfloat16."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_A" in name:
                parameter.normal_(0, parameter.shape[1] ** -0.5)
            elif "lora_B" in name:
                parameter.normal_(0, 0.3)
            elif "modules_to_save" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            if "lora_" in name and is_half:
                parameter.copy_(parameter.bfloat16())


def make(name):
    torch.manual_seed(sum(name.encode()))
    source, folder = model_folder(name), HERE / "adapters" / name
    shutil.rmtree(folder, ignore_errors=True)
    batch = batch_of(source)
    plain = output_of(open_model(source).double(), batch)
    model = peft.get_peft_model(open_model(source), peft.LoraConfig(lora_dropout=0.05, **CASES[name]))
    redraw(model, name in HALF)
    model.peft_config["default"].base_model_name_or_path = name
    model.save_pretrained(folder, save_embedding_layers=name in WITH_EMBEDDING)
    (folder / "README.md").unlink(missing_ok=True)
    config = json.loads((folder / "adapter_config.json").read_text())  # PEFT writes a set, in any order
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    if name in HALF:
        weights = folder / "adapter_model.safetensors"
        save_file({key: value.bfloat16() for key, value in load_file(weights).items()}, weights, {"format": "pt"})
    found = output_of(model.double().eval(), batch)
    moved = ((found - plain).abs().max() / plain.abs().max()).item()
    assert moved > 0.05, f"{name}: the adapter moves the output by {moved} only"
    kind = "pooled" if name == "bert-bare" else "logits"
    save_file({key: value.contiguous().clone() for key, value in
               (batch | {kind: found.float(), "plain": plain.float()}).items()}, folder / "expected.safetensors")
    with safe_open(folder / "adapter_model.safetensors", "pt") as file:
        print(f"{name}: {len(file.keys())} tensors, the output moves by {moved:.2f} of its largest number")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], metavar="NAME")
    for chosen in parser.parse_args().names or CASES:
        make(chosen)
