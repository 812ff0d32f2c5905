#!/usr/bin/env python3
"""Writes expected_generation.json: texts that transformers generates with a GGUF model of the `llama` architecture.

    python make_generation.py MODEL.gguf

Needs torch, transformers (5.x), accelerate, gguf and numpy. The weights are dequantised to float32. For each prompt,
the file has the first 100 tokens of greedy decoding, without a stop token or penalties. For each token it has the
difference between its logit and the second largest one: where it is small, another implementation may choose another
token. For one text, the file has the mean loss in nats of all tokens but the first.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import torch
import transformers as tf

import families

STEPS = 100
PROMPTS = {
    "chat": "<|im_start|>user\nName three rivers of Europe and say where each begins.<|im_end|>\n"
            "<|im_start|>assistant\n",
    "prose": "The lighthouse keeper had not spoken to anyone for eleven days when",
    "code": "def moving_average(values, width):\n    \"\"\"Mean of each window of the given width.\"\"\"\n",
}
TEXT = """\
Pruning a hedge is not the same as making it smaller. Anyone can cut a straight line along the top with a noisy \
machine, and for a week the result looks tidy. By the end of the month, however, the plant has answered with a dense \
crust of twigs, while the inside turns brown because no light arrives there any more. A gardener who knows the species \
works differently. She first looks for the old wood, follows a branch down to the place where it divides, and removes \
one half of it completely. The gap seems alarming at first, yet it lets in air, and two years later nobody can tell \
where the cut was made.

My grandfather kept a notebook about his pear trees. Every entry had a date, the weather, and a small drawing of the \
branches he had taken away, numbered in the order in which he took them. In 1962 he wrote: "Removed 14 of 40. Too many. \
Fruit in August poor, but the wood is sound." The next winter he removed only six, and the harvest doubled. He never \
claimed to understand why some branches mattered and others did not; he simply measured, wrote it down, and compared. \
When I asked him for a rule, he laughed and said that the tree had not read the book.

There is a lesson in that for people who build things out of numbers. A part that looks large may carry nothing, and a \
thin one may hold the whole crown. You find out by cutting a little, waiting, and counting pears. Everything else is \
decoration, or at best a guess that has not yet been tested by a dry summer.
"""


def check_weights(model, path):
    """Checks some matrices against those that gguf-py reads. Among them are the query and key matrices, whose rows
    llama.cpp reorders.
    """
    weights, _ = families.read_gguf(path)
    layer = model.model.layers[3]
    for which, ours in (("down", layer.mlp.down_proj), ("query", layer.self_attn.q_proj),
                        ("key", layer.self_attn.k_proj)):
        assert np.array_equal(ours.weight.detach().numpy(), weights[3, which]), which


@torch.no_grad()
def greedy(model, ids):
    cache, tokens, gaps = tf.DynamicCache(config=model.config), [], []
    given = torch.tensor([ids])
    for _ in range(STEPS):
        best = model(input_ids=given, past_key_values=cache, use_cache=True).logits[0, -1].topk(2)
        tokens.append(best.indices[0].item())
        gaps.append(round((best.values[0] - best.values[1]).item(), 4))
        given = best.indices[:1][None]
    whole = model(input_ids=torch.tensor([ids + tokens]), use_cache=False).logits[0, len(ids) - 1:-1]
    for step in (whole.argmax(-1) != torch.tensor(tokens)).nonzero().flatten().tolist():
        assert gaps[step] < 1e-3, f"step {step} depends on how it is computed"
    return tokens, gaps


@torch.no_grad()
def mean_loss(model, ids):
    logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :-1].double()
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:])).item()


def main(path):
    kind, folder = gguf.GGUFReader(path).fields["general.architecture"].contents(), str(path.parent)
    assert kind == "llama", kind
    tokenizer = tf.AutoTokenizer.from_pretrained(folder, gguf_file=path.name)
    model = tf.AutoModelForCausalLM.from_pretrained(folder, gguf_file=path.name, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    check_weights(model, path)
    record = {"prompts": [], "text": {}}
    for name, text in PROMPTS.items():
        ids = tokenizer(text, add_special_tokens=False).input_ids
        tokens, gaps = greedy(model, ids)
        record["prompts"].append({"name": name, "text": text, "ids": ids, "tokens": tokens, "gaps": gaps})
        print(f"{name}: smallest gap {min(gaps)} at step {gaps.index(min(gaps))}, {tokenizer.decode(tokens)!r}")
    ids = tokenizer(TEXT, add_special_tokens=False).input_ids[:300]
    record["text"] = {"ids": ids, "mean_loss": mean_loss(model, ids)}
    print(len(ids), "tokens, mean loss", record["text"]["mean_loss"])
    lines = [json.dumps(prompt) for prompt in record["prompts"]]
    written = '{"prompts": [\n' + ",\n".join(lines) + '\n],\n"text": ' + json.dumps(record["text"]) + "}\n"
    (pathlib.Path(__file__).parent / "expected_generation.json").write_text(written)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).expanduser())
