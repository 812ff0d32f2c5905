"""Masks as values: what is kept of a model, and what is cut from it."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field, replace

import numpy as np

from .compensation import check_compensation, compensation_bytes, digest_of_bytes, effect_of
from .errors import Error
from .structure import LayerShape, parse_structure

KEEP, DROP, BYPASS = "keep", "drop", "bypass_qk"
MOST_ALPHA = 2.0
_CODES = {KEEP: 0, DROP: 1, BYPASS: 2}


@dataclass(eq=False)
class LayerMask:
    """The mask of one layer."""

    heads: np.ndarray  # bool [heads], True = kept
    neurons: np.ndarray  # bool [neurons], True = kept
    attention: str = KEEP  # "keep", "drop" (adds nothing, not even its bias), "bypass_qk" (tokens see themselves only)
    alpha: float = 1.0  # factor of the attention update under bypass_qk; 1 otherwise
    mlp: bool = True  # False = the sublayer adds nothing
    block: bool = True  # False = the residual stream passes the layer unchanged
    compensation: dict[str, np.ndarray] = field(default_factory=dict)  # secateur/compensation.py

    @property
    def has_cuts(self) -> bool:
        """Whether any unit is cut or the attention is bypassed."""
        return not (self.block and self.mlp and self.attention == KEEP and self.heads.all() and self.neurons.all())

    @property
    def keeps_all(self) -> bool:
        """Whether the layer runs as in the dense model."""
        return not self.has_cuts and not self.compensation

    @property
    def drops_attention(self) -> bool:
        """Whether attention adds nothing to the residual stream. A bypass with alpha 0 is a drop."""
        return not self.block or self.attention == DROP or (self.attention == BYPASS and self.alpha == 0)

    @property
    def drops_mlp(self) -> bool:
        return not self.block or not self.mlp

    def copy(self) -> LayerMask:
        return replace(self, heads=self.heads.copy(), neurons=self.neurons.copy(), compensation=dict(self.compensation))

    def canonical(self, shape: LayerShape) -> LayerMask:
        """The only form of all masks with the same effect: units of a dropped sublayer or block count as kept."""
        own = self.copy()
        if not own.block:
            own.attention, own.mlp = KEEP, True
        if not own.block or own.attention == DROP:
            own.heads[:] = True
        if not own.block or not own.mlp:
            own.neurons[:] = True
        own.alpha = float(own.alpha) + 0.0 if own.attention == BYPASS else 1.0  # + 0 turns -0 into 0
        own.compensation = effect_of(own.compensation, own.heads, shape.head_dim if shape.kv_heads else 0, own.neurons,
                                     not own.drops_attention, not own.drops_mlp)
        return own

    def check(self, shape: LayerShape, place: str) -> None:
        """Raises Error if the counts are not those of the layer, or a value is not allowed."""
        for marks, expected, what in ((self.heads, shape.heads, "heads"), (self.neurons, shape.neurons, "neurons")):
            if np.asarray(marks).dtype != bool or np.shape(marks) != (expected,):
                raise Error(f"{place}: expected {expected} booleans for {what}")
        if self.attention not in _CODES:
            raise Error(f'{place}: attention is "{self.attention}", expected one of {", ".join(_CODES)}')
        if not 0 <= self.alpha <= MOST_ALPHA:
            raise Error(f"{place}: alpha is {self.alpha}, expected a number from 0 to 2")
        if self.attention == BYPASS and not shape.heads:
            raise Error(f"{place}: has no heads, so there are no queries and keys to bypass")
        check_compensation(self.compensation, shape, None, f"{place}: compensation")


@dataclass(eq=False)
class Mask:
    """What is cut from a model. It fits models of one structure; `digest()` tells whether two masks are equal."""

    architecture: str
    structure: str
    layers: list[LayerMask]
    name: str | None = None  # in a session
    model_name: str | None = None
    fingerprint: str | None = None  # of the checkpoint that it was made for; None = not known
    note: str = ""
    provenance: dict | None = None
    tied_groups: list[list[int]] = field(default_factory=list)  # layers that share their weights (ALBERT)

    @classmethod
    def dense(cls, architecture: str, structure: str, **more) -> Mask:
        """A mask that cuts nothing, for models of a structure."""
        layers = [LayerMask(np.ones(shape.heads, bool), np.ones(shape.neurons, bool))
                  for shape in parse_structure(structure)]
        return cls(architecture, structure, layers, **more)

    @classmethod
    def of_model(cls, model) -> Mask:
        """A mask that cuts nothing, for an open model of transformers."""
        from .families import masked_parts

        return masked_parts(model).dense_mask()

    @property
    def shapes(self) -> list[LayerShape]:
        return parse_structure(self.structure)

    def copy(self) -> Mask:
        return replace(self, layers=[layer.copy() for layer in self.layers],
                       tied_groups=[list(group) for group in self.tied_groups])

    # --- edits: they return the mask, so that they can be chained ---

    def cut_heads(self, layer: int, heads) -> Mask:
        return self._edit(layer, lambda own: self._cut(own.heads, heads, layer, "head"))

    def cut_neurons(self, layer: int, neurons) -> Mask:
        return self._edit(layer, lambda own: self._cut(own.neurons, neurons, layer, "neuron"))

    def drop_attention(self, layer: int) -> Mask:
        return self._edit(layer, lambda own: setattr(own, "attention", DROP))

    def bypass(self, layer: int, alpha: float = 1.0) -> Mask:
        """Each token attends to itself only; alpha multiplies the attention update (HARP)."""
        def change(own):
            own.attention, own.alpha = BYPASS, float(alpha)
        return self._edit(layer, change)

    def drop_mlp(self, layer: int) -> Mask:
        return self._edit(layer, lambda own: setattr(own, "mlp", False))

    def drop_block(self, layer: int) -> Mask:
        return self._edit(layer, lambda own: setattr(own, "block", False))

    def _edit(self, index: int, change) -> Mask:
        if not 0 <= index < len(self.layers):
            raise Error(f"the model has the layers 0 to {len(self.layers) - 1}, not {index}")
        for tied in self.tied_to(index):
            change(self.layers[tied])
        return self

    @staticmethod
    def _cut(marks: np.ndarray, units, layer: int, one: str) -> None:
        for unit in units:
            if not 0 <= unit < len(marks):
                raise Error(f"layer {layer}: names {one} {unit}, but the layer has {len(marks)}")
            marks[unit] = False

    # --- what it cuts ---

    def tied_to(self, index: int) -> list[int]:
        """The layers that share the weights of a layer; in most models only the layer itself."""
        return next((group for group in self.tied_groups if index in group), [index])

    def tied(self, groups: list[list[int]]) -> Mask:
        """A copy in which a cut of one layer is a cut of all layers of its group. Raises Error if two layers of a group
        have different cuts.
        """
        mask = replace(self.canonical(), tied_groups=[list(group) for group in groups])
        for group in groups:
            changed = [index for index in group if not mask.layers[index].keeps_all]
            for index in changed[1:]:
                if _bytes_of(mask.layers[index]) != _bytes_of(mask.layers[changed[0]]):
                    raise Error(f"layer {index} is cut differently from layer {changed[0]}, which has the same weights")
            for index in group if changed else []:
                mask.layers[index] = mask.layers[changed[0]].copy()
        return mask

    def check(self) -> None:
        """Raises Error if a layer does not fit the structure of the mask."""
        if len(self.layers) != len(self.shapes):
            raise Error(f"the mask has {len(self.layers)} layers, but the structure {self.structure} has "
                        f"{len(self.shapes)}")
        for index, (layer, shape) in enumerate(zip(self.layers, self.shapes)):
            layer.check(shape, f"layer {index}")

    def canonical(self) -> Mask:
        """A checked copy in which units of dropped sublayers and blocks count as kept."""
        self.check()
        return replace(self, layers=[layer.canonical(shape) for layer, shape in zip(self.layers, self.shapes)])

    @property
    def keeps_all(self) -> bool:
        return all(layer.keeps_all for layer in self.canonical().layers)

    def compensations(self) -> dict[int, dict[str, np.ndarray]]:
        """The compensations of the layers that have one. Of tied layers only the first is named."""
        return {index: layer.compensation for index, layer in enumerate(self.canonical().layers)
                if layer.compensation and self.tied_to(index)[0] == index}

    def counts(self) -> dict[str, int]:
        """Numbers of cuts, as a mask file lists them: without heads and neurons of dropped sublayers and blocks."""
        layers = self.canonical().layers
        return {"heads": sum(int((~layer.heads).sum()) for layer in layers),
                "neurons": sum(int((~layer.neurons).sum()) for layer in layers),
                "attention": sum(layer.attention == DROP for layer in layers),
                "bypassed": sum(layer.attention == BYPASS for layer in layers),
                "mlp": sum(not layer.mlp for layer in layers),
                "blocks": sum(not layer.block for layer in layers)}

    def digest(self) -> str:
        """The digest that sessions and --json state: "dense" for a mask that cuts and compensates nothing. Of ALBERT,
        `tied_groups` must be known, as in masks of a model or a session.
        """
        mask = self.canonical()
        if mask.keeps_all:
            return "dense"
        data = _text(mask.architecture) + _text(mask.structure)
        for index, layer in enumerate(mask.layers):
            if layer.has_cuts:
                data += struct.pack("<q", index) + _cuts(layer)
        if compensations := mask.compensations():
            data += _text("compensation") + _text(digest_of_bytes(compensation_bytes(compensations)))
        return "sha256:" + hashlib.sha256(data).hexdigest()

    # --- files ---

    def to_json(self) -> str:
        """The text of a mask file. A mask with a compensation needs a second file: `write()`."""
        from .mask_file import mask_json

        return mask_json(self)

    def write(self, path, force: bool = False) -> None:
        """Writes the mask, and its compensation beside it, as `NAME.mask.json`. See `write_mask()`."""
        from .mask_file import write_mask

        write_mask(path, self, force)


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _numbers(kept: np.ndarray) -> bytes:
    cut = np.flatnonzero(~kept).astype("<i8")
    return struct.pack("<q", len(cut)) + cut.tobytes()


def _cuts(layer: LayerMask) -> bytes:
    return (struct.pack("<qqdq", not layer.block, _CODES[layer.attention], layer.alpha, not layer.mlp)
            + _numbers(layer.heads) + _numbers(layer.neurons))


def _bytes_of(layer: LayerMask) -> bytes:
    return _cuts(layer) + compensation_bytes({0: layer.compensation})
