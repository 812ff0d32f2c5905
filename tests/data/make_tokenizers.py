"""Writes tests/data/tokenizers: small tokenizers of each kind, trained with the original libraries, and the ids that
these libraries give for random strings. Needs tokenizers and sentencepiece.
"""

import json
import os
import random

import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_judge import CODE, LANGUAGES, HuggingFace, SentencePiece, Strings, byte_ranges

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
CASES = 160
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def texts():
    pick = random.Random(3)
    return [pick.choice(LANGUAGES[:6] + CODE) for _ in range(400)]


def template(tokenizer, front, end):
    special = [(t, tokenizer.token_to_id(t)) for t in {front, end} if t]
    around = lambda text, kind: " ".join(([f"{front}:{kind}"] if front else []) + [f"${text}:{kind}"] + ([f"{end}:{kind}"] if end else []))
    return processors.TemplateProcessing(single=around("A", 0), pair=around("A", 0) + " " + around("B", 1), special_tokens=special)


def byte_level():
    made = tokenizers.Tokenizer(models.BPE(ignore_merges=True))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|begin|>", "<|end|>"], show_progress=False))
    made.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("word", single_word=True), AddedToken("<mask>", lstrip=True, rstrip=True)])
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template(made, "<|begin|>", None)])
    return made


def digits_byte_level():
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"], show_progress=False))
    return made


def byte_fallback():
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    words = [" ".join(text.split()[begin:begin + 3]) for text in texts() for begin in range(0, len(text.split()), 3)]
    made.train_from_iterator(words, trainers.BpeTrainer(vocab_size=620, special_tokens=special, show_progress=False))
    document = json.loads(made.to_str())
    document["added_tokens"] = [t for t in document["added_tokens"] if not t["content"].startswith("<0x")]
    made = tokenizers.Tokenizer.from_str(json.dumps(document))
    made.post_processor = template(made, "<s>", None)
    return made


def word_piece():
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(LANGUAGES + CODE, trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    made.post_processor = template(made, "[CLS]", "[SEP]")
    return made


def unigram():
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.train_from_iterator(texts(), trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", special_tokens=["<unk>", "[CLS]", "[SEP]"], show_progress=False))
    made.post_processor = template(made, "[CLS]", "[SEP]")
    return made


def sentence_piece(folder, kind, **options):
    os.chdir(folder)  # the trained model stores the paths of its input, so these must be relative
    with open("text", "w") as file:
        file.write("\n".join(line for text in texts() for line in text.splitlines() if line))
    sentencepiece.SentencePieceTrainer.train(input="text", model_prefix="tokenizer", model_type=kind, minloglevel=2, **options)
    os.remove("text")
    os.remove("tokenizer.vocab")
    return SentencePiece("tokenizer.model")


def write_cases(folder, judge, special):
    strings = iter(Strings(11, judge.specials))
    cases = []
    while len(cases) < CASES:
        drawn = next(strings)
        data = drawn if isinstance(drawn, bytes) else drawn.encode()
        if len(data) > 120:
            continue
        text = data.decode(errors="replace")
        ids, offsets, decoded = judge.encode(text)
        case = {"bytes": data.hex(), "ids": ids}
        if special:  # otherwise the libraries decode unknown tokens in different ways
            case["decoded"] = decoded
        cases.append(case)
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump({"special": special, "cases": cases}, file, separators=(",", ":"))


def main():
    for name, make in {"byte-level": byte_level, "digits": digits_byte_level, "byte-fallback": byte_fallback, "word-piece": word_piece, "unigram": unigram}.items():
        folder = os.path.join(HERE, name)
        os.makedirs(folder, exist_ok=True)
        made = make()
        made.save(os.path.join(folder, "tokenizer.json"), pretty=False)
        write_cases(folder, HuggingFace(made, False), True)
    for name, options in {
        "sentencepiece-bpe": dict(kind="bpe", vocab_size=500, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, user_defined_symbols=["<sep>", "▁▁"]),
        "sentencepiece-unigram": dict(kind="unigram", vocab_size=230, normalization_rule_name="identity", user_defined_symbols=["<sep>"]),
    }.items():
        folder = os.path.join(HERE, name)
        os.makedirs(folder, exist_ok=True)
        write_cases(folder, sentence_piece(folder, **options), False)


if __name__ == "__main__":
    main()
