#!/usr/bin/env python3
"""Writes the tokens that other programs find in texts with a converted tokenizer. compare_tokenizer reads the output.

    converted_tokenizer_judge.py transformers FOLDER OUT TEXT...     AutoTokenizer on a folder of convert_tokenizer
    converted_tokenizer_judge.py llama.cpp FILE.gguf OUT TEXT...     llama.cpp on a GGUF file

TEXT... are UTF-8 files, of which the first 30,000 characters are used, in parts of 2,000 characters, and as a whole.
Adds a text with characters of all of Unicode. Needs transformers, or llama-cpp-python, whose decoded texts are not
compared. Compare with the tokenizer that was converted: compare_tokenizer TOKENIZER OUT --plain.
"""

import struct
import sys


def odd_text():
    words = [" word", "  12345 ", "été", "\n\n", "I'LL don't", "\t", " 東京", "e\u0301", "🦊\u200d🔥", " ...  ", "\u00a0", "\r\n"]
    text, code = [], 0x20
    while code < 0x2FA20:
        if not 0xD800 <= code < 0xE000:
            text.append(chr(code))
            if len(text) % 5 == 0:
                text.append(words[len(text) // 5 % len(words)])
        code += 7 if code < 0x3000 else 97
    return "".join(text)


def pieces(paths):
    texts = [open(path, encoding="utf-8", newline="").read()[:30_000] for path in paths] + [odd_text()]
    for text in texts:
        yield text
        for begin in range(0, len(text), 2000):
            yield text[begin:begin + 2000]


def with_transformers(folder):
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    print(type(tokenizer).__name__, len(tokenizer), "tokens, transformers", transformers.__version__)
    return (lambda text: tokenizer(text)["input_ids"]), (lambda ids: tokenizer.decode(ids).encode())


def with_llama_cpp(path):
    import llama_cpp
    model = llama_cpp.Llama(model_path=path, vocab_only=True, verbose=False)
    return (lambda text: model.tokenize(text.encode(), add_bos=True, special=False)), (lambda ids: b"")


def main():
    program, converted, out, *paths = sys.argv[1:]
    encode, decode = (with_transformers if program == "transformers" else with_llama_cpp)(converted)
    with open(out, "wb") as file:
        texts = list(pieces(paths))
        file.write(b"TOKCASES" + struct.pack("<I", len(texts)))
        for text in texts:
            ids = list(encode(text))
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
            file.write(struct.pack(f"<I{len(ids)}I", len(ids), *ids))
            file.write(struct.pack("<I", 0))  # no ranges
            decoded = decode(ids)
            file.write(struct.pack("<I", len(decoded)) + decoded)


if __name__ == "__main__":
    main()
