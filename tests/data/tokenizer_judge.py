"""Writes the ids that the original tokenizer libraries give for random strings. compare_tokenizer reads the output.

    tokenizer_judge.py TOKENIZER OUT [--count N] [--seed N] [--as json|sentencepiece|smollm|gemma|gpt2|qwen2] [--plain]

TOKENIZER is a tokenizer.json, a SentencePiece model, a GGUF file with the tokenizer of SmolLM or Gemma, or a folder
with vocab.json and merges.txt. The strings have characters of every general category of Unicode, emoji sequences,
stacked combining marks, control characters, invalid bytes, source code, twenty languages, and the tokenizer's special
tokens. Needs tokenizers, and for the other kinds sentencepiece or gguf. OUT has for each string its bytes, ids, byte
ranges (none if it is not valid UTF-8) and decoded text.
"""

import argparse
import random
import struct
import unicodedata

LANGUAGES = [
    "The quick brown fox jumps over the lazy dog; it's what they've said they'd do, isn't it? We'll see.",
    "Der schnelle braune Fuchs springt über den faulen Hund, während Größe und Maß stimmen.",
    "Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë au delà des îles.",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío; ¿añoraba a su querido cachorro?",
    "Um pequeno jabuti xereta viu dez cegonhas felizes. Não há ação sem reação.",
    "Pchnąć w tę łódź jeża lub ośm skrzyń fig. Zażółć gęślą jaźń.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul'da IŞIK ılık.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Чуєш їх, доцю, га? Кумедна ж ти, прощайся без ґольфів!",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ο ΟΔΥΣΣΕΥΣ.",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם",
    "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت. الأرقام ١٢٣٤٥",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश। १२३",
    "আমি বাংলায় গান গাই। আমি বাংলার গান গাই।",
    "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது எங்கும் காணோம்",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "いろはにほへと ちりぬるを。東京タワーで１２３円のｶﾌｪｵﾚを飲む。",
    "我能吞下玻璃而不伤身体。繁體中文：我們在臺灣，㐀㐁𠀀𠀁。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. 각각",
    "Tôi có thể ăn thủy tinh mà không hại gì. Đường phố Hà Nội.",
    "ყველა ადამიანი იბადება თავისუფალი. Բոլոր մարդիկ ծնվում են ազատ. ሰው ሁሉ ነጻ",
]

CODE = [
    "def f(x: int) -> str:\n    return f\"{x!r:>10}\"  # noqa\n\n\nclass A(B):\n\tpass\n",
    "for (int i = 0; i < 100; ++i) {\n    std::cout << v[i] << '\\n';\n}\r\n",
    "<div class=\"a b\" id='x'>&nbsp;</div><!-- TODO -->\n<br/>",
    "SELECT * FROM t WHERE a >= 3.14e-10 AND b != 'it''s';",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\\u00e9\": \"\\\\\"}}",
    "#!/bin/bash\nset -euo pipefail\nx=$(ls -la | grep '^d' | awk '{print $9}')\n\n\n\n        indented\n",
    "fn main() { let v: Vec<_> = (0..10).map(|x| x * x).collect(); println!(\"{:?}\", v); }",
    "I'M can'T we'RE they'Ve he'D she'LL 'S 'ſ it'ſ 's't'd''re",
]

EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵🇺🇸", "1️⃣", "❤️", "🧑🏿‍🚀", "👩‍❤️‍💋‍👨", "☃️", "©️", "™", "🫠", "🪿", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"]


def by_category():
    categories = {}
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue
        categories.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    return list(categories.values())


