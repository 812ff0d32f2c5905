#!/usr/bin/env python3
"""Writes perplexity/: tokenizers whose tokens are single characters, and perplexities.json, the losses of texts
computed with Python and transformers.

    python make_perplexity.py [MODEL.gguf wiki.test.raw]

Needs torch, transformers (5.x), tokenizers and numpy; with a GGUF model also accelerate and gguf. The small models of
forward/ run in float64, the dequantised weights of the GGUF model in float32. The file does not contain the text of
wiki.test.raw, but only counts of rows, pages, words, bytes and tokens, a digest of the detokenised pages, and losses in
nats. If the script is run without arguments, the values for the real model and text are copied from the existing file.
"""

import hashlib
import json
import math
import pathlib
import sys

import numpy as np
import tokenizers
import torch
import transformers as tf

import forward_judge as fj
import wikitext_judge as judge

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "perplexity"
ALPHABET = "\n =,.@-()\"':;Nabdehilnorst123\u00b0"
TOKENIZERS = {"adds-bos": ("<s>", "</s>", True), "has-bos": ("<s>", "</s>", False), "only-eos": (None, "</s>", False)}
WINDOW, WINDOWS, ROLLING = 256, 8, 512
CUT = {1: [0, 2]}  # heads of llama-gqa that under_mask() cuts, by layer

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

TEXTS = {
    "articles.raw": """ \n = Rain on the Hill = \n \n The hill is dr@-@  dry , 3 @,@ 213 lots of sand ( and dirt ) . \n \n \
= = N Side = = \n \n It held 31 \u00b0 and ' salt ' ; the herd's hide is thin , the bird 's nest is not . \n \n \
= Sheet Ten = \n \n \" Roads end here \" : it is a sheet . \n = Dot = \n \n \n""",
    "plain.txt": "he read it on a train\n\n  and so did i , at a desk , 12 or 13 lines.  no hint\nof an end\n",
}

# Each case: model, tokenizer, text, protocol, window, BOS mode (None = the default), maximum number of tokens.
CASES = [
    *[("llama-gqa", "adds-bos", "articles.raw", "token_ppl", 16, bos, None)
      for bos in (None, "tokenizer_default", "first_only", "every_window", "always", "never")],
    *[("llama-gqa", "has-bos", "articles.raw", "token_ppl", 7, bos, None)
      for bos in (None, "first_only", "every_window", "always", "never")],
    ("llama-gqa", "only-eos", "articles.raw", "token_ppl", 16, "always", None),
    ("llama-gqa", "adds-bos", "plain.txt", "token_ppl", 2, None, None),
    ("llama-gqa", "adds-bos", "plain.txt", "token_ppl", 2, "every_window", None),
    ("llama-gqa", "adds-bos", "plain.txt", "token_ppl", 64, None, 30),
    ("llama-gqa", "adds-bos", "plain.txt", "token_ppl", 64, "every_window", 30),
    ("llama-gqa", "adds-bos", "plain.txt", "token_ppl", 10, None, 49),
    ("gpt2", "has-bos", "articles.raw", "token_ppl", 16, None, None),
    ("gpt2", "adds-bos", "plain.txt", "token_ppl", 13, None, None),
    ("gemma2", "adds-bos", "articles.raw", "token_ppl", 20, None, None),
    ("gemma2", "adds-bos", "articles.raw", "token_ppl", 20, "first_only", None),
    *[("llama-gqa", "adds-bos", "articles.raw", "word_ppl", 13, bos, None)
      for bos in (None, "tokenizer_default", "always", "first_only", "lm_eval_new")],
    ("llama-gqa", "adds-bos", "articles.raw", "word_ppl", 64, "lm_eval_new", None),
    ("llama-gqa", "has-bos", "articles.raw", "word_ppl", 64, "lm_eval_new", None),
    ("llama-gqa", "only-eos", "articles.raw", "word_ppl", 64, None, None),
    ("llama-gqa", "adds-bos", "articles.raw", "word_ppl", 30, None, 216),
    ("llama-gqa", "adds-bos", "articles.raw", "word_ppl", 30, None, 5),
    ("llama-gqa", "adds-bos", "plain.txt", "word_ppl", 40, None, None),
    ("gpt2", "has-bos", "articles.raw", "word_ppl", 16, None, None),
    ("gpt2", "adds-bos", "plain.txt", "word_ppl", 3, None, None),
    ("gemma2", "adds-bos", "articles.raw", "word_ppl", 24, None, None),
]


# --- small tokenizers and models -------------------------------------------------------------------------------------

