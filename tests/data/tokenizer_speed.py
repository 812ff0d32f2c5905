"""Measures the speed of the tokenizers library on one core, for comparison with benchmark_tokenize.

    python tokenizer_speed.py TOKENIZER.JSON TEXT...
"""

import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizer_judge import from_file  # noqa: E402


def fastest(work):
    best = 1e9
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    path, *texts = sys.argv[1:]
    print(path)
    print(f"  opened in {fastest(lambda: from_file(path)):.3f} s")
    tokenizer = from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for name in texts:
        text = open(name, encoding="utf-8", errors="replace", newline="").read()
        size = len(text.encode()) / 1e6
        lines = text.splitlines(keepends=True)
        whole = fastest(lambda: tokenizer.encode(text))
        apart = fastest(lambda: [tokenizer.encode(line) for line in lines])
        print(f"  {size:.2f} MB: {size / whole:.1f} MB/s whole, {size / apart:.1f} MB/s by lines")


main()
