"""Compensations: changes of a layer's kept weights that make up for its cuts, and the file that stores them.

A compensation is a dictionary of float32 arrays. A tensor that is not in it changes nothing.

    head_scale       [heads]             factors of the heads' columns of the output projection
    neuron_scale     [neurons]           factors of the neurons' columns of the down projection
    attention_bias   [hidden]            added to the output of the output projection, before a norm that follows it
    mlp_bias         [hidden]            added to the output of the down projection, before a norm that follows it
    o_weight         [hidden, heads * head size]   replaces the output projection
    down_weight      [hidden, neurons]             replaces the down projection

A projection has either factors or a weight of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct

import numpy as np

from .errors import Error
from .structure import LayerShape

OF_ATTENTION = ("head_scale", "attention_bias", "o_weight")
OF_MLP = ("neuron_scale", "mlp_bias", "down_weight")
MATRICES = ("o_weight", "down_weight")
MARK = "secateur_compensation"
LONGEST_HEADER = 100_000_000

_NAME = re.compile(r"layers\.(\d{1,9})\.(\w+)", re.ASCII)
_TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}


# --- what a layer's compensation changes ------------------------------------------------------------------------------

def simplified(values: np.ndarray, neutral: float) -> np.ndarray | None:
    """The numbers with 0 in place of -0, whose digests differ; None if all of them change nothing."""
    return None if np.all(values == neutral) else values + np.float32(0)


def without_cut_columns(weight: np.ndarray, kept: np.ndarray, width: int) -> np.ndarray | None:
    """The weight with zeros in the columns of cut units; None if no unit is kept. width: columns of a unit."""
    if not len(kept) or width <= 0:
        return weight
    if not kept.any():
        return None
    return np.where(np.repeat(kept, width), weight, np.float32(0))


def effect_of(compensation: dict[str, np.ndarray], heads: np.ndarray, head_dim: int, neurons: np.ndarray,
              has_attention: bool, has_mlp: bool) -> dict[str, np.ndarray]:
    """The compensation without the parts that have no effect. heads, neurons: True = kept. head_dim: 0 under linear
    attention.
    """
    used = (OF_ATTENTION if has_attention else ()) + (OF_MLP if has_mlp else ())
    effect = {}
    for name, values in compensation.items():
        values = np.asarray(values, np.float32)
        if name not in used:
            continue
        if name == "head_scale":
            changed = simplified(np.where(heads, values, np.float32(1)), 1)
        elif name == "neuron_scale":
            changed = simplified(np.where(neurons, values, np.float32(1)), 1)
        elif name == "o_weight":
            changed = without_cut_columns(values, heads, head_dim)
        elif name == "down_weight":
            changed = without_cut_columns(values, neurons, 1)
        else:
            changed = simplified(values, 0)
        if changed is not None:
            effect[name] = changed
    return effect


def check_compensation(compensation: dict[str, np.ndarray], shape: LayerShape, hidden: int | None,
                       place: str) -> None:
    """Raises Error if a tensor is unknown or has another shape. hidden: None = the width is not known."""
    columns = {"o_weight": shape.heads * shape.head_dim if shape.kv_heads else None, "down_weight": shape.neurons}
    sizes = {"head_scale": shape.heads, "neuron_scale": shape.neurons, "attention_bias": hidden, "mlp_bias": hidden}
    for name, values in compensation.items():
        if name not in OF_ATTENTION + OF_MLP:
            raise Error(f"{place}: {name} is not a tensor of a compensation")
        values = np.asarray(values)
        expected = (hidden, columns[name]) if name in MATRICES else (sizes[name],)
        if values.ndim != len(expected) or any(size not in (None, found)
                                               for size, found in zip(expected, values.shape)):
            wanted = " x ".join("?" if size is None else str(size) for size in expected)
            raise Error(f"{place}: {name} has the shape {' x '.join(map(str, values.shape))}, expected {wanted}")
        if not np.isfinite(values).all():
            raise Error(f"{place}: {name} has numbers that are not finite")
    for weight, factors in (("o_weight", "head_scale"), ("down_weight", "neuron_scale")):
        if weight in compensation and factors in compensation:
            raise Error(f"{place}: has {weight} and {factors}, but a projection is either replaced or scaled")


def mode_of(compensations: list[dict[str, np.ndarray]]) -> str:
    """What a mask file states as the mode: "weights", "both", "scale" or "bias"."""
    names = set().union(*compensations)
    if names & set(MATRICES):
        return "weights"
    has_scale, has_bias = names & {"head_scale", "neuron_scale"}, names & {"attention_bias", "mlp_bias"}
    return "both" if has_scale and has_bias else "scale" if has_scale else "bias"


# --- the file -------------------------------------------------------------------------------------------------------

def compensation_bytes(layers: dict[int, dict[str, np.ndarray]]) -> bytes:
    """The safetensors file as Secateur writes it; its SHA-256 is part of a mask's digest."""
    tensors = {f"layers.{layer}.{name}": np.ascontiguousarray(values, np.dtype("<f4"))
               for layer, own in layers.items() for name, values in own.items()}
    header: dict[str, object] = {"__metadata__": {"format": MARK}}
    end = 0
    for name in sorted(tensors):
        begin, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(tensors[name].tobytes() for name in sorted(tensors))


def digest_of_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_tensors(data: bytes, place: str) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file in F32, F16 or BF16, as float32."""
    try:
        (length,) = struct.unpack_from("<Q", data)
        if length > min(LONGEST_HEADER, len(data) - 8):
            raise ValueError
        header = json.loads(data[8:8 + length])
        return {name: _tensor(data[8 + length:], entry, f"{place}: {name}") for name, entry in header.items()
                if name != "__metadata__"}
    except Error:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        raise Error(f"{place}: is not a safetensors file") from None


def _tensor(data: bytes, entry: dict, place: str) -> np.ndarray:
    if entry["dtype"] not in _TYPES:
        raise Error(f"{place}: is stored as {entry['dtype']}; expected {', '.join(_TYPES)}")
    begin, end = entry["data_offsets"]
    stored = np.frombuffer(data[begin:end], _TYPES[entry["dtype"]])
    if entry["dtype"] == "BF16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32).reshape(entry["shape"])


def tensors_by_layer(tensors: dict[str, np.ndarray], layer_count: int, place: str) -> dict[int, dict]:
    """The compensations of layers from tensors named layers.N.NAME."""
    layers: dict[int, dict[str, np.ndarray]] = {}
    for name, values in tensors.items():
        found = _NAME.fullmatch(name)
        if not found or found[2] not in OF_ATTENTION + OF_MLP:
            raise Error(f"{place}: {name} is not a tensor of a compensation")
        if int(found[1]) >= layer_count:
            raise Error(f"{place}: {name} is of a layer that the model does not have: it has {layer_count} layers")
        layers.setdefault(int(found[1]), {})[found[2]] = values
    if not layers:
        raise Error(f"{place}: has no tensors")
    return layers