def write_tokenizer(name):
    bos, eos, adds = TOKENIZERS[name]
    special = ["<unk>", "<s>", "</s>"]
    vocabulary = {token: index for index, token in enumerate(special + list(ALPHABET))}
    assert len(vocabulary) <= 33
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], unk_token="<unk>"))
    made.add_special_tokens([token for token in ("<unk>", bos, eos) if token])
    if adds:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B:1", special_tokens=[(bos, 1)])
    roles = {"unk_token": "<unk>", "eos_token": eos} | ({"bos_token": bos} if bos else {})
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(roles) + "\n")
    return tf.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **roles)


def small_model(name, cut=None):
    model = tf.AutoModelForCausalLM.from_pretrained(HERE / "forward" / name, attn_implementation="eager").double().eval()
    for layer, heads in (cut or {}).items():
        size = model.config.head_dim
        with torch.no_grad():
            for head in heads:
                model.model.layers[layer].self_attn.o_proj.weight[:, head * size:(head + 1) * size] = 0
    return model


@torch.no_grad()
def losses(model, inputs):
    logits = model(input_ids=torch.tensor([inputs[:-1]]), use_cache=False).logits[0].double()
    return torch.nn.functional.cross_entropy(logits, torch.tensor(inputs[1:]), reduction="none")


# --- splitting texts into windows ------------------------------------------------------------------------------------

def rolling(ids, prefix, most):
    """For each window (inputs, number of tokens at their end that are scored), as lm-eval divides a page."""
    first = min(most, len(ids))
    yield [prefix] + ids[:first], first
    done = first
    while done < len(ids):
        count = min(most, len(ids) - done)
        end = done + count
        yield ids[end - most - 1:end], count
        done = end


