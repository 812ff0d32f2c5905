"""Rows of the tables that a session gives, from the groups and datasets of its file."""

from __future__ import annotations

import itertools

import numpy as np

_RESULT_TEXTS = ("result_id", "title", "unit", "scope", "needs", "prune_first", "model_fingerprint", "mask_digest",
                 "data_digest", "dtype", "device", "created", "text", "split", "bos")
_RESULT_NUMBERS = ("seconds", "sequences", "tokens", "all_tokens", "sequence_length", "part", "parts", "is_complete",
                   "order")
_EVALUATION = ("mask_name", "mask_digest", "adapter_name", "adapter_digest", "dtype", "device", "created", "seconds")
_TEXT = ("source", "digest", "protocol", "bos", "window", "windows", "tokens", "unit", "loss_nats", "standard_error",
         "perplexity")


def plain(value):
    """A value of HDF5 as one of Python."""
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value


def measurement_key(*parts: str) -> str:
    """The result key: FNV-1a, 32 bits, over mask digest, data digest, dtype and device."""
    value = 2166136261
    for byte in "\n".join(parts).encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{value:08x}"


def result_row(dataset) -> dict:
    row = {name: plain(dataset.attrs[name]) for name in _RESULT_TEXTS + _RESULT_NUMBERS if name in dataset.attrs}
    key = measurement_key(row["mask_digest"], row["data_digest"], row["dtype"], row["device"])
    return {"result_id": row.pop("result_id"), "key": key} | row | {"path": dataset.name}


def value_rows(dataset) -> list[dict]:
    """The cells of a measurement that the model has."""
    dimensions = [plain(name) for name in dataset.attrs["dimensions"]]
    lengths = dataset.attrs.get("lengths")
    classes = [plain(name) for name in dataset.attrs.get("classes", ())]
    features = ["standard_error", *(plain(name) for name in dataset.attrs.get("features", ()))]
    group, number = dataset.parent, dataset.name.rpartition("/")[2]
    columns = {name: group[f"{number}.{name}"][...] for name in features if f"{number}.{name}" in group}
    values = dataset[...]
    rows = []
    for cell in itertools.product(*map(range, values.shape)):
        if np.isnan(values[cell]):
            continue
        row = dict(zip(dimensions, cell))
        if lengths is not None:
            row["length"] = int(lengths[cell[0]])
        row["value"] = float(values[cell])
        if classes:
            row["class"] = classes[int(values[cell])]
        # Features and errors belong to the longest prefix: they have no axis of lengths.
        rows.append(row | {name: float(array[cell[-array.ndim:]]) for name, array in columns.items()
                           if array.ndim == len(cell) or cell[0] == len(values) - 1})
    return rows


def evaluation_row(group) -> dict:
    row = {name: plain(group.attrs[name]) for name in _EVALUATION if name in group.attrs}
    if "text" in group:
        row |= {name: plain(group["text"].attrs[name]) for name in _TEXT if name in group["text"].attrs}
    if "latency" in group:
        row["tokens_per_second"] = plain(group["latency"].attrs["tokens_per_second"])
    if "pooled_distance" in group:
        row |= {f"pooled_{name}": plain(group["pooled_distance"].attrs[name])
                for name in ("relative", "relative_standard_error", "cosine", "cosine_standard_error")}
    return row


def task_rows(group) -> list[dict]:
    rows = []
    for task in (group["tasks"][name] for name in sorted(group.get("tasks", ()), key=int)):
        scores = zip(task.attrs["metrics"], task.attrs["values"], task.attrs["standard_errors"])
        rows += [{"mask_name": plain(group.attrs["mask_name"]), "mask_digest": plain(group.attrs["mask_digest"]),
                  "task": plain(task.attrs["name"]), "format": plain(task.attrs["format"]),
                  "questions": len(task["line"]), "metric": plain(metric), "value": plain(value),
                  "standard_error": plain(error)} for metric, value, error in scores]
    return rows


def window_rows(text) -> list[dict]:
    return [{"window": int(window), "nats": float(nats), "tokens": int(tokens)}
            for window, nats, tokens in zip(text["window_index"], text["window_nats"], text["window_tokens"])]


def curve_rows(group, conditions: int) -> list[dict]:
    """The points of a curve. Texts are plain; numbers that were not measured are NaN."""
    columns = {name: _column(group[name]) for name in group if name != "task"}
    for task in (group["task"][name] for name in group.get("task", ())):
        for metric in map(plain, task.attrs["metrics"]):
            for suffix in ("", "_standard_error", "_delta", "_delta_standard_error"):
                columns[f"{plain(task.attrs['name'])}.{metric}{suffix}"] = _column(task[metric + suffix])
    start = {"strategy": plain(group.attrs["result_id"]), "conditions": conditions}
    return [start | {name: values[point] for name, values in columns.items()}
            for point in range(len(columns["budget"]))]


def _column(dataset) -> list:
    return [plain(value) for value in dataset[...].tolist()]
