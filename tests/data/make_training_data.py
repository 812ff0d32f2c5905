#!/usr/bin/env python3
"""Writes training_data.json: training data as transformers encodes it, and which tokens the loss counts.

    python make_training_data.py [DATA [DEMO.gguf]]

Needs transformers (5.x) and, for DEMO.gguf, torch and gguf. DATA is the folder of real vocabularies and texts for tests;
without it, or without the demo model, the entries made from them are kept. Whole files are stored as the digest of
their ids, targets and labels only.

The prompts are written here by hand, or by the chat templates of published checkpoints through apply_chat_template().
The ranges of the answers are found by searching their texts.
"""

import hashlib
import json
import pathlib
import struct
import sys

import transformers as tf
from tokenizers import pre_tokenizers

HERE = pathlib.Path(__file__).parent
FILE = HERE / "training_data.json"
INSTRUCTIONS = [
    {"instruction": "Name three rivers of Europe.", "input": "", "output": "The Danube, the Rhine and the Loire."},
    {"instruction": "Correct the spelling.", "input": "freind", "output": "friend"},
    {"instruction": "Write a haiku.", "input": "  \n", "output": "\n\nSnow on the pear tree\nno branch remembers the saw\n"},
    {"instruction": "Übersetze: été 東京 🦊", "input": "x  <y> & \"z\"", "output": "Sommer, Tokio 🦊🔥"},
    {"instruction": "Say nothing.", "input": "", "output": ""},
]
CHATS = [
    [{"role": "user", "content": "Who prunes pear trees?"}, {"role": "assistant", "content": "My grandfather did."}],
    [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": " 2 + 2? "},
     {"role": "assistant", "content": "4"}, {"role": "user", "content": "And\n\n3 + 3?"},
     {"role": "assistant", "content": "  That is 6.\nIs it?  "}],
    [{"role": "user", "content": "東京 été"}, {"role": "assistant", "content": "🦊\n"}],
]
DOCUMENTS = ["The first document has a few words.", "A second one: def f(x): return x ** 2", "été 東京 12345",
             "The last document is a bit longer than the others, so that it goes beyond one block of tokens. " * 4]
LABELLED = [("Sales rose by 5.2 % in 2010.", "positive"), ("The company moved its plant to Russia.", "neutral"),
            ("Profit fell sharply, and the board of the company announced that it would close two plants.", "negative")]

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'"
          " + '\n'}}{% endfor %}")
GENERATION = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"


def with_default(system):
    """A ChatML template with a system message for conversations without one."""
    condition = "{% if loop.first and messages[0]['role'] != 'system' %}"
    front = "{{ '<|im_start|>system\n" + system + "<|im_end|>\n' }}{% endif %}"
    loop = "{% for message in messages %}"
    return CHATML.replace(loop, loop + condition + front) + GENERATION


TEMPLATES = {
    "chatml": CHATML + GENERATION,
    "smollm2": with_default("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    "qwen2": with_default("You are a helpful assistant."),
    "llama3": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' +"
              " message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 =="
              " 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if"
              " add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "llama2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message ="
              " messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{%"
              " endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0)"
              " %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif"
              " %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message +"
              " '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{%"
              " if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif"
              " message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
}
STRIPPED = ("llama2", "llama3")  # templates that strip the messages


def fast(path, bos, eos, more=()):
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_file=str(path), bos_token=bos, eos_token=eos)
    if more:
        tokenizer.add_tokens([tf.AddedToken(text, normalized=False, special=True) for text in more])
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def prompt_of(row):
    task = "Below is an instruction that describes a task"
    request = " Write a response that appropriately completes the request."
    if row["input"].strip():
        return (f"{task}, paired with an input that provides further context.{request}\n\n### Instruction:\n"
                f"{row['instruction']}\n\n### Input:\n{row['input']}\n\n### Response:\n")
    return f"{task}.{request}\n\n### Instruction:\n{row['instruction']}\n\n### Response:\n"


