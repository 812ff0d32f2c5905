#!/usr/bin/env python3
"""Writes tests/data/training with PEFT and torch: gradients of adapters, and losses of training runs.

    python make_training.py [NAME ...]

Needs torch, transformers (5.x), peft and safetensors. The output is deterministic.

NAME/gradients   the gradients of the adapter in tests/data/adapters/NAME, as a folder of PEFT: in the place of each
                 number of the adapter is the gradient of the loss with respect to it. Computed in float64.
NAME/run         an adapter with which a run of 20 steps begins: LoRA of rank 2 on all projections and, of classifiers,
                 the classifier. AdamW, linear decay, clipped gradients, float32, no dropout; every step uses all rows.
NAME/training.json
    targets      [rows, T] the token that each position predicts, -1 = none; of classifiers [rows] the labels
    loss         mean over the targets, with the adapter in tests/data/adapters
    losses       [20] of the run, before each step
    learning_rate, clip_norm, weight_decay
"""

import argparse
import json
import pathlib
import shutil

import peft
import torch

import forward_judge as fj
import make_adapters as adapters

HERE = pathlib.Path(__file__).parent
NAMES = ("llama-gqa", "qwen3", "gemma2", "gemma3", "phi", "gpt2", "bert", "roberta", "albert")
RUNS = ("llama-gqa", "gemma3", "bert")
STEPS, RATE, CLIP, DECAY = 20, 1e-2, 1.0, 0.1


def is_classifier(name):
    return "task_type" in adapters.CASES[name]


def targets_of(name, batch):
    """The next tokens of every row, without some of them; of classifiers the labels."""
    rows, positions = batch["ids"].shape
    if is_classifier(name):
        return torch.arange(rows) % 2
    targets = torch.full((rows, positions), -1)
    for row in range(rows):
        end = int(batch["lengths"][row])
        targets[row, : end - 1] = batch["ids"][row, 1:end]
        targets[row, row : end : 3] = -1
    return targets


def loss_of(model, batch, targets):
    named = {"input_ids": batch["ids"].long(), "attention_mask": fj.visible(batch["lengths"], batch["ids"].shape[1])}
    if "types" in batch:
        named["token_type_ids"] = batch["types"].long()
    logits = model(**named).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten().long(), ignore_index=-1)


def save(model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    config = json.loads((folder / "adapter_config.json").read_text())
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def gradients(name, batch, targets):
    source = adapters.open_model(adapters.model_folder(name))
    model = peft.PeftModel.from_pretrained(source, HERE / "adapters" / name, is_trainable=True).double().eval()
    with fj.InDouble():
        loss = loss_of(model, batch, targets)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter.grad)
    model.peft_config["default"].base_model_name_or_path = name
    save(model.float(), HERE / "training" / name / "gradients")
    return loss.item()


def run(name, batch, targets):
    torch.manual_seed(7)
    case = adapters.CASES[name]
    config = peft.LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=case["target_modules"],
                             **({"task_type": "SEQ_CLS"} if is_classifier(name) else {}))
    model = peft.get_peft_model(adapters.open_model(adapters.model_folder(name)), config)
    adapters.redraw(model)
    model.peft_config["default"].base_model_name_or_path = name
    save(model, HERE / "training" / name / "run")
    trained = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for n, p in model.named_parameters() if p.requires_grad and not n.endswith(".bias")]
    plain = [p for n, p in model.named_parameters() if p.requires_grad and n.endswith(".bias")]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / STEPS)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(model, batch, targets)
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    return losses


def make(name):
    folder = HERE / "training" / name
    folder.mkdir(parents=True, exist_ok=True)
    batch = adapters.batch_of(adapters.model_folder(name))
    targets = targets_of(name, batch)
    about = {"targets": targets.tolist(), "loss": gradients(name, batch, targets)}
    if name in RUNS:
        about |= {"losses": run(name, batch, targets), "learning_rate": RATE, "clip_norm": CLIP, "weight_decay": DECAY}
        print(name, "losses", about["losses"][0], "to", about["losses"][-1])
    (folder / "training.json").write_text(json.dumps(about) + "\n")
    print(name, "loss", about["loss"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME")
    for chosen in parser.parse_args().names or NAMES:
        make(chosen)
