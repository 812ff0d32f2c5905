"""The structure of a model: the counts that a mask must match, for example 30x9/3x64+1536."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from .errors import Error

MOST_LAYERS = 100_000
MOST_PARTS = 100_000_000  # heads and neurons together; a structure may come from an untrusted file

_RUN = re.compile(r"(\d{1,9})x(\d{1,9})/(\d{1,9})x(\d{1,9})\+(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class LayerShape:
    """The counts of a layer. Without KV heads it has no attention, or linear attention if it still has heads."""

    heads: int
    kv_heads: int
    head_dim: int
    neurons: int

    @property
    def heads_per_group(self) -> int:
        """Query heads that share one key head and value head."""
        return self.heads // self.kv_heads if self.kv_heads else 0


def parse_structure(text: str) -> list[LayerShape]:
    """The shapes of all layers: runs of layers x heads / KV heads x head size + MLP width, joined by commas."""
    shapes: list[LayerShape] = []
    parts = 0
    for run in text.split(","):
        found = _RUN.fullmatch(run)
        count, *sizes = map(int, found.groups()) if found else (0, 0, 0, 0, 0)
        shape = LayerShape(*sizes)
        if not found or (shape.kv_heads and shape.heads % shape.kv_heads):
            raise Error(f'"{text}" is not a structure such as 30x9/3x64+1536')
        parts += count * (shape.heads + shape.neurons + 1)
        if len(shapes) + count > MOST_LAYERS or parts > MOST_PARTS:
            raise Error(f'"{text}" has more layers, heads or neurons than any model')
        shapes += [shape] * count
    return shapes


def structure_text(shapes: list[LayerShape]) -> str:
    """The structure as masks and sessions state it."""
    runs = [(shape, len(list(same))) for shape, same in itertools.groupby(shapes)]
    return ",".join(f"{count}x{one.heads}/{one.kv_heads}x{one.head_dim}+{one.neurons}" for one, count in runs)
