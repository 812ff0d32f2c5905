#!/usr/bin/env python3
"""Writes expected_perplexity.json: texts as Python detokenises and counts them, and what transformers makes of a raw
WikiText file with a GGUF model, whose weights are dequantised to float32.

    python make_perplexity.py MODEL.gguf wiki.test.raw

Needs torch, transformers (5.x), accelerate, gguf and numpy. Of the file only sums are written: counts of rows, pages,
words and bytes, a digest of the detokenised pages and of the token ids, and losses in nats.
"""

import hashlib
import json
import pathlib
import sys

import torch
import transformers as tf

import wikitext_judge as judge

WINDOW, WINDOWS, ROLLING, PAGES = 256, 8, 512, 1
SAMPLES = [
    "Plain text stays , as it was .",
    " = A heading = \n \n = = Part = = \n = = = Small part = = = \n = = = = Least = = = = \n",
    " The boys ' house is the girl 's ; he said : \" so it is \" , ( it was ( once ) ) and [ 12 ] { x } . \n",
    " 1 @,@ 000 @.@ 5 men walked 3 @-@ 4 miles at 20 \u00b0 C . \n Right ! Left ? \n",
    "odd \" quotes \" and \" one more ; 'a' ' b ' rock 'n ' roll (\n open ( never closed",
    "wide\u00a0blank (\u2003inside\u3000) and \u0085 next, path/' 7/end /' 77/ N is N ",
    " = Edge = \n\n\n  \t(\t)[ ]\"\"''",
    "caf\u00e9 ( na\u00efve ) \U0001f600 's",
]


@torch.no_grad()
def losses(model, inputs):
    logits = model(input_ids=torch.tensor([inputs[:-1]]), use_cache=False).logits[0].double()
    return torch.nn.functional.cross_entropy(logits, torch.tensor(inputs[1:]), reduction="none")


def rolling(ids, prefix, most):
    """(inputs, how many of their last tokens are scored), as the harness slides over a page."""
    first = min(most, len(ids))
    yield [prefix] + ids[:first], first
    done = first
    while done < len(ids):
        count = min(most, len(ids) - done)
        end = done + count
        yield ids[end - most - 1:end], count
        done = end


def digest(values):
    return hashlib.sha256(",".join(map(str, values)).encode()).hexdigest()


def token_ppl(model, ids):
    windows = [losses(model, ids[i * WINDOW:(i + 1) * WINDOW]).mean().item() for i in range(WINDOWS)]
    return {"window": WINDOW, "tokens": len(ids), "ids_sha256": digest(ids), "losses": windows}


def word_ppl(model, tokenizer, pages):
    total, windows, tokens = 0.0, [], 0
    for page in pages[:PAGES]:
        ids = tokenizer(judge.detokenised(page), add_special_tokens=False).input_ids
        tokens += len(ids)
        for inputs, count in rolling(ids, tokenizer.bos_token_id, ROLLING):
            windows.append(losses(model, inputs)[-count:].sum().item())
    total = sum(windows)
    words = sum(map(judge.words, pages[:PAGES]))
    return {"window": ROLLING, "pages": PAGES, "tokens": tokens, "words": words,
            "bytes": sum(len(page.encode()) for page in pages[:PAGES]), "nats": windows, "loss": total / words}


def main(path, text_path):
    with open(text_path, encoding="utf-8") as file:
        lines = list(file)
    pages = judge.pages("".join(lines))
    text = "\n\n".join(judge.rows(lines))
    tokenizer = tf.AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    model = tf.AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    whole = hashlib.sha256("\0".join(map(judge.detokenised, pages)).encode()).hexdigest()
    record = {
        "samples": [{"text": sample, "detokenised": judge.detokenised(sample), "words": judge.words(sample),
                     "bytes": len(sample.encode())} for sample in SAMPLES],
        "wikitext2_test": {"sha256": hashlib.sha256(pathlib.Path(text_path).read_bytes()).hexdigest(),
                           "rows": len(lines), "pages": len(pages), "words": sum(map(judge.words, pages)),
                           "bytes": sum(len(page.encode()) for page in pages), "detokenised_sha256": whole,
                           "joined_sha256": hashlib.sha256(text.encode()).hexdigest()},
        "token_ppl": token_ppl(model, tokenizer(text).input_ids),
        "word_ppl": word_ppl(model, tokenizer, pages),
    }
    target = pathlib.Path(__file__).parent / "expected_perplexity.json"
    target.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).expanduser(), sys.argv[2])
