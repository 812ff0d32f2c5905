"""Masks to and from the forms of other programs: kept and pruned heads of each layer, head masks, dropped layers.

`like` gives the structure of a new mask: another mask, or an open model of transformers. A new mask keeps everything
else.
"""

from __future__ import annotations

import numpy as np

from .errors import Error
from .mask import DROP, Mask


def to_kept_heads(mask: Mask) -> list[list[int]]:
    """The kept heads of each layer; none of a dropped sublayer or block. This form does not say that a dropped sublayer
    has no output bias, and has no bypass of queries and keys.
    """
    return [np.flatnonzero(kept).tolist() for kept in _kept(mask)]


def to_kept_kv_groups(mask: Mask) -> list[list[int]]:
    """The KV groups of each layer of which some head is kept."""
    return [sorted({head // shape.heads_per_group for head in heads}) if shape.kv_heads else []
            for heads, shape in zip(to_kept_heads(mask), mask.shapes)]


def from_kept_heads(kept, like) -> Mask:
    """A mask from the kept heads of each layer: a list of lists, or a dictionary {layer: heads}. Layers that are not in
    the dictionary keep all heads. A layer without kept heads keeps the bias of its output projection.
    """
    mask = empty_like(like)
    layers = dict(kept) if isinstance(kept, dict) else dict(enumerate(kept))
    if not isinstance(kept, dict) and len(layers) != len(mask.layers):
        raise Error(f"expected lists for {len(mask.layers)} layers, found {len(layers)}")
    for layer, heads in layers.items():
        _check_layer(mask, layer)
        heads = {_index(head) for head in heads}
        count = len(mask.layers[layer].heads)
        if wrong := heads - set(range(count)):
            raise Error(f"layer {layer}: names head {min(wrong)}, but the layer has {count}")
        mask.cut_heads(layer, set(range(count)) - heads)
    return mask


def to_pruned_heads(mask: Mask) -> dict[int, list[int]]:
    """The cut heads as `prune_heads` and `pruned_heads` of transformers 4 have them: {layer: heads}."""
    cut = {layer: np.flatnonzero(~kept).tolist() for layer, kept in enumerate(_kept(mask))}
    return {layer: heads for layer, heads in cut.items() if heads}


def from_pruned_heads(pruned: dict, like) -> Mask:
    """A mask from {layer: cut heads}; keys may be texts, as in a configuration."""
    mask = empty_like(like)
    for layer, heads in pruned.items():
        _check_layer(mask, int(layer))
        mask.cut_heads(int(layer), [_index(head) for head in heads])
    return mask


def to_head_mask(mask: Mask) -> np.ndarray:
    """float32 [layers, heads], 1 = kept: the argument `head_mask` of transformers 4, after `torch.from_numpy`."""
    kept = _kept(mask)
    if len({len(heads) for heads in kept}) > 1:
        raise Error("the layers differ in heads, so there is no head mask")
    return np.array(kept, np.float32)


def from_head_mask(head_mask, like) -> Mask:
    """A mask from an array or tensor [layers, heads] of 0 and 1, or of booleans; True and 1 = kept."""
    mask = empty_like(like)
    values = np.asarray(head_mask.detach().cpu() if hasattr(head_mask, "detach") else head_mask)
    values = values.reshape(values.shape[0], -1)  # transformers also has [layers, 1, heads, 1, 1]
    if values.shape[0] != len(mask.layers):
        raise Error(f"expected {len(mask.layers)} layers, found {values.shape[0]}")
    if not np.isin(values, (0, 1)).all():
        raise Error("has values other than 0 and 1")
    for layer, row in enumerate(values):
        if len(row) != len(mask.layers[layer].heads):
            raise Error(f"layer {layer}: expected {len(mask.layers[layer].heads)} heads, found {len(row)}")
        mask.cut_heads(layer, np.flatnonzero(row == 0).tolist())
    return mask


def to_dropped(mask: Mask) -> dict[str, list[int]]:
    """The layers that drop a part: {"attention": layers, "mlp": layers, "block": layers}."""
    layers = list(enumerate(mask.canonical().layers))
    return {"attention": [index for index, layer in layers if layer.attention == DROP],
            "mlp": [index for index, layer in layers if not layer.mlp],
            "block": [index for index, layer in layers if not layer.block]}


def from_dropped(like, attention=(), mlp=(), block=()) -> Mask:
    """A mask that drops sublayers and blocks of the listed layers."""
    mask = empty_like(like)
    for layer in attention:
        mask.drop_attention(_index(layer))
    for layer in mlp:
        mask.drop_mlp(_index(layer))
    for layer in block:
        mask.drop_block(_index(layer))
    return mask


def empty_like(like) -> Mask:
    """A mask that cuts nothing, for models of the same structure. like: a mask, or a model of transformers."""
    if not isinstance(like, Mask):
        return Mask.of_model(like)
    return Mask.dense(like.architecture, like.structure, model_name=like.model_name, fingerprint=like.fingerprint,
                      tied_groups=[list(group) for group in like.tied_groups])


def _kept(mask: Mask) -> list[np.ndarray]:
    return [np.zeros_like(layer.heads) if not layer.block or layer.attention == DROP else layer.heads
            for layer in mask.canonical().layers]


def _check_layer(mask: Mask, layer: int) -> None:
    if not 0 <= layer < len(mask.layers):
        raise Error(f"the model has the layers 0 to {len(mask.layers) - 1}, not {layer}")


def _index(value) -> int:
    if int(value) != value:
        raise Error(f"{value} is not an index")
    return int(value)
