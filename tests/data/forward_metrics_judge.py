"""Forward metrics computed with numpy from activations of transformers, by their definitions in
resources/manual/metrics.md.

Each sequence runs alone and in float64, so padding cannot cause mistakes. Every metric function takes a list of `Seen`,
one for each sequence, and returns an array [layers][cells]. A cell without a value is NaN.
"""

import numpy as np
import torch

import forward_judge as fj

FIRST = {"exclude_first": True}


class Seen:
    """The activations of one sequence. Each attribute is a list with one array per layer. An attention map is [heads,
    queries, keys].
    """

    def __init__(self, model, ids):
        batch = {"ids": torch.tensor([ids]), "lengths": torch.tensor([len(ids)])}
        with torch.no_grad(), fj.InDouble(), fj.Recorder(model) as recorder:
            fj.answer(model, batch)
        found = {name: [t[0].double().numpy() for t in tensors] for name, tensors in recorder.kept.items()}
        self.kind = model.config.model_type
        self.x, self.z = found["input"], found["layer_output"]
        self.a = found.get("attention_update", found["attention_output"])
        self.attention, self.context = found["attention"], found["context"]
        self.hidden, self.down = found["mlp_hidden"], found["mlp_output"]
        self.length = len(ids)
        self.window = [window_of(model.config, layer) for layer in range(len(self.x))]
        self.encoder = self.kind in ("bert", "albert", "roberta", "xlm-roberta")

    def layers(self):
        return range(len(self.x))


def window_of(config, layer):
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return config.sliding_window if kinds[layer] == "sliding_attention" else 0
    return getattr(config, "sliding_window", None) or 0


def rows(values, exclude_first):
    return values[1:] if exclude_first else values


def cosine(u, v):
    return (u * v).sum(-1) / np.linalg.norm(u, axis=-1) / np.linalg.norm(v, axis=-1)


def pooled(seen, exclude_first, values):
    """[layers][1]: the mean of values(sequence, layer), which has one number for each token, over all tokens of all
    sequences.
    """
    layers = range(len(seen[0].x))
    return np.array([[np.concatenate([rows(values(s, l), exclude_first) for s in seen]).mean()] for l in layers])


# --- the residual stream ---------------------------------------------------------------------------------------------

def attention_ratio(seen, _, exclude_first=False):
    norm = lambda name: lambda s, l: np.linalg.norm(getattr(s, name)[l], axis=-1)
    return pooled(seen, exclude_first, norm("a")) / pooled(seen, exclude_first, norm("x"))


def norms_of(model, layer):
    """The two layer norms of an encoder's layer, as functions of numpy arrays."""
    if model.config.model_type == "albert":
        own = fj.layers_of(model)[0]
        modules = own.attention.LayerNorm, own.full_layer_layer_norm
    else:
        own = fj.layers_of(model)[layer]
        modules = own.attention.output.LayerNorm, own.output.LayerNorm
    def apply(module):
        def run(values):
            with torch.no_grad(), fj.InDouble():
                return module(torch.from_numpy(values)).numpy()
        return run
    return apply(modules[0]), apply(modules[1])


def attention_importance(seen, model, exclude_first=False, before_norm=False):
    def values(s, l):
        if s.encoder and not before_norm:
            norm = norms_of(model, l)[0]
            return 1 - cosine(norm(s.x[l]), norm(s.x[l] + s.a[l]))
        return 1 - cosine(s.x[l], s.x[l] + s.a[l])
    return pooled(seen, exclude_first, values)


def mlp_importance(seen, model, exclude_first=False, before_norm=False):
    def values(s, l):
        if s.encoder:
            first, second = norms_of(model, l)
            y = first(s.x[l] + s.a[l])
            if before_norm:
                return 1 - cosine(y, y + s.down[l])
            return 1 - cosine(second(y), s.z[l])
        if s.kind == "phi":
            return 1 - cosine(s.x[l], s.x[l] + s.down[l])
        return 1 - cosine(s.x[l] + s.a[l], s.z[l])
    return pooled(seen, exclude_first, values)


