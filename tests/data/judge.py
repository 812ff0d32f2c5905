"""Weight metrics computed in float64 by their definitions (resources/manual/metrics.md). All product matrices are
formed.

A model is a Shape and a dictionary of arrays by (layer, weight). Arrays have Hugging Face's layout [out, in] and the
names of WeightName, such as "query". Layer -1 stands for weights that belong to no layer.
"""

import dataclasses
import itertools

import numpy as np


@dataclasses.dataclass
class Layer:
    heads: int
    kv_heads: int
    ffn: int
    rotary: int = 0      # number of dimensions of each head that are rotated
    key_bias_counts: bool = True  # False if the softmax cancels the key bias


@dataclasses.dataclass
class Shape:
    head_dim: int
    layers: list
    norm_offset: int = 0
    norms_follow: bool = False  # encoders: norms come after the residual additions
    tied: bool = False          # ALBERT: all layers share their weights


def phase_mean(query, key, dims):
    """The mean of ||sum_h q_h^T R k_h||^2 over independent, uniformly distributed rotary phases. query and key are
    [heads, headDim, columns].

    Each rotated pair of dimensions contributes a trigonometric polynomial of degree one. The mean of its square over
    four equally spaced phases equals the mean over all phases. Products of different pairs have mean zero.
    """
    half = dims // 2
    total = 0.0
    for pair in range(half):
        q1, q2 = query[:, pair], query[:, pair + half]
        k1, k2 = key[:, pair], key[:, pair + half]
        for phase in 0.3 + np.arange(4) * np.pi / 2:
            c, s = np.cos(phase), np.sin(phase)
            product = q1.T @ (c * k1 - s * k2) + q2.T @ (s * k1 + c * k2)
            total += (product ** 2).sum() / 4
    rest = sum(q.T @ k for q, k in zip(query[:, dims:], key[:, dims:]))
    return total + (rest ** 2).sum()


def norm(query, key, rope_averaged, dims):
    """The Frobenius norm of sum_h query_h^T key_h, or its root mean square over rotary phases."""
    if rope_averaged and dims:
        return float(np.sqrt(phase_mean(query, key, dims)))
    return float(np.sqrt((sum(q.T @ k for q, k in zip(query, key)) ** 2).sum()))


def input_gain(tensors, shape, layer):
    if not shape.norms_follow:
        return tensors[layer, "attentionNorm"] + shape.norm_offset
    if shape.tied:
        return tensors[0, "mlpPostNorm"]
    return tensors[layer - 1, "mlpPostNorm"] if layer else tensors[-1, "embeddingNorm"]


def gate_norms(tensors, shape, index, options):
    layer = shape.layers[index]
    get = lambda which: tensors[index, which].astype(np.float64)
    query, key = get("query"), get("key")
    if "fold_norm" in options:
        gain = input_gain(tensors, shape, index).astype(np.float64)
        query, key = query * gain, key * gain
    if "augmented" in options and (index, "queryBias") in tensors:
        key_bias = get("keyBias") if layer.key_bias_counts else np.zeros(len(key))
        query = np.concatenate([query, get("queryBias")[:, None]], 1)
        key = np.concatenate([key, key_bias[:, None]], 1)
    query = query.reshape(layer.heads, shape.head_dim, -1)
    key = key.reshape(layer.kv_heads, shape.head_dim, -1)
    per_head = layer.heads // layer.kv_heads
    rope = "rope_averaged" in options
    normed = "qk_norm" in options
    by_head = []
    for head in range(layer.heads):
        q, k = query[head], key[head // per_head]
        scale = 1.0
        if normed:
            scale = shape.head_dim / (np.linalg.norm(q) * np.linalg.norm(k))
            q = (get("queryNorm") + shape.norm_offset)[:, None] * q
            k = (get("keyNorm") + shape.norm_offset)[:, None] * k
        by_head.append(norm(q[None], k[None], rope, layer.rotary) * float(scale))
    headwise = float(np.sqrt(np.sum(np.square(by_head))))
    repeated = np.repeat(key, per_head, axis=0)
    values = {"gate_norm": headwise if normed else norm(query, repeated, rope, layer.rotary),
              "gate_norm_headwise": headwise, "gate_norm_head": by_head}
    if not normed:
        values["gate_norm_group"] = [
            norm(query[g * per_head:(g + 1) * per_head].sum(0, keepdims=True), key[g:g + 1], rope, layer.rotary)
            for g in range(layer.kv_heads)]
    return values


def column_norms(matrix):
    return [float(np.sqrt((matrix[:, j].astype(np.float64) ** 2).sum())) for j in range(matrix.shape[1])]


def magnitudes(tensors, shape, index):
    values = {}
    if shape.layers[index].heads:
        columns = column_norms(tensors[index, "output"])
        size = shape.head_dim
        values["mag_sp_head"] = [sum(columns[h * size:(h + 1) * size]) for h in range(shape.layers[index].heads)]
    if shape.layers[index].ffn:
        values["mag_sp_neuron"] = column_norms(tensors[index, "down"])
    return values


def all_metrics(tensors, shape, most_options=4):
    """All metrics by result id. Each is a list with one number or one list for each layer, or None for a layer without
    a value.
    """
    metrics = {}
    options = ["augmented", "fold_norm", "rope_averaged"]
    if (0, "queryNorm") in tensors:
        options.insert(2, "qk_norm")
    for index, layer in enumerate(shape.layers):
        found = {id: [v] for id, v in magnitudes(tensors, shape, index).items()}
        if layer.kv_heads:
            for count in range(most_options + 1):
                for chosen in itertools.combinations(options, count):
                    suffix = "".join(f":{o}=true" for o in chosen)
                    for metric, value in gate_norms(tensors, shape, index, chosen).items():
                        found[metric + suffix] = [value]
        for id, value in found.items():
            metrics.setdefault(id, [None] * len(shape.layers))[index] = value[0]
    return metrics
