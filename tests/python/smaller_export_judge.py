"""Compares smaller exports with masked ones of the same mask, in transformers.

    smaller_export_judge.py secateur-cli MODEL... [--masks N]

MODEL is a Hugging Face folder. For random masks, each layout that can hold the mask is exported and opened by
transformers, and its logits and 20 greedy tokens are compared with those of the masked export. Prints the largest
difference relative to the largest logit.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import tempfile

import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

LAYOUTS = [("structural", "native"), ("structural", "per_layer"), ("structural", "pruned_heads"), ("padded", "native")]


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True)


def drawn_mask(cli, model, rng, path):
    """A mask of a drawn kind, as the command line writes it."""
    strategy, budget = rng.choice([("random_block", "1"), ("random_attention", "1"), ("random_mlp", "1"), ("mag_sp", "30%"),
                                   ("random_head", "25%"), ("amp", "params:15%"), ("gate_norm", "1")])
    return run(cli, "prune", model, "--strategy", strategy, "--budget", budget, "--seed", rng.randrange(1000),
               "--max-tokens", "256", "--out", path, "--force").returncode == 0


def opened(folder):
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    is_decoder = any("CausalLM" in name or "LMHead" in name for name in config.architectures or [])
    kind = AutoModelForCausalLM if is_decoder else AutoModel
    return kind.from_pretrained(folder, trust_remote_code=True, dtype=torch.float32).eval(), is_decoder


def output(model, ids, is_decoder):
    with torch.no_grad():
        result = model(ids)
    return result.logits if is_decoder else result.last_hidden_state


def compare(masked, smaller, rng):
    first, is_decoder = opened(masked)
    second, _ = opened(smaller)
    vocabulary = first.get_input_embeddings().weight.shape[0]
    positions = first.config.get_text_config().max_position_embeddings - 3  # some of RoBERTa's are not used
    length = min(24, positions if not is_decoder else positions // 2)
    ids = torch.tensor([[rng.randrange(vocabulary) for _ in range(length)] for _ in range(2)])
    a, b = output(first, ids, is_decoder), output(second, ids, is_decoder)
    same = True
    if is_decoder:
        options = {"max_new_tokens": min(20, positions - length), "do_sample": False, "pad_token_id": 0, "eos_token_id": -1}
        same = torch.equal(first.generate(ids[:1], **options), second.generate(ids[:1], **options))
    return ((a - b).abs().max() / a.abs().max()).item(), same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--masks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("transformers", transformers.__version__)
    rng = random.Random(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp())
    for model in arguments.models:
        found, refused, failed = {}, set(), []
        for _ in range(arguments.masks):
            mask = folder / "m.mask.json"
            if not drawn_mask(arguments.cli, model, rng, mask):
                continue
            for target, layout in LAYOUTS:
                shutil.rmtree(folder / "masked", ignore_errors=True)
                shutil.rmtree(folder / "smaller", ignore_errors=True)
                export = [arguments.cli, "export", model, "--mask", mask, "--json"]
                if run(*export, "--as", "masked", "--out", folder / "masked").returncode != 0:
                    continue
                result = run(*export, "--as", target, "--layout", layout, "--out", folder / "smaller")
                if result.returncode != 0:
                    refused.add(f"{target}/{layout}: {' '.join((result.stdout + result.stderr).split())[:200]}")
                    continue
                try:
                    difference, same = compare(folder / "masked", folder / "smaller", rng)
                except Exception as error:  # every failure of transformers is a result
                    failed.append(f"{target}/{layout}: {type(error).__name__}: {str(error)[:200]}")
                    continue
                most, count, texts = found.get((target, layout), (0.0, 0, 0))
                found[target, layout] = (max(most, difference), count + 1, texts + same)
        for (target, layout), (most, count, texts) in sorted(found.items()):
            print(f"{model.name:18} {target}/{layout}: {count} exports, difference {most:.1e}, equal texts {texts}")
        for line in sorted(set(failed)):
            print(f"{model.name:18} FAILED {line}")
        for line in sorted(refused):
            print(f"{model.name:18} refused {line}")


if __name__ == "__main__":
    main()