def marked(tokenizer, text, spans, special):
    """Ids of a text, and for each whether it has characters of one of the spans."""
    encoding = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
    overlaps = lambda begin, end: any(max(begin, a) < min(end, b) for a, b in spans)
    return encoding.input_ids, [int(overlaps(*offset)) for offset in encoding.offset_mapping]


def alpaca(tokenizer, row):
    prompt, eos = prompt_of(row), tokenizer.eos_token_id
    text = prompt + row["output"]
    ids, trained = marked(tokenizer, text, [(len(prompt), len(text))], True)
    return ids + [eos], trained + [1]


def alpaca_code(tokenizer, row):
    prompt = tokenizer(prompt_of(row)).input_ids
    answer = tokenizer(row["output"]).input_ids + [tokenizer.eos_token_id]
    return prompt + answer, [0] * len(prompt) + [1] * len(answer)


def chat(tokenizer, name, messages):
    text = tokenizer.apply_chat_template(messages, chat_template=TEMPLATES[name], tokenize=False)
    spans, at = [], 0
    end = {"llama2": " " + (tokenizer.eos_token or ""), "llama3": "<|eot_id|>"}.get(name, "<|im_end|>")
    for message in messages:
        content = message["content"].strip() if name in STRIPPED else message["content"]
        begin = text.index(content, at)
        at = begin + len(content)
        if message["role"] == "assistant":
            assert text[at:].startswith(end)
            at += len(end)
            spans.append((begin, at))
    return marked(tokenizer, text, spans, False)


def packed(tokenizer, documents, length):
    stream = []
    for text in documents:
        stream += tokenizer(text).input_ids + [tokenizer.eos_token_id]
    blocks = [stream[at:at + length] for at in range(0, len(stream), length)]
    return [(ids, [1] * len(ids)) for ids in blocks if len(ids) >= 16]


def targets_of(ids, trained):
    return [ids[i + 1] if i + 1 < len(ids) and trained[i + 1] else -1 for i in range(len(ids))]


def summary(rows, length):
    """Counts and the digest of a whole set. @param rows (ids, trained) or (ids, label)"""
    hashed, kept, truncated = hashlib.sha256(), [], 0
    for ids, own in rows:
        isLabel = isinstance(own, int)
        targets = [] if isLabel else targets_of(ids[:length], own[:length])
        if isLabel or any(target >= 0 for target in targets):
            truncated += len(ids) > length
            kept.append((ids[:length], targets, own if isLabel else -1))
    add = lambda numbers: hashed.update(struct.pack(f"<{len(numbers)}q", *numbers))
    add([len(kept)])
    for ids, targets, label in kept:
        for numbers in ([len(ids)], ids, [len(targets)], targets, [label]):
            add(numbers)
    return {"examples": len(kept), "tokens": sum(len(ids) for ids, _, _ in kept), "truncated": truncated,
            "targets": sum(1 if label >= 0 else sum(t >= 0 for t in targets) for _, targets, label in kept),
            "digest": "sha256:" + hashed.hexdigest()}


def listed(rows):
    return [{"ids": ids, "trained": "".join(map(str, trained))} for ids, trained in rows]


def small():
    plain = fast(HERE / "tokenizers/byte-level/tokenizer.json", "<|begin|>", "<|end|>",
                 ("<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"))
    pieces = fast(HERE / "tokenizers/byte-fallback/tokenizer.json", "<s>", "</s>")
    words = fast(HERE / "tokenizers/word-piece/tokenizer.json", None, None)
    record = {"byte-level": {}, "byte-fallback": {}}
    for name, tokenizer in (("byte-level", plain), ("byte-fallback", pieces)):
        own = record[name]
        own["alpaca"] = listed(alpaca(tokenizer, row) for row in INSTRUCTIONS)
        own["alpaca_code"] = listed(alpaca_code(tokenizer, row) for row in INSTRUCTIONS)
        own["text"] = listed(packed(tokenizer, DOCUMENTS, 40))
    for name in ("chatml", "smollm2", "qwen2", "llama3"):
        record["byte-level"][name] = listed(chat(plain, name, messages) for messages in CHATS)
    record["byte-fallback"]["llama2"] = listed(chat(pieces, "llama2", messages) for messages in CHATS)
    record["word-piece"] = [words(text, truncation=True, max_length=16).input_ids for text, _ in LABELLED]
    return record