class Strings:
    def __init__(self, seed, specials):
        self.random = random.Random(seed)
        self.categories = by_category()
        self.marks = [c for c in map(chr, range(0x110000)) if not 0xD800 <= ord(c) <= 0xDFFF
                      and unicodedata.category(c).startswith("M")]
        self.specials = specials
        self.kinds = [self.any_category, self.any_category, self.emoji, self.stacked, self.control, self.invalid,
                      self.code, self.language, self.language, self.blanks, self.ascii, self.special, self.mixed]

    def length(self, most):
        return self.random.randint(0, self.random.choice([3, most // 3, most]))

    def any_category(self):
        pick = self.random
        return "".join(pick.choice(pick.choice(self.categories)) for _ in range(self.length(30)))

    def emoji(self):
        pick = self.random
        return "".join(pick.choice(EMOJI + [" ", "a", "\u200d", "\ufe0f"]) for _ in range(self.length(12)))

    def stacked(self):
        pick = self.random
        text = ""
        for _ in range(self.length(8)):
            text += pick.choice("aeiouAEIOU \u1100\u1161\u0915ıſﬁ각") if pick.random() < .7 else pick.choice(pick.choice(self.categories))
            text += "".join(pick.choice(self.marks) for _ in range(pick.randint(0, 4)))
        if pick.random() < .3:
            text = unicodedata.normalize(pick.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)
        return text

    def control(self):
        pick = self.random
        return "".join(chr(pick.randint(0, 0x9f)) if pick.random() < .6 else pick.choice("ab 1\u200b\u2028\ufeff\ufffd\u00ad\u202e") for _ in range(self.length(20)))

    def invalid(self):
        pick = self.random
        text = self.mixed().encode() if pick.random() < .5 else b"ab c"
        where = pick.randint(0, len(text))
        return text[:where] + bytes(pick.randint(0, 255) for _ in range(self.length(12))) + text[where:]

    def slice(self, text, most):
        begin = self.random.randint(0, len(text))
        return text[begin:begin + self.length(most)]

    def code(self):
        return self.slice(self.random.choice(CODE), 80)

    def language(self):
        return self.slice(self.random.choice(LANGUAGES), 80)

    def blanks(self):
        pick = self.random
        return "".join(pick.choice([" ", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003", "\u1680", "\u180e", "\x85", "\r", "\x0b", "▁", "a", "7", ".", "Ä"]) for _ in range(self.length(20)))

    def ascii(self):
        pick = self.random
        return "".join(chr(pick.randint(32, 126)) for _ in range(self.length(50)))

    def special(self):
        pick = self.random
        parts = (self.specials or ["<s>"]) + [" ", "a", " b", "▁", "\n", "  ", "<", ">", "[", "|"]
        text = "".join(pick.choice(parts) for _ in range(self.length(9)))
        return text if pick.random() < .8 else text[1:]

    def mixed(self):
        pick = self.random
        simple = [self.any_category, self.emoji, self.stacked, self.code, self.language, self.blanks, self.ascii]
        return "".join(pick.choice(simple)() for _ in range(pick.randint(2, 5)))

    def __iter__(self):
        # First strings that tokenizers often get wrong, then random ones.
        yield from ["", " ", "  ", "\n", "a", " a", "a ", "\0", "▁", "▁▁a", "Hello world", "\ufffd"]
        yield from LANGUAGES + CODE + EMOJI
        while True:
            yield self.random.choice(self.kinds)()


class HuggingFace:
    def __init__(self, tokenizer, plain):
        self.tokenizer = tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = plain
        self.specials = [t.content for t in tokenizer.get_added_tokens_decoder().values()][:64]

    def encode(self, text):
        encoding = self.tokenizer.encode(text)
        return encoding.ids, encoding.offsets, self.tokenizer.decode(encoding.ids, skip_special_tokens=False)


class SentencePiece:
    def __init__(self, path):
        import sentencepiece
        self.model = sentencepiece.SentencePieceProcessor(model_file=path)
        self.specials = []

    def encode(self, text):
        ids = self.model.encode(text)
        return ids, [], self.model.decode(ids)


class Gguf:
    """The tokenizer's fields in the metadata of a GGUF file."""

    def __init__(self, path):
        import gguf
        self.fields = gguf.GGUFReader(path).fields
        self.tokens = self.texts("tokenizer.ggml.tokens")
        self.kinds = self.numbers("tokenizer.ggml.token_type")

    def texts(self, name):
        return [bytes(self.fields[name].parts[i]).decode() for i in self.fields[name].data]

    def numbers(self, name):
        return [self.fields[name].parts[i][0].item() for i in self.fields[name].data]

    def added(self, *kinds):
        import tokenizers
        return [tokenizers.AddedToken(t, normalized=False) for t, kind in zip(self.tokens, self.kinds) if kind in kinds]


def smollm(path):
    """The published tokenizer of SmolLM2, rebuilt from the metadata of a GGUF file."""
    import tokenizers
    file = Gguf(path)
    merges = [tuple(m.split(" ")) for m in file.texts("tokenizer.ggml.merges")]
    made = tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(file.tokens)}, merges))
    pre = tokenizers.pre_tokenizers
    made.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(file.added(3))
    return made


def gemma(path):
    """The tokenizer of Gemma, converted from SentencePiece BPE as the original library does: merges in the order of
    scores, blanks replaced by "▁", and no blank added at the beginning.
    """
    import tokenizers
    file = Gguf(path)
    vocab = {t: i for i, t in enumerate(file.tokens)}
    scores = file.numbers("tokenizer.ggml.scores")
    merges = []
    for token, score, kind in zip(file.tokens, scores, file.kinds):
        if kind not in (1, 4):
            continue
        cuts = [(token[:i], token[i:], score) for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
        merges.extend(sorted(cuts, key=lambda cut: (vocab[cut[0]], vocab[cut[1]])))
    merges = [(left, right) for left, right, _ in sorted(merges, key=lambda merge: -merge[2])]
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = tokenizers.normalizers.Replace(" ", "▁")
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(" ", "merged_with_previous")
    made.post_processor = tokenizers.processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)])
    decoders = tokenizers.decoders
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(file.added(2, 3))
    made.add_tokens(file.added(4))
    return made


def gpt2(folder):
    """The tokenizer of GPT-2, from vocab.json and merges.txt."""
    import tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(f"{folder}/vocab.json", f"{folder}/merges.txt"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens([tokenizers.AddedToken("<|endoftext|>", normalized=False)])
    return made


def qwen2(folder):
    """The tokenizer of Qwen2 from vocab.json and merges.txt, with the special tokens of the chat models."""
    import tokenizers
    pre = tokenizers.pre_tokenizers
    made = gpt2(folder)
    made.normalizer = tokenizers.normalizers.NFC()
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    made.pre_tokenizer = pre.Sequence([pre.Split(tokenizers.Regex(pattern), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.add_special_tokens([tokenizers.AddedToken(t, normalized=False) for t in ["<|im_start|>", "<|im_end|>"]])
    return made


def from_file(path):
    """Reads a tokenizer.json. A merge that contains three blanks is ambiguous and refused by the tokenizers library;
    the vocabulary shows where to split it.
    """
    import json
    import tokenizers
    try:
        return tokenizers.Tokenizer.from_file(path)
    except Exception:
        document = json.load(open(path))
        vocab = document["model"]["vocab"]
        halves = lambda m: next([m[:i], m[i + 1:]] for i, c in enumerate(m) if c == " " and m[:i] in vocab and m[i + 1:] in vocab)
        document["model"]["merges"] = [halves(m) for m in document["model"]["merges"]]
        return tokenizers.Tokenizer.from_str(json.dumps(document))


def byte_ranges(text, offsets):
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    return [(starts[begin], starts[end]) for begin, end in offsets]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenizer")
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--as", dest="kind", default="json")
    parser.add_argument("--plain", action="store_true", help="special text is plain text")
    given = parser.parse_args()
    if given.kind == "sentencepiece":
        judge = SentencePiece(given.tokenizer)
    else:
        makers = {"json": from_file, "smollm": smollm, "gemma": gemma, "gpt2": gpt2, "qwen2": qwen2}
        judge = HuggingFace(makers[given.kind](given.tokenizer), given.plain)
    strings = iter(Strings(given.seed, judge.specials))
    with open(given.out, "wb") as out:
        number = lambda value: out.write(struct.pack("<I", value))
        bytes_of = lambda data: (number(len(data)), out.write(data))
        out.write(b"TOKCASES")
        number(given.count)
        for _ in range(given.count):
            drawn = next(strings)
            data = drawn if isinstance(drawn, bytes) else drawn.encode()
            text = data.decode(errors="replace")
            ids, offsets, decoded = judge.encode(text)
            bytes_of(data)
            number(len(ids))
            out.write(struct.pack(f"<{len(ids)}I", *ids))
            ranges = byte_ranges(text, offsets) if text.encode() == data else []
            number(len(ranges))
            for begin, end in ranges:
                out.write(struct.pack("<II", begin, end))
            bytes_of(decoded.encode())


if __name__ == "__main__":
    main()