def block_influence(seen, _, exclude_first=False):
    return pooled(seen, exclude_first, lambda s, l: 1 - cosine(s.x[l], s.z[l]))


def by_sequence(seen, value):
    """[layers][cells]: the mean of value(sequence, layer) over the sequences for which it is not None."""
    result = []
    for layer in range(len(seen[0].x)):
        own = [v for v in (value(s, layer) for s in seen) if v is not None]
        result.append(np.mean([np.atleast_1d(v) for v in own], axis=0) if own else np.full(cells(seen, layer), np.nan))
    return np.array(result)


def cells(seen, layer):
    return len(seen[0].attention[layer])


def token_similarity(seen, _, exclude_first=False):
    def value(s, l):
        h = rows(s.z[l], exclude_first)
        return np.mean([cosine(h[i], h[j]) for i in range(len(h)) for j in range(i)])
    return by_sequence(seen, value)


def token_spread(seen, _, exclude_first=False):
    def value(s, l):
        h = rows(s.z[l], exclude_first)
        return np.linalg.norm(h - h.mean(0)) / np.linalg.norm(h)
    return by_sequence(seen, value)


# --- attention maps --------------------------------------------------------------------------------------------------

def sees(s, layer):
    """[queries, keys]: whether a query may attend to a key."""
    t, k = np.arange(s.length)[:, None], np.arange(s.length)[None]
    near = (abs(t - k) < s.window[layer]) if s.window[layer] else np.full((s.length, s.length), True)
    return near & (k <= t) if not s.encoder else near


def sink_of(s, layer, key, visible_only, exclude_first, length=None):
    length = length or s.length
    key = length + key if key < 0 else key
    if length > s.length or not 0 <= key < length:
        return None
    chosen = np.arange(length) >= (1 if exclude_first else 0)
    if visible_only:
        chosen &= sees(s, layer)[:length, key]
    column = s.attention[layer][:, :length, key][:, chosen]
    return column.mean(1) if column.shape[1] else None


def sink_head(seen, _, key=0, visible_only=False, exclude_first=False, length=None):
    return by_sequence(seen, lambda s, l: sink_of(s, l, key, visible_only, exclude_first, length))


def sink_layer(seen, model, **options):
    return sink_head(seen, model, **options).mean(1, keepdims=True)


def sink_cv(seen, _, lengths, key=0, visible_only=False, exclude_first=False):
    result = []
    for layer in seen[0].layers():
        own = [sink_of(s, layer, key, visible_only, exclude_first, n) for s in seen for n in lengths or [s.length]]
        own = np.array([v for v in own if v is not None])
        result.append(own.std(0) / own.mean(0))
    return np.array(result)


