"""Mask files, `*.mask.json`: one line for each layer that has cuts, for people to read and edit."""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from dataclasses import dataclass

import numpy as np

from .compensation import (compensation_bytes, digest_of_bytes, mode_of, read_tensors, tensors_by_layer)
from .errors import Error
from .files import write_aside
from .mask import BYPASS, DROP, KEEP, MOST_ALPHA, LayerMask, Mask
from .structure import parse_structure

VERSION = 1
LONGEST_MASK = 32_000_000  # bytes
_DIGITS_IN_NAME = 16
_FIELDS = ("secateur_mask", "model", "layers", "compensation", "bias_compensation", "note", "provenance")
_LAYER_FIELDS = ("layer", "block", "attention", "alpha", "heads_cut", "mlp", "neurons_cut")
_MODES = ("bias", "scale", "both", "weights")


@dataclass(frozen=True)
class _Fields:
    """A JSON object with its place in the file, for messages."""

    place: str
    values: dict

    def refuse(self, key: str, reason: str):
        raise Error(f"{self.place}: {key} {reason}")

    def allow_only(self, *keys: str) -> None:
        for key in self.values:
            if key not in keys:
                self.refuse(f'"{key}"', f"is not one of {', '.join(keys)}")

    def get(self, key: str, kind, what: str, required: bool = False):
        """A field of one type; null counts as absent."""
        value = self.values.get(key)
        if value is None:
            if required:
                self.refuse(key, "is missing")
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.refuse(key, f"should be {what}")
        return value

    def text(self, key: str, required: bool = False) -> str | None:
        return self.get(key, str, "a text", required)

    def object(self, key: str, required: bool = False) -> _Fields | None:
        value = self.get(key, dict, "an object", required)
        return None if value is None else _Fields(f"{self.place}: {key}", value)


# --- reading ----------------------------------------------------------------------------------------------------------

def read_mask(path, model=None) -> Mask:
    """Reads a mask file and the compensation beside it. With a model of transformers, the mask must be of its
    structure, and layers that share weights are known. Raises Error that names the place.
    """
    path = pathlib.Path(path)
    if path.stat().st_size > LONGEST_MASK:
        raise Error(f"{path}: is {path.stat().st_size} bytes long; at most {LONGEST_MASK} are read")
    mask, link = _parsed(_text_of(path.read_bytes(), str(path)), str(path))
    if link:
        _add_compensation(mask, link, path)
    return mask if model is None else mask_for(mask, model)


def parse_mask(text: str, place: str = "mask") -> Mask:
    """A mask from the text of its file, without the compensation that lies in another file."""
    return _parsed(text, place)[0]


def mask_for(mask: Mask, model) -> Mask:
    """The mask with what is known of a model: layers that share weights. Raises Error if it does not fit the model."""
    from .families import masked_parts

    return masked_parts(model).fitting(mask)


