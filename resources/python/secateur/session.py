"""Sessions: the HDF5 files that hold what was measured of one model. They open without its checkpoint."""

from __future__ import annotations

import hashlib
import pathlib

import numpy as np

from .compensation import tensors_by_layer
from .errors import Error
from .mask import Mask
from .mask_file import parse_mask
from .session_tables import curve_rows, evaluation_row, result_row, task_rows, value_rows, window_rows

NEWEST_VERSION = 5
_MARK = b"\nsecateur sha256:"
_CHUNK = 1 << 20


def open_session(path) -> Session:
    """Opens a session. Raises Error if the file is none, is damaged, or was written by a newer Secateur."""
    return Session(path)


def _needed(module: str):
    try:
        return __import__(module)
    except ImportError:
        raise Error(f"sessions need the Python package {module}: pip install h5py pandas") from None


def _check_sum(path: pathlib.Path) -> None:
    """Compares the SHA-256 in the last line of the file with its bytes. Files of other programs have no such line."""
    size, length = path.stat().st_size, len(_MARK) + 64 + 1
    with open(path, "rb") as file:
        file.seek(max(0, size - length))
        last = file.read()
        if not last.startswith(_MARK):
            return
        file.seek(0)
        total, left = hashlib.sha256(), size - length
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            total.update(chunk)
            left -= len(chunk)
    if last[len(_MARK):-1] != total.hexdigest().encode():
        raise Error(f"{path}: is damaged: its bytes do not have the SHA-256 of its last line")


class Session:
    """A session file. It is opened for each call, so that other programs can write it in between."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        _check_sum(self.path)
        with self._open() as file:
            if file.attrs.get("format") != "secateur-session":
                raise Error(f"{path}: is not a session")
            self.version = int(file.attrs["version"])
            if self.version > NEWEST_VERSION:
                raise Error(f"{path}: is a session of version {self.version}; at most {NEWEST_VERSION} is read")
            self.model = {name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
                          for name, value in file["model"].attrs.items()}

    def __repr__(self) -> str:
        return f"<Session {self.path} of {self.model['name']}>"

    def _open(self):
        h5py = _needed("h5py")
        try:
            return h5py.File(self.path, "r")
        except OSError as error:
            raise Error(f"{self.path}: cannot be opened: {error}") from None

    def _table(self, rows, columns=()):
        return _needed("pandas").DataFrame(rows, columns=None if rows else list(columns))

    # --- metrics ---

    def results(self):
        """A row for each measurement of a metric, in the order of measuring: `result_id`, `key`, the metric's texts,
        what identifies the measurement, and `path`, the dataset in the file.
        """
        with self._open() as file:
            rows = [result_row(dataset) for dataset in _measurements(file)]
        return self._table(sorted(rows, key=lambda row: row["order"]), ("result_id", "key", "path", "order"))

    def values(self, result: str):
        """The values of a measurement, a row for each cell: `layer`, the scope's column (`head`, `kv_group`, `neuron`),
        `value`, and where they exist `length`, `standard_error`, `class` and features. Cells that the model does not
        have are left out. result: `gate_norm_head` (the latest) or `sink_head@1a2b3c4d`.
        """
        with self._open() as file:
            return self._table(value_rows(_dataset_of(file, result)))

    def array(self, result: str) -> np.ndarray:
        """The values of a measurement as an array, in the shape of the file; NaN = no such cell."""
        with self._open() as file:
            return _dataset_of(file, result)[...]

    # --- masks ---

    def masks(self):
        """A row for each mask: `name`, `digest`, and the numbers of its cuts."""
        with self._open() as file:
            numbers = _numbered(file, "masks")
        rows = [{"number": number, "name": mask.name, "digest": mask.digest()} | mask.counts()
                for number, mask in ((number, self.mask(number)) for number in numbers)]
        return self._table(rows, ("number", "name", "digest"))

    def mask(self, which) -> Mask:
        """A mask by name, digest or number. Its digest is checked."""
        with self._open() as file:
            for number in _numbered(file, "masks"):
                group = file[f"masks/{number}"]
                if which in (number, group.attrs["name"], group.attrs["digest"]):
                    return self._read_mask(group)
        raise Error(f"{self.path}: has no mask {which}")

    def _read_mask(self, group) -> Mask:
        place = f"{self.path}: {group.name}"
        mask = parse_mask(group.attrs["mask"], place)
        if "compensation" in group:
            stored = {name: dataset[...] for name, dataset in group["compensation"].items()}
            for layer, tensors in tensors_by_layer(stored, len(mask.layers), place).items():
                mask.layers[layer].compensation = tensors
        mask = mask.tied(self._tied_groups())
        mask.name = group.attrs["name"]
        if mask.digest() != group.attrs["digest"]:
            raise Error(f"{place}: its digest is not that of the mask")
        return mask

    def _tied_groups(self) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for layer, stored in enumerate(self.model.get("stored_layer", [])):
            groups.setdefault(stored, []).append(layer)
        return [group for group in groups.values() if len(group) > 1]

    # --- evaluations ---

    def evaluations(self):
        """A row for each evaluation: mask, dtype, device and, where a text was scored, `protocol`, `window`,
        `loss_nats`, `standard_error`, `perplexity`; where times were taken `tokens_per_second`.
        """
        return self._table(self._of_evaluations(lambda group: [evaluation_row(group)]), ("number", "mask_name"))

    def tasks(self):
        """A row for each metric of each task: `number` of the evaluation, `task`, `format`, `metric`, `value`,
        `standard_error`.
        """
        return self._table(self._of_evaluations(task_rows), ("number", "task", "metric", "value"))

    def windows(self, number: int):
        """The losses of the windows of an evaluation: `window` (its place in the text), `nats` (summed), `tokens`."""
        with self._open() as file:
            if f"evaluations/{number}/text" not in file:
                raise Error(f"{self.path}: evaluation {number} has no text")
            return self._table(window_rows(file[f"evaluations/{number}/text"]))

    def _of_evaluations(self, rows_of) -> list[dict]:
        with self._open() as file:
            return [{"number": number} | row for number in _numbered(file, "evaluations")
                    for row in rows_of(file[f"evaluations/{number}"])]

    # --- curves ---

    def curves(self):
        """A row for each point of each curve: `strategy` (`dense` for the dense model), `conditions` (points with the
        same number were measured on the same texts), the datasets of the format, and `TASK.METRIC` with its errors and
        differences.
        """
        with self._open() as file:
            rows = [row for strategy in file.get("curves", ()) for number in _numbered(file, f"curves/{strategy}")
                    for row in curve_rows(file[f"curves/{strategy}/{number}"], number)]
        return self._table(rows, ("strategy", "conditions", "budget"))


def _numbered(file, group: str) -> list[int]:
    return sorted(int(name) for name in file.get(group, ()) if name.isdecimal())


def _measurements(file) -> list:
    return [file[f"metrics/{metric}/{number}"] for metric in file.get("metrics", ())
            for number in _numbered(file, f"metrics/{metric}")]


def _dataset_of(file, result: str):
    result_id, _, key = result.partition("@")
    found = [(row["order"], dataset) for dataset in _measurements(file) for row in [result_row(dataset)]
             if row["result_id"] == result_id and key in ("", row["key"])]
    if not found:
        raise Error(f"{file.filename}: has no result {result}")
    return max(found, key=lambda pair: pair[0])[1]