def real(data, demo):
    record = {}
    alpaca_rows = json.loads((data / "tasks/alpaca/alpaca_en_demo.json").read_text())
    web = [json.loads(line)["text"] for line in (data / "text/c4/c4_demo.jsonl").read_text().splitlines()]
    phrases = [line.rsplit("@", 1) for line in
               (data / "tasks/financial-phrasebank/Sentences_AllAgree.txt").read_text().split("\n") if line.strip()]
    tokenizers = {"llama3": fast(data / "tokenizers/llama3/tokenizer.json", "<|begin_of_text|>", "<|eot_id|>")}
    if demo:
        tokenizers["demo"] = tf.AutoTokenizer.from_pretrained(str(demo.parent), gguf_file=demo.name)
        # The tokenizer.json that SmolLM2 is published with. The conversion from GGUF leaves out the digits.
        tokenizers["demo"].backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    for name, tokenizer in tokenizers.items():
        record[name] = {"alpaca": summary((alpaca(tokenizer, row) for row in alpaca_rows), 256),
                        "text": summary(packed(tokenizer, web, 512), 512)}
    if demo:
        record["demo"]["chats"] = listed(chat(tokenizers["demo"], "smollm2", messages) for messages in CHATS)
    record["llama3"]["chats"] = listed(chat(tokenizers["llama3"], "llama3", messages) for messages in CHATS)
    words = fast(data / "tokenizers/all-MiniLM-L6-v2/tokenizer.json", None, None)
    classes = sorted({label.strip() for _, label in phrases})
    cut = [(words(text.strip()).input_ids, words(text.strip(), truncation=True, max_length=48).input_ids,
            classes.index(label.strip())) for text, label in phrases]
    record["phrases"] = summary([(short, label) for _, short, label in cut], 48)
    record["phrases"]["truncated"] = sum(len(whole) > 48 for whole, _, _ in cut)
    return record


def mersenne_twister(seed):
    """The numbers of MT19937-64 (Nishimura and Matsumoto, 2004)."""
    mask, state = 2**64 - 1, [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & mask)
    while True:
        for i in range(312):
            x = (state[i] & ~0x7FFFFFFF & mask) | (state[(i + 1) % 312] & 0x7FFFFFFF)
            state[i] = state[(i + 156) % 312] ^ (x >> 1) ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        for x in state:
            x ^= (x >> 29) & 0x5555555555555555
            x ^= (x << 17) & 0x71D67FFFEDA60000
            x ^= (x << 37) & 0xFFF7EEE000000000
            yield x ^ (x >> 43)


def order(count, seed, epoch):
    """The order of an epoch: Fisher-Yates with a seed from two rounds of the finaliser of SplitMix64."""
    def mixed(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)
    numbers, random = list(range(count)), mersenne_twister(mixed((mixed(seed) + epoch + 1) % 2**64))
    for i in range(count - 1):
        j = i + next(random) % (count - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers


def main(data, demo):
    old = json.loads(FILE.read_text()) if FILE.exists() else {}
    record = {"instructions": INSTRUCTIONS, "chats": CHATS, "documents": DOCUMENTS, "labelled": LABELLED,
              "templates": TEMPLATES, "small": small(), "real": old.get("real", {}),
              "orders": [{"count": count, "seed": seed, "epoch": epoch, "order": order(count, seed, epoch)}
                         for count, seed, epoch in ((1, 0, 0), (10, 0, 0), (10, 0, 1), (40, 2**64 - 1, 3), (400, 7, 2))]}
    if data:
        record["real"].update(real(data, demo))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    paths = [pathlib.Path(argument).expanduser() for argument in sys.argv[1:]]
    main(paths[0] if paths else None, paths[1] if len(paths) > 1 else None)