def _text_of(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Error(f"{place}: has a byte that is not UTF-8 at {error.start}") from None


def _without_repeats(place: str):
    def collect(pairs):
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            raise Error(f'{place}: has the key "{next(key for key in keys if keys.count(key) > 1)}" twice')
        return values
    return collect


def _parsed(text: str, place: str) -> tuple[Mask, _Fields | None]:
    try:
        values = json.loads(text, object_pairs_hook=_without_repeats(place))
    except (json.JSONDecodeError, RecursionError) as error:
        raise Error(f"{place}: is not JSON: {error}") from None
    if not isinstance(values, dict) or "secateur_mask" not in values:
        raise Error(f'{place}: is not a mask: it has no "secateur_mask"')
    file = _Fields(place, values)
    if file.get("secateur_mask", int, "an integer", True) != VERSION:
        file.refuse("secateur_mask", f"states version {values['secateur_mask']}; only version {VERSION} is read")
    file.allow_only(*_FIELDS)
    model = file.object("model", required=True)
    model.allow_only("name", "architecture", "structure", "fingerprint")
    structure = model.text("structure", required=True)
    try:
        parse_structure(structure)
    except Error as error:
        raise Error(f"{model.place}: {error}") from None
    mask = Mask.dense(model.text("architecture", required=True), structure, model_name=model.text("name"),
                      fingerprint=model.text("fingerprint"), note=file.text("note") or "",
                      provenance=file.get("provenance", dict, "an object"))
    _read_layers(file, mask)
    return mask, _link_of(file)


def _read_layers(file: _Fields, mask: Mask) -> None:
    listed = set()
    for number, values in enumerate(file.get("layers", list, "a list", required=True)):
        entry = _Fields(f"{file.place}: layers[{number}]", values if isinstance(values, dict) else {})
        if not isinstance(values, dict):
            raise Error(f"{entry.place} should be an object")
        entry.allow_only(*_LAYER_FIELDS)
        index = entry.get("layer", int, "an integer", required=True)
        if not 0 <= index < len(mask.layers):
            entry.refuse("layer", f"is {index}, expected 0 to {len(mask.layers) - 1}")
        if index in listed:
            entry.refuse("layer", f"lists layer {index} twice")
        listed.add(index)
        _read_layer(entry, index, mask.layers[index])
        mask.layers[index].check(mask.shapes[index], entry.place)


def _dropped(entry: _Fields, part: str) -> bool:
    value = entry.text(part)
    if value not in (None, DROP):
        entry.refuse(part, f'expected "drop", found "{value}"')
    return value is not None


def _read_layer(entry: _Fields, index: int, layer: LayerMask) -> None:
    layer.block, layer.mlp = not _dropped(entry, "block"), not _dropped(entry, "mlp")
    layer.attention = entry.text("attention") or KEEP
    if layer.attention not in (DROP, BYPASS) and entry.values.get("attention") is not None:
        entry.refuse("attention", f'expected "drop" or "bypass_qk", found "{layer.attention}"')
    inside = {"block": ("attention", "heads_cut", "mlp", "neurons_cut"), "attention": ("heads_cut",),
              "mlp": ("neurons_cut",)}
    for larger, parts in inside.items():
        for part in parts if entry.values.get(larger) == DROP else ():
            if entry.values.get(part) is not None:
                entry.refuse(part, f'is inside a unit that "{larger}": "drop" removes')
    alpha = entry.get("alpha", (int, float), "a number")
    if (alpha is not None) != (layer.attention == BYPASS):
        entry.refuse("alpha", 'scales only "attention": "bypass_qk"' if alpha is not None else
                     f'is missing; "bypass_qk" needs a number from 0 to {MOST_ALPHA:g}')
    layer.alpha = 1.0 if alpha is None else float(alpha)
    _cut(entry, "heads_cut", "head", index, layer.heads)
    _cut(entry, "neurons_cut", "neuron", index, layer.neurons)


def _cut(entry: _Fields, key: str, one: str, index: int, marks: np.ndarray) -> None:
    for item in entry.get(key, list, "a list") or []:
        bounds = item if isinstance(item, list) else [item, item]
        if len(bounds) != 2 or not all(type(bound) is int for bound in bounds) or not 0 <= bounds[0] <= bounds[1]:
            entry.refuse(key, f"expected indices and ranges [first, last], found {json.dumps(item)}")
        first, last = bounds
        if last >= len(marks):
            entry.refuse(key, f"names {one} {last}, but layer {index} has {len(marks)}")
        twice = np.flatnonzero(~marks[first:last + 1])
        if len(twice):
            entry.refuse(key, f"names {one} {first + twice[0]} twice")
        marks[first:last + 1] = False


def _link_of(file: _Fields) -> _Fields | None:
    key = "bias_compensation" if file.values.get("bias_compensation") is not None else "compensation"
    if key == "bias_compensation" and file.values.get("compensation") is not None:
        file.refuse(key, 'is given together with "compensation", which replaces it')
    link = file.object(key)
    if not link:
        return None
    link.allow_only("file", "sha256", "mode")
    name, sum_ = link.text("file", True), link.text("sha256", True)
    if name in ("", ".", "..") or set(name) & set("/\\\0"):
        link.refuse("file", f'"{name}" is not the name of a file beside the mask')
    if len(sum_) != 64 or set(sum_) - set("0123456789abcdef"):
        link.refuse("sha256", "expected 64 lower-case hexadecimal digits")
    mode = link.text("mode", required=key == "compensation")
    if mode not in (None, *_MODES):
        link.refuse("mode", f'expected one of {", ".join(_MODES)}, found "{mode}"')
    return link


def _add_compensation(mask: Mask, link: _Fields, path: pathlib.Path) -> None:
    file = path.resolve().parent / link.values["file"]
    if not file.exists():
        warnings.warn(f"{path}: the file of its compensation, {file.name}, does not exist: the mask is read without "
                      "its compensation", stacklevel=3)
        return
    data = file.read_bytes()
    if digest_of_bytes(data) != link.values["sha256"]:
        raise Error(f"{file}: has another SHA-256 than the mask states")
    for index, tensors in tensors_by_layer(read_tensors(data, str(file)), len(mask.layers), str(file)).items():
        mask.layers[index].compensation = tensors
        mask.layers[index].check(mask.shapes[index], f"{file}: layers.{index}")


# --- writing ----------------------------------------------------------------------------------------------------------

def mask_json(mask: Mask, compensation_file: str = "compensation") -> str:
    """The text of a mask file as the workbench writes it. compensation_file: the name that it states."""
    own = mask.canonical()
    data = compensation_bytes(own.compensations()) if own.compensations() else b""
    link = {"file": compensation_file, "sha256": digest_of_bytes(data),
            "mode": mode_of(list(own.compensations().values()))} if data else None
    lines = ["\n    " + _layer_json(index, layer) for index, layer in enumerate(own.layers)
             if layer.has_cuts and own.tied_to(index)[0] == index]
    model = {"name": mask.model_name or None, "architecture": mask.architecture, "structure": mask.structure,
             "fingerprint": mask.fingerprint or None}
    return ('{ "secateur_mask": 1,\n'
            f'  "model": {_json(model)},\n'
            f'  "layers": [{",".join(lines)}{chr(10) + "  " if lines else ""}],\n'
            f'  "compensation": {_json(link)},\n'
            f'  "note": {_json(mask.note)},\n'
            f'  "provenance": {_json(mask.provenance)} }}\n')


def _json(value) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _ranges(kept: np.ndarray) -> str:
    """Cut neurons as indices and ranges: [0, 31], 77."""
    cut = np.flatnonzero(~kept)
    runs = np.split(cut, np.flatnonzero(np.diff(cut) > 1) + 1) if len(cut) else []
    return ", ".join(str(run[0]) if len(run) == 1 else f"[{run[0]}, {run[-1]}]" for run in runs)


def _layer_json(index: int, layer: LayerMask) -> str:
    parts = [f'"layer": {index}']
    if not layer.block:
        parts.append('"block": "drop"')
    if layer.attention == DROP:
        parts.append('"attention": "drop"')
    if layer.attention == BYPASS:
        alpha = int(layer.alpha) if layer.alpha == int(layer.alpha) else layer.alpha
        parts.append(f'"attention": "bypass_qk", "alpha": {alpha!r}')
    if not layer.heads.all():
        parts.append(f'"heads_cut": [{", ".join(map(str, np.flatnonzero(~layer.heads)))}]')
    if not layer.mlp:
        parts.append('"mlp": "drop"')
    if not layer.neurons.all():
        parts.append(f'"neurons_cut": [{_ranges(layer.neurons)}]')
    return "{" + ", ".join(parts) + "}"


def _link_in(path: pathlib.Path) -> _Fields | None:
    """The compensation that an existing mask states. Raises Error if the file is no mask."""
    return _parsed(_text_of(path.read_bytes(), str(path)), str(path))[1]


def _compensation_name(path: pathlib.Path, data: bytes) -> str:
    stem = path.name
    for ending in (".json", ".mask"):
        stem = stem[:-len(ending)] if stem.endswith(ending) and stem != ending else stem
    return f"{stem}.{digest_of_bytes(data)[:_DIGITS_IN_NAME]}.compensation.safetensors"


def write_mask(path, mask: Mask, force: bool = False) -> None:
    """Writes a mask file beside its path and renames it; a compensation is written first, to a file of its own. A file
    that exists is replaced if it is a mask or empty, others only with `force`.
    """
    if os.path.islink(path) and not os.path.exists(path):
        raise Error(f"{path}: is a link to a file that does not exist")
    path = pathlib.Path(os.path.realpath(path))
    earlier = None
    if path.exists() and path.stat().st_size:
        try:
            earlier = _link_in(path)
        except Error:
            if not force:
                raise Error(f"{path}: exists and is not a mask; it is replaced only with force=True") from None
    compensations = mask.compensations()
    name = ""
    if compensations:
        data = compensation_bytes(compensations)
        name = _compensation_name(path, data)
        write_aside(path.with_name(name), data)
    write_aside(path, mask_json(mask, name or "compensation").encode())
    if earlier:
        _remove_unused(path, earlier, name)


def _remove_unused(path: pathlib.Path, earlier: _Fields, current: str) -> None:
    """Removes the compensation of the replaced mask, unless another JSON file of the folder states it."""
    name, sum_ = earlier.values["file"], earlier.values["sha256"]
    if name == current or not name.endswith(f".{sum_[:_DIGITS_IN_NAME]}.compensation.safetensors"):
        return
    stated = any(sum_.encode() in other.read_bytes() for other in path.parent.glob("*.json") if other.is_file())
    if not stated:
        path.with_name(name).unlink(missing_ok=True)