def row_entropy(a, seen_keys, variant, epsilon):
    """The entropy of each row of an attention map: from [heads, queries, keys] to [heads, queries]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = {"A": np.where(a > 0, -a * np.log(a), 0), "B": -a * np.log(a + epsilon),
                 "C": -(a + epsilon) * np.log(a + epsilon)}[variant]
    return np.where(seen_keys[None], terms, 0).sum(-1)


def attention_entropy(seen, _, variant="C", epsilon=1e-7, normalised=False, exclude_first=False):
    def value(s, l):
        keys = sees(s, l)
        own = row_entropy(s.attention[l], keys, variant, epsilon)
        counts = keys.sum(-1)
        chosen = np.arange(s.length) >= (1 if exclude_first else 0)
        if normalised:
            chosen &= counts > 1
            own = own / np.log(np.maximum(counts, 2))
        return own[:, chosen].mean(1)
    return by_sequence(seen, value)


def features_of(s, layer, band, first_query):
    a, queries = s.attention[layer], np.arange(s.length)
    keys = sees(s, layer)
    counts = keys.sum(-1)
    entropy = row_entropy(a, keys, "A", 0) / np.log(np.maximum(counts, 2))
    late = queries >= first_query
    diagonal = np.stack([a[:, t, max(1, t - band):t + 1].sum(-1) for t in queries], 1)
    previous = np.stack([a[:, t, t - 1] if t > 1 else 0 * a[:, 0, 0] for t in queries], 1)
    if not late.any():
        return None
    return {"sink": a[:, late, 0].mean(1), "diagonal": diagonal[:, late].mean(1),
            "previous": previous[:, late].mean(1), "entropy": entropy[:, late & (counts > 1)].mean(1)}


def classes_of(features, sink, diagonal, uniform):
    return np.where(features["sink"] >= sink, 0,
                    np.where(features["diagonal"] >= diagonal, 1, np.where(features["entropy"] >= uniform, 2, 3)))


def attention_pattern(seen, _, sink=0.5, diagonal=0.5, uniform=0.85, band=0, first_query=8):
    """Returns [layers][heads] for each feature. The feature "class" is 0 for sink, 1 for diagonal, 2 for uniform and 3
    for other.
    """
    result = {}
    for layer in seen[0].layers():
        single = [f for f in (features_of(s, layer, band, first_query) for s in seen) if f]
        mean = {name: np.mean([f[name] for f in single], axis=0) for name in single[0]}
        own = classes_of(mean, sink, diagonal, uniform)
        agreement = np.mean([classes_of(f, sink, diagonal, uniform) == own for f in single], axis=0)
        for name, values in (mean | {"agreement": agreement, "class": own}).items():
            result.setdefault(name, []).append(values)
    return {name: np.array(values, dtype=float) for name, values in result.items()}


# --- inputs of the output projections --------------------------------------------------------------------------------

def weight_of(model, layer, which):
    """The matrix of a module as [out, in] in float64."""
    kind = model.config.model_type
    own = fj.layers_of(model)[0 if kind == "albert" else layer]
    weight = fj.modules_of(own, kind)[which].weight.detach().double().numpy()
    return weight.T if kind == "gpt2" else weight


def by_head(values, heads):
    return values.reshape(heads, -1)


def amp_head(seen, model, exclude_first=False):
    def value(s, l):
        w, heads = weight_of(model, l, "output"), cells(seen, l)
        d = w.shape[1] // heads
        context = rows(s.context[l], exclude_first)
        return np.array([abs(context[:, h * d:(h + 1) * d] @ w[:, h * d:(h + 1) * d].T).sum(1).mean()
                         for h in range(heads)])
    return by_sequence(seen, value)


def amp_neuron(seen, _, exclude_first=False):
    return by_sequence(seen, lambda s, l: abs(rows(s.hidden[l], exclude_first)).mean(0))


def wanda(seen, model, which, read, exclude_first):
    result = []
    for layer in seen[0].layers():
        squares = sum((rows(getattr(s, read)[layer], exclude_first) ** 2).sum(0) for s in seen) / len(seen)
        result.append(abs(weight_of(model, layer, which)).mean(0) * np.sqrt(squares))
    return result


def wanda_sp_head(seen, model, exclude_first=False):
    columns = wanda(seen, model, "output", "context", exclude_first)
    return np.array([by_head(values, cells(seen, l)).sum(1) for l, values in enumerate(columns)])


def wanda_sp_neuron(seen, model, exclude_first=False):
    return np.array(wanda(seen, model, "down", "hidden", exclude_first))


def flap(seen, model, which, read, exclude_first):
    result = []
    for layer in seen[0].layers():
        inputs = np.concatenate([rows(getattr(s, read)[layer], exclude_first) for s in seen])
        result.append(inputs.var(0, ddof=1) * (weight_of(model, layer, which) ** 2).sum(0))
    return result


def standard(values, raw):
    return values if raw else (values - values.mean()) / values.std(ddof=1)


def flap_head(seen, model, exclude_first=False, raw=False):
    columns = flap(seen, model, "output", "context", exclude_first)
    return np.array([by_head(standard(v ** 2, raw), cells(seen, l)).mean(1) for l, v in enumerate(columns)])


def flap_neuron(seen, model, exclude_first=False, raw=False):
    return np.array([standard(v, raw) for v in flap(seen, model, "down", "hidden", exclude_first)])
