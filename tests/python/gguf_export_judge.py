"""Compares GGUF exports in llama.cpp with masked Hugging Face exports of the same mask in transformers.

    gguf_export_judge.py secateur-cli MODEL... [--masks N] [--seed N]

MODEL is the Hugging Face folder of a decoder. For random masks, each GGUF layout that can hold the mask is exported.
llama.cpp (llama-cpp-python) runs it on drawn tokens and continues them greedily by 50 tokens, or to the end
of the context. Prints the largest
difference of the logits relative to the largest logit, and the number of equal texts.
"""

import argparse
import json
import pathlib
import random
import shutil
import tempfile

import llama_cpp
import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM

from smaller_export_judge import drawn_mask, run

LAYOUTS = ["native", "deci", "openelm"]
PROMPT = 12
GREEDY = 50


def uniform_mask(cli, model, rng, path):
    """A mask of as many neurons in each layer, which every architecture can hold."""
    card = json.loads(run(cli, "inspect", model, "--json").stdout)
    count = rng.randrange(1, min(card["ffn"]))
    layers = [{"layer": i, "neurons_cut": [[0, count]]} for i in range(card["layers"])]
    path.write_text(json.dumps({"secateur_mask": 1, "layers": layers, "model": {
        "architecture": card["architecture"], "structure": card["structure"]}}))
    return True


def expected(folder, ids, steps):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].numpy()
    options = {"max_new_tokens": steps, "do_sample": False, "pad_token_id": 0, "eos_token_id": -1,
               "attention_mask": torch.ones(1, len(ids))}  # else tokens equal to the padding are not attended to
    return logits, model.generate(torch.tensor([ids]), **options)[0, len(ids):].tolist()


def found(path, ids, steps):
    model = llama_cpp.Llama(str(path), n_ctx=128, logits_all=True, verbose=False, n_threads=1,
                            type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32)
    model.eval(ids)
    logits = np.array(model.scores[:len(ids)])
    text = []
    for _ in range(steps):
        text.append(int(np.argmax(model.scores[model.n_tokens - 1])))
        model.eval(text[-1:])
    return logits, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--masks", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("llama-cpp-python", llama_cpp.__version__, "transformers", transformers.__version__)
    rng = random.Random(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp())
    for model in arguments.models:
        results, refused, failed = {}, set(), set()
        for number in range(arguments.masks):
            mask = folder / "m.mask.json"
            draw = drawn_mask if number % 2 else uniform_mask
            if not draw(arguments.cli, model, rng, mask):
                continue
            shutil.rmtree(folder / "masked", ignore_errors=True)
            export = [arguments.cli, "export", model, "--mask", mask, "--force", "--json", "--as"]
            if run(*export, "masked", "--out", folder / "masked").returncode != 0:
                continue
            config = transformers.AutoConfig.from_pretrained(folder / "masked").get_text_config()
            prompt = min(PROMPT, config.max_position_embeddings // 2)
            ids = [rng.randrange(config.vocab_size) for _ in range(prompt)]
            steps = min(GREEDY, config.max_position_embeddings - prompt)
            logits, text = expected(folder / "masked", ids, steps)
            for layout in LAYOUTS:
                result = run(*export, "gguf", "--layout", layout, "--type", "F32", "--out", folder / "out.gguf")
                if result.returncode != 0:
                    refused.add(f"{layout}: {' '.join((result.stdout + result.stderr).split())[:300]}")
                    continue
                try:
                    own, continued = found(folder / "out.gguf", ids, steps)
                except Exception as error:  # every failure of llama.cpp is a result
                    failed.add(f"{layout}: {type(error).__name__}: {str(error)[:200]}")
                    continue
                most, count, texts = results.get(layout, (0.0, 0, 0))
                difference = float(np.abs(own - logits).max() / np.abs(logits).max())
                results[layout] = (max(most, difference), count + 1, texts + (continued == text))
        for layout, (most, count, texts) in sorted(results.items()):
            print(f"{model.name:18} gguf/{layout}: {count} exports, difference {most:.1e}, equal texts {texts}")
        for line in sorted(failed):
            print(f"{model.name:18} FAILED {line}")
        for line in sorted(refused):
            print(f"{model.name:18} refused {line}")


if __name__ == "__main__":
    main()
