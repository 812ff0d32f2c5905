"""Files of the workbench: how they are written, and the fingerprint of a checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import struct

from .errors import Error

_PIECES, _PIECE_BYTES = 16, 256
_LONGEST_HEADER = 100_000_000


def write_aside(path: pathlib.Path, data: bytes) -> None:
    """Writes a file beside its path and renames it, so that an interrupted program leaves the previous file."""
    temporary = path.with_name(f".secateur-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def fingerprint(folder) -> str:
    """The fingerprint of a checkpoint, as `secateur-cli inspect` prints it: a SHA-256 over names, shapes and sampled
    bytes of all tensors. folder: a Hugging Face folder with safetensors.
    """
    tensors = {}
    for file in _weight_files(pathlib.Path(folder)):
        header, begin = _header(file)
        for name, entry in header.items():
            if name != "__metadata__":
                first, end = entry["data_offsets"]
                tensors[name] = (entry["shape"], file, begin + first, begin + end)
    total = hashlib.sha256()
    for name in sorted(tensors, key=str.encode):
        shape, file, first, end = tensors[name]
        total.update(name.encode() + b"\0" + struct.pack(f"<{len(shape) + 1}q", len(shape), *shape))
        with open(file, "rb") as data:
            for start, size in _samples(end - first):
                data.seek(first + start)
                total.update(data.read(size))
    return "sha256:" + total.hexdigest()


def _weight_files(folder: pathlib.Path) -> list[pathlib.Path]:
    index = folder / "model.safetensors.index.json"
    if index.exists():
        return [folder / name for name in sorted(set(json.loads(index.read_text())["weight_map"].values()))]
    if not (folder / "model.safetensors").exists():
        raise Error(f"{folder}: has no model.safetensors")
    return [folder / "model.safetensors"]


def _header(file: pathlib.Path) -> tuple[dict, int]:
    with open(file, "rb") as data:
        (length,) = struct.unpack("<Q", data.read(8).ljust(8, b"\0"))
        if length > min(_LONGEST_HEADER, file.stat().st_size - 8):
            raise Error(f"{file}: is not a safetensors file")
        return json.loads(data.read(length)), 8 + length


def _samples(size: int) -> list[tuple[int, int]]:
    """Starts and lengths of the sampled bytes: all of a small tensor, else 16 pieces that are spread evenly."""
    if size <= _PIECES * _PIECE_BYTES:
        return [(0, size)]
    last, between = size - _PIECE_BYTES, _PIECES - 1
    return [(last // between * piece + last % between * piece // between, _PIECE_BYTES) for piece in range(_PIECES)]
