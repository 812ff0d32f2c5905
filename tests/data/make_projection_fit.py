"""Writes projection_fit.json: compensated projections, solved by numpy in float64 as least squares of stacked rows.

    python make_projection_fit.py
"""

import json
import pathlib

import numpy as np

rng = np.random.default_rng(31)
TOKENS, UNITS, SIZE, HIDDEN = 60, 5, 3, 7


def design(a, weight, size):
    """The part of the output that comes from each unit, as columns [tokens * hidden, units]."""
    units = a.shape[1] // size
    parts = [a[:, u * size:(u + 1) * size] @ weight[:, u * size:(u + 1) * size].T for u in range(units)]
    return np.stack([part.reshape(-1) for part in parts], axis=1)


def case(size, mu, weighted):
    a = rng.normal(size=(TOKENS, UNITS * size)) @ rng.normal(size=(UNITS * size, UNITS * size))
    weight = rng.normal(size=(HIDDEN, UNITS * size))
    y = a @ (weight * rng.uniform(0.5, 1.5, size=UNITS * size)).T + rng.normal(size=(TOKENS, HIDDEN)) + 0.7
    tokens = rng.uniform(0.2, 2.0, size=TOKENS) if weighted else np.ones(TOKENS)
    root = np.sqrt(tokens)[:, None]
    ridge = mu * np.mean(np.sum(tokens[:, None] * a * a, axis=0))
    residual = y - a @ weight.T
    found = {}
    bias = np.average(residual, axis=0, weights=tokens)
    found["bias"] = {"bias": bias.tolist(), "error": float(np.sum(tokens[:, None] * (residual - bias) ** 2))}
    # Weights: rows of the text, and rows of the ridge.
    left = np.vstack([root * a, np.sqrt(ridge) * np.eye(a.shape[1])])
    right = np.vstack([root * residual, np.zeros((a.shape[1], HIDDEN))])
    new = weight + np.linalg.lstsq(left, right, rcond=None)[0].T
    found["weights"] = {"weight": new.reshape(-1).tolist(),
                        "error": float(np.sum(tokens[:, None] * (y - a @ new.T) ** 2))}
    # Factors, with and without a bias.
    parts = design(a, weight, size)
    rows = np.repeat(root, HIDDEN, axis=1).reshape(-1, 1)
    penalty = np.diag([np.sqrt(ridge) * np.linalg.norm(weight[:, u * size:(u + 1) * size]) for u in range(UNITS)])
    for mode in ("scale", "both"):
        columns = parts if mode == "scale" else np.hstack([parts, np.tile(np.eye(HIDDEN), (TOKENS, 1))])
        ridge_rows = np.hstack([penalty, np.zeros((UNITS, columns.shape[1] - UNITS))])
        left = np.vstack([rows * columns, ridge_rows])
        right = np.concatenate([(rows[:, 0] * residual.reshape(-1)), np.zeros(UNITS)])
        solution = np.linalg.lstsq(left, right, rcond=None)[0]
        factors = 1 + solution[:UNITS]
        error = np.sum(rows[:, 0] ** 2 * (residual.reshape(-1) - columns @ solution) ** 2)
        found[mode] = {"factors": factors.tolist(), "error": float(error)}
        if mode == "both":
            found[mode]["bias"] = solution[UNITS:].tolist()
    return {"unit_columns": size, "mu": mu, "a": a.reshape(-1).tolist(), "y": y.reshape(-1).tolist(),
            "weight": weight.reshape(-1).tolist(), "token_weights": tokens.tolist() if weighted else [],
            "error_without": float(np.sum(tokens[:, None] * residual ** 2)), "modes": found}


cases = [case(SIZE, 0.3, False), case(1, 0.03, False), case(SIZE, 3.0, True)]
target = pathlib.Path(__file__).with_name("projection_fit.json")
target.write_text(json.dumps({"tokens": TOKENS, "hidden": HIDDEN, "cases": cases}) + "\n")