def token_windows(tokenizer, text, window, bos, most):
    """For each window (inputs, number of tokens at their end that are scored)."""
    ids = tokenizer(text).input_ids
    each = bos == "always" and tokenizer.bos_token_id or bos == "every_window" and ids[0] == tokenizer.bos_token_id
    if each or bos == "never":
        ids = tokenizer(text, add_special_tokens=False).input_ids
    ids = ids[:most]
    room = min(window - 1 if each else window, len(ids))
    front = [tokenizer.bos_token_id] if each else []
    for index in range(len(ids) // room):
        inputs = front + ids[index * room:(index + 1) * room]
        if len(inputs) > 1:
            yield inputs, len(inputs) - 1


def page_windows(tokenizer, page, window, bos):
    ids = tokenizer(page, add_special_tokens=bos == "lm_eval_new").input_ids
    prefix = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    return len(ids), list(rolling(ids, prefix, window))


def pages_of(text, is_wikitext):
    if not is_wikitext:
        return [(text, text)]
    return [(page, judge.detokenised(page)) for page in judge.pages(text)]


def error_of_ratio(nats, weights):
    """The standard error of sum(nats) / sum(weights), where pages are the independent samples."""
    nats, weights = np.array(nats), np.array(weights, float)
    rest = nats - nats.sum() / weights.sum() * weights
    return math.sqrt((rest ** 2).sum() * len(nats) / (len(nats) - 1)) / weights.sum() if len(nats) > 1 else None


# --- cases -----------------------------------------------------------------------------------------------------------

def rows_of(text):
    return judge.rows(text.splitlines(keepends=True))


def token_case(model, tokenizer, text, is_wikitext, window, bos, most):
    joined = "\n\n".join(rows_of(text)) if is_wikitext else text
    windows = list(token_windows(tokenizer, joined, window, bos, most))
    nats = [losses(model, inputs).sum().item() for inputs, _ in windows]
    means = np.array(nats) / np.array([scored for _, scored in windows])
    error = means.std(ddof=1) / math.sqrt(len(means)) if len(means) > 1 else None
    return {"tokens": sum(scored for _, scored in windows), "nats": nats, "loss": means.mean(), "standard_error": error}


def word_case(model, tokenizer, text, is_wikitext, window, bos, most):
    nats, page_nats, words, size, tokens, left = [], [], [], 0, 0, most
    for original, scored in pages_of(text, is_wikitext):
        count, windows = page_windows(tokenizer, scored, window, bos)
        if left is not None and count > left and page_nats:
            break
        left = None if left is None else left - count
        own = [losses(model, inputs)[-number:].sum().item() for inputs, number in windows]
        nats, page_nats, words = nats + own, page_nats + [sum(own)], words + [judge.words(original)]
        size, tokens = size + len(original.encode()), tokens + count
        if left is not None and left <= 0:
            break
    total = sum(nats)
    return {"tokens": tokens, "nats": nats, "pages": len(words), "words": sum(words), "bytes": size,
            "loss": total / sum(words), "standard_error": error_of_ratio(page_nats, words),
            "byte_perplexity": math.exp(total / size), "bits_per_byte": total / size / math.log(2),
            "page_nats": page_nats, "page_words": words}


def small_cases():
    made, found = {name: write_tokenizer(name) for name in TOKENIZERS}, []
    models = {name: small_model(name) for name in {case[0] for case in CASES}}
    for name, text in TEXTS.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for name, tokenizer, text, protocol, window, bos, most in CASES:
        mode = bos or ("every_window" if name.startswith("gemma") and protocol == "token_ppl" else "tokenizer_default")
        run = token_case if protocol == "token_ppl" else word_case
        figures = run(models[name], made[tokenizer], TEXTS[text], text.endswith(".raw"), window, mode, most)
        found.append({"model": name, "tokenizer": tokenizer, "text": text, "protocol": protocol, "window": window,
                      "bos": bos, "settled_bos": mode, "max_tokens": most} | figures)
    return found, made, models


def under_mask(made, models):
    """Compares the dense model with the model without the heads in CUT, on the same windows and pages."""
    found, cut = {"cut": [[layer, heads] for layer, heads in CUT.items()]}, small_model("llama-gqa", CUT)
    text, tokenizer = TEXTS["articles.raw"], made["adds-bos"]
    dense, left = (token_case(model, tokenizer, text, True, 16, "first_only", None)
                   for model in (models["llama-gqa"], cut))
    change = (np.array(left["nats"]) - np.array(dense["nats"])) / 15
    found["token_ppl"] = {"loss": left["loss"], "delta": change.mean(),
                          "standard_error": change.std(ddof=1) / math.sqrt(len(change)), "count": len(change)}
    dense, left = (word_case(model, tokenizer, text, True, 13, "tokenizer_default", None)
                   for model in (models["llama-gqa"], cut))
    change = np.array(left["page_nats"]) - np.array(dense["page_nats"])
    found["word_ppl"] = {"loss": left["loss"], "delta": left["loss"] - dense["loss"],
                         "standard_error": error_of_ratio(change, left["page_words"]), "count": len(change)}
    return found


def rolling_cases():
    return [{"most": most, "tokens": count,
             "windows": [[inputs[0], len(inputs), scored] for inputs, scored in rolling(list(range(1, count + 1)), 0, most)]}
            for most in range(2, 7) for count in range(1, 3 * most)]


# --- a real model and text -------------------------------------------------------------------------------------------

def real_cases(path, text_path):
    with open(text_path, encoding="utf-8") as file:
        lines = list(file)
    pages = judge.pages("".join(lines))
    text = "\n\n".join(judge.rows(lines))
    tokenizer = tf.AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    model = tf.AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    ids = tokenizer(text).input_ids
    windows = [losses(model, ids[i * WINDOW:(i + 1) * WINDOW]).sum().item() for i in range(WINDOWS)]
    count, slid = page_windows(tokenizer, judge.detokenised(pages[0]), ROLLING, "tokenizer_default")
    nats = [losses(model, inputs)[-number:].sum().item() for inputs, number in slid]
    whole = hashlib.sha256("\0".join(map(judge.detokenised, pages)).encode()).hexdigest()
    return {
        "rows": len(lines), "pages": len(pages), "words": sum(map(judge.words, pages)),
        "bytes": sum(len(page.encode()) for page in pages), "detokenised_sha256": whole,
        "token_ppl": {"window": WINDOW, "tokens": len(ids), "nats": windows},
        "word_ppl": {"window": ROLLING, "pages": 1, "tokens": count, "words": judge.words(pages[0]),
                     "bytes": len(pages[0].encode()), "nats": nats, "loss": sum(nats) / judge.words(pages[0])},
    }


def lines_of(record):
    """JSON text with one line for each case."""
    parts = []
    for name, value in record.items():
        listed = isinstance(value, list)
        inner = ("[\n" + ",\n".join(map(json.dumps, value)) + "\n]") if listed else json.dumps(value)
        parts.append(f'"{name}": {inner}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments):
    target = FOLDER / "perplexities.json"
    real = json.loads(target.read_text())["wikitext2_test"] if target.exists() and not arguments else None
    with fj.InDouble():
        small, made, models = small_cases()
        masked = under_mask(made, models)
    if arguments:
        real = real_cases(pathlib.Path(arguments[0]).expanduser(), arguments[1])
    record = {
        "samples": [{"text": sample, "detokenised": judge.detokenised(sample), "words": judge.words(sample),
                     "bytes": len(sample.encode())} for sample in SAMPLES],
        "rolling": rolling_cases(), "cases": small, "masked": masked, "wikitext2_test": real,
    }
    target.write_text(lines_of(record))
    for case in small:
        print(*[case[key] for key in ("model", "tokenizer", "text", "protocol", "window", "settled_bos", "max_tokens",
                                      "tokens")], len(case["nats"]), case.get("pages"), f"{case['loss']:.5f}")


if __name__ == "__main__":
    main(sys.argv[1:])
