"""Pruning strategies, from the definitions in resources/manual/strategies.md and metrics.md. Independent of Secateur.

Every strategy returns a Result: the mask, the units removed in order with their scores, and figures of its own. Units
are (kind, layer, index) with index None for sublayers and blocks. All in float64, one sequence at a time.
"""

import dataclasses
import functools
import math
from fractions import Fraction

import numpy as np

from net import Mask, Net

ALPHAS = [i / 10 for i in range(11)]


@dataclasses.dataclass
class Result:
    mask: Mask
    removed: list = dataclasses.field(default_factory=list)   # [kind, layer, index, score]
    gaps: list = dataclasses.field(default_factory=list)      # relative distance of the last cut from the first kept
    more: dict = dataclasses.field(default_factory=dict)

    def cut(self, unit, score):
        self.mask.cut(*unit)
        self.removed.append([*unit, score])


def rounded(x):
    """Scores are compared after rounding to a relative 1e-6."""
    return float(f"{x:.6e}")


def gap(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-300)


def ranked(units, scores, largest=False):
    """(unit, score) in the order of removal; ties to the first unit."""
    return sorted(zip(units, scores), key=lambda p: -rounded(p[1]) if largest else rounded(p[1]))


def take(result, order, count):
    if 0 < count < len(order): result.gaps.append(gap(order[count - 1][1], order[count][1]))
    for unit, score in order[:count]: result.cut(unit, score)
    return result


def share(budget):
    return Fraction(budget.rstrip("%")) / 100


def units_of(budget, count):
    return int(share(budget) * count) if budget.endswith("%") else int(budget)


def pooled(parts):
    return float(np.concatenate(parts).mean())


def by_own(net, values):
    """Sums a list over applications to the own layers (ALBERT: the 12 applications of one layer)."""
    out = [0] * len(net.own)
    for l, v in enumerate(values): out[net.of[l]] = out[net.of[l]] + v
    return out


# --- scores ----------------------------------------------------------------------------

def gate_norm(net, seen):
    out = []
    for l in range(len(net.own)):
        q, k = net.qk(l)
        m = sum(q[net.head_columns(h)].T @ k[net.head_columns(h // net.n)] for h in range(net.H))
        out.append(float(np.linalg.norm(m)))
    return out


def one_minus_cos(x, y):
    """1 - cos of each row, in the chord form."""
    unit = lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True)
    return 0.5 * ((unit(x) - unit(y)) ** 2).sum(-1)


def importance(net, seen, which):
    out = []
    for l in range(net.L):
        parts = []
        for s in seen:
            x, a, f = s.x[l], s.a[l], s.f[l]
            if which == "block": pair = x, s.out[l]
            elif net.encoder:  # dropping attention leaves LN(x); dropping the MLP leaves LN(y)
                y = net.norm(l, "ln1", x + a)
                pair = (net.norm(l, "ln1", x), y) if which == "attention" else (net.norm(l, "ln2", y), s.out[l])
            elif which == "attention": pair = x, x + a
            else: pair = (x, x + f) if net.parallel else (x + a, x + a + f)
            parts.append(one_minus_cos(*pair))
        out.append(pooled(parts))
    return by_own(net, out)


def per_sequence(net, seen, value):
    """value(seen of one sequence, layer) -> array; mean over sequences, sum over the applications of an own layer."""
    return by_own(net, [np.mean([value(s, l) for s in seen], 0) for l in range(net.L)])


def sink_head(net, seen):
    return per_sequence(net, seen, lambda s, l: s.attention[l][:, :, 0].mean(1))


def sink_block(net, seen):
    return [float(np.mean(own)) for own in sink_head(net, seen)]


def entropy(net, seen, epsilon=1e-7):
    """Variant C over visible keys only (in float64 a masked probability is exactly 0, no other is)."""
    def rows(s, l):
        a = s.attention[l]
        return -np.where(a > 0, (a + epsilon) * np.log(a + epsilon), 0).sum(-1).mean(-1)
    return per_sequence(net, seen, rows)


def amp_head(net, seen):
    def value(s, l):
        w, c = net.w_o(l), s.ctx[l]
        cols = [net.head_columns(h) for h in range(net.H)]
        return np.array([np.abs(c[:, k] @ w[:, k].T).sum(1).mean() for k in cols])
    return per_sequence(net, seen, value)


def amp_neuron(net, seen):
    return per_sequence(net, seen, lambda s, l: np.abs(s.hidden[l]).mean(0))


def by_head(net, columns):
    return columns.reshape(net.H, net.d).sum(1)


def mag_scores(net, l):
    return by_head(net, np.linalg.norm(net.w_o(l), axis=0)), np.linalg.norm(net.w_down(l), axis=0)


def wanda_scores(net, seen, l):
    """Of one own layer; ALBERT is left out by the caller."""
    def columns(w, inputs):
        return np.abs(w).mean(0) * np.sqrt(sum((x ** 2).sum(0) for x in inputs) / len(inputs))
    return (by_head(net, columns(net.w_o(l), [s.ctx[l] for s in seen])),
            columns(net.w_down(l), [s.hidden[l] for s in seen]))


def z_score(x):
    return (x - x.mean()) / x.std(ddof=1)


def flap_scores(net, seen, l):
    """WIFV; variance over all tokens; heads: squared, standardised over the layer's columns, then the mean of a head."""
    def wifv(w, inputs): return np.concatenate(inputs).var(0, ddof=1) * (w ** 2).sum(0)
    heads = z_score(wifv(net.w_o(l), [s.ctx[l] for s in seen]) ** 2).reshape(net.H, net.d).mean(1)
    return heads, z_score(wifv(net.w_down(l), [s.hidden[l] for s in seen]))


# --- one-shot rankings ------------------------------------------------------------------------------------------------

LAYER_SCORES = {"gate_norm": (gate_norm, "attention", False),
                "attention_importance": (functools.partial(importance, which="attention"), "attention", False),
                "mlp_importance": (functools.partial(importance, which="mlp"), "mlp", False),
                "block_influence": (functools.partial(importance, which="block"), "block", False),
                "sink_block": (sink_block, "block", True)}
HEAD_SCORES = {"sink_head": (sink_head, True), "entropy": (entropy, True), "entropy_inverse": (entropy, False)}


def ranking(net, seen, strategy, budget, reversed=False, protect=()):
    """P% = floor(P% of all units), protected ones included; chosen among the unprotected."""
    layers = range(len(net.own))
    if strategy in LAYER_SCORES:
        score, kind, largest = LAYER_SCORES[strategy]
        scores, units = score(net, seen), [(kind, l, None) for l in layers]
    else:
        score, largest = HEAD_SCORES[strategy]
        scores = [float(v) for own in score(net, seen) for v in own]
        units = [("head", l, h) for l in layers for h in range(net.H)]
    free = [(u, s) for u, s in zip(units, scores) if u[1] not in protect]
    order = ranked(*zip(*free), largest != reversed)
    result = take(Result(Mask(net)), order, units_of(budget, len(units)))
    result.more = {"scores": [[*u, s] for u, s in zip(units, scores)]}
    return result


def positional(net, strategy, budget):
    """Bottom-up 1, 2, ...; top-down L-2, L-3, ...; the first and the last block are kept."""
    order = list(range(1, net.L - 1)) if strategy == "bottom_up" else list(range(net.L - 2, 0, -1))
    result = Result(Mask(net))
    for l in order[:units_of(budget, net.L)]: result.cut(("block", l, None), None)
    return result


# --- AMP ------------------------------------------------------------------------------------------------

def amp_counts(budget, rounding, components, L, H, G, d, I, gated, model, layer, attention, mlp):
    """(rho, heads, neurons) of each layer before the GQA rule. A bare budget is in layer equivalents, P% of all
    parameters; parameters: of the model, of a layer, of its attention, of its MLP."""
    k = Fraction(budget.rstrip("%"))
    removed = k * model / 100 if budget.endswith("%") else k * layer
    of = {"both": attention + mlp, "heads": attention, "mlp": mlp}[components]
    rho = float(removed / (L * of)) if isinstance(of, int) else float(removed) / (L * of)
    p = 0 if components == "mlp" else min(round(rho * H), H - 1)
    if components == "heads": return rho, p, 0
    if components == "mlp": return rho, 0, min(round(I * rho), I - 1)
    q = code_neurons(rho, p, H, I) if rounding == "code" else exact_neurons(rho, p, H, G, d, I, gated)
    return rho, p, q


def code_neurons(rho, p, H, I):
    return max(0, min(round(I * ((H / I) * (rho - p / H) + rho)), I - 1))


def exact_neurons(rho, p, H, G, d, I, gated):
    """The rounded part of the heads, in neurons."""
    return max(0, min(round(I * rho + (rho * H - p) * head_weight(H, G, d, gated)), I - 1))


def head_weight(H, G, d, gated):
    """Parameters of a head over those of a neuron."""
    return (2 + 2 * G / H) * d / (3 if gated else 2)


def gqa_rule(H, G, p):
    """Which structural option removes p heads, and how many heads that is."""
    if p % G == 0: return "a", p
    groups = round(p * G / H)
    return ("b", groups * (H // G)) if 0 < groups < G else ("c", p)


def amp_head_choice(net, scores, p, largest):
    """The heads to cut in a layer in their order, the rule, and the gap at the border."""
    rule, count = gqa_rule(net.H, net.G, p)
    gaps, n = [], net.n
    def lowest(units, values, many):
        order = ranked(units, values, largest)
        if 0 < many < len(order): gaps.append(gap(order[many - 1][1], order[many][1]))
        return order[:many]
    if rule == "a" and n > 1:
        groups = [lowest(range(g * n, g * n + n), scores[g * n:g * n + n], count // net.G) for g in range(net.G)]
        chosen = [pair for own in groups for pair in own]
    elif rule == "b" and n > 1:
        sums = scores.reshape(net.G, n).sum(1)
        chosen = [(h, scores[h]) for g, _ in lowest(range(net.G), sums, count // n) for h in range(g * n, g * n + n)]
    else:
        chosen = lowest(range(net.H), scores, count)
    return rule, chosen, gaps


def amp(net, seen, budget, components="both", rounding="code", reversed=False, reading=0):
    rho, p, q = amp_counts(budget, rounding, components, len(net.own), net.H, net.G, net.d, net.I, net.gated,
                           *net.parameters(reading))
    rule, count = gqa_rule(net.H, net.G, p)
    if rounding == "exact" and components == "both" and count != p:  # (b) is a rounding of heads too
        q = exact_neurons(rho, count, net.H, net.G, net.d, net.I, net.gated)
    result = Result(Mask(net))
    heads, neurons = amp_head(net, seen), amp_neuron(net, seen)
    for l in range(len(net.own)):
        _, chosen, gaps = amp_head_choice(net, heads[l], p, reversed)
        result.gaps += gaps
        for h, score in chosen: result.cut(("head", l, h), float(score))
        take(result, ranked([("neuron", l, m) for m in range(net.I)], neurons[l].tolist(), reversed), q)
    result.more = {"rho": rho, "heads_per_layer": p, "neurons_per_layer": q, "gqa": rule if net.n > 1 else None,
                   "heads_cut_per_layer": count, "head_scores": [v.tolist() for v in heads]}
    return result


# --- Mag-SP, Wanda-SP, FLAP -----------------------------------------------------------------------------

def cut_layer(net, result, l, heads, neurons, budget, components, reversed):
    kinds = [("head", heads, "heads"), ("neuron", neurons, "mlp")]
    for kind, scores, name in kinds:
        if components in ("both", name):
            order = ranked([(kind, l, i) for i in range(len(scores))], scores.tolist(), reversed)
            take(result, order, units_of(budget, len(order)))


def mag_sp(net, budget, components="both", reversed=False):
    result = Result(Mask(net))
    for l in range(net.L): cut_layer(net, result, l, *mag_scores(net, l), budget, components, reversed)
    return result


def wanda_sp(net, sequences, budget, components="both", reversed=False):
    """Layer l is scored whole behind the cut layers below it, heads and neurons from one pass; then it is cut."""
    result, scores = Result(Mask(net)), []
    for l in range(net.L):
        seen = [net.run(ids, result.mask)[0] for ids in sequences]
        heads, neurons = wanda_scores(net, seen, l)
        scores.append({"heads": heads.tolist(), "neurons": neurons.tolist()})
        cut_layer(net, result, l, heads, neurons, budget, components, reversed)
    result.more = {"layer_scores": scores}
    return result


def flap(net, seen, budget, components="both"):
    units, scores, weights = [], [], []
    for l in range(net.L):
        heads, neurons = flap_scores(net, seen, l)
        for kind, values, name in (("head", heads, "heads"), ("neuron", neurons, "mlp")):
            if components not in ("both", name): continue
            units += [(kind, l, i) for i in range(len(values))]
            scores += values.tolist()
            weights += [head_weight(net.H, net.G, net.d, net.gated) if kind == "head" else 1.0] * len(values)
    down = sorted(range(len(units)), key=lambda i: -rounded(scores[i]))
    kept = np.cumsum([weights[i] for i in down])
    distance = np.abs(kept - (1 - float(share(budget))) * kept[-1])
    border = int(np.argmin(distance))
    threshold = scores[down[border]]
    result = Result(Mask(net))
    for i in [i for i in down[::-1] if scores[i] <= threshold]: result.cut(units[i], scores[i])
    if border: result.gaps.append(gap(threshold, scores[down[border - 1]]))
    second = float(np.partition(distance, 1)[1])
    result.more = {"threshold": threshold, "head_weight": head_weight(net.H, net.G, net.d, net.gated),
                   "weight_all": float(kept[-1]), "weight_kept": float(kept[border] - weights[down[border]]),
                   "border_margin": (second - float(distance[border])) / float(kept[-1])}
    return result


def flap_bias(net, seen, mask):
    """b += W_removed mean(x_removed) with the dense model's inputs (FLAP): {(layer, sublayer): vector}."""
    out = {}
    for l, own in enumerate(mask.layers):
        heads = sorted(c for h in own.heads for c in range(net.d * h, net.d * (h + 1)))
        for part, w, name, cut in (("attention", net.w_o(l), "ctx", heads), ("mlp", net.w_down(l), "hidden", sorted(own.neurons))):
            if cut: out[l, part] = w[:, cut] @ np.concatenate([getattr(s, name)[l] for s in seen]).mean(0)[cut]
    return out


def mode_bias(net, sequences, cut):
    """Compensation of mode `bias`: from the first layer to the last, attention before the MLP behind
    it, the mean over tokens of dense output - cut and so far compensated output, without biases of the projection.
    Nothing below the first cut, nothing where all units of a sublayer are gone. Not for post-norm models."""
    assert not net.post_norm and not net.encoder
    dense = [net.run(ids)[0] for ids in sequences]
    mask, begun = Mask(net), False
    mask.layers = cut.layers
    for l, own in enumerate(mask.layers):
        for part, name, all_gone, cuts in (("attention", "o_out", len(own.heads) == net.H, own.heads),
                                           ("mlp", "down_out", len(own.neurons) == net.I, own.neurons)):
            begun = begun or bool(cuts)
            if not begun or all_gone: continue
            now = [net.run(ids, mask)[0] for ids in sequences]
            both = [np.concatenate([getattr(s, name)[l] for s in runs]) for runs in (dense, now)]
            mask.bias[l, part] = (both[0] - both[1]).mean(0)
    return mask.bias


# --- HARP -----------------------------------------------------------------------------------------------

def harp_layers(net, P, position, scores=None, largest=False):
    if position == "top": return list(range(net.L - P, net.L))
    if position == "bottom": return list(range(P))
    if position == "middle": return list(range((net.L - P) // 2, (net.L - P) // 2 + P))
    order = ranked(range(net.L), scores, largest)
    return sorted(l for l, _ in order[:P])


def harp(net, held_out, P, position="top", alpha="search", scores=None, values=None):
    """alpha: "search" or a list, last layer first. Search: layers from the last to the first of the chosen, 11 alphas
    each, lower layers intact, the lowest loss on the held-out corpus; ties to the smaller alpha."""
    result, curves = Result(Mask(net)), []
    layers = harp_layers(net, P, position, scores)[::-1]
    for i, l in enumerate(layers):
        if alpha == "search":
            losses = []
            for a in ALPHAS:
                result.mask.layers[l].attention = a
                losses.append(net.loss(held_out, result.mask))
            best = min(range(11), key=lambda k: (rounded(losses[k]), k))
            two = sorted(losses)[:2]
            result.gaps.append(gap(*two))
            chosen = ALPHAS[best]
            curves.append({"layer": l, "loss": losses, "alpha": chosen})
        else:
            chosen = alpha[i]
        result.mask.layers[l].attention = chosen if chosen else "drop"
        result.removed.append(["bypass_qk", l, None, chosen])
    result.more = {"layers": layers, "alphas": [r[3] for r in result.removed]}
    if curves: result.more["curves"] = curves
    return result


# --- greedy on the measured loss, 2SSP ----------------------------------------------------------------------------------

def greedy(net, sequences, units, count, result):
    """Each step removes the unit whose removal leaves the lowest loss; ties to the first unit."""
    left, steps = list(units), []
    for _ in range(count):
        losses = []
        for unit in left:
            result.mask.cut(*unit)
            losses.append(net.loss(sequences, result.mask))
            result.mask.undo(*unit)
        best = min(range(len(left)), key=lambda i: (rounded(losses[i]), i))
        if len(left) > 1: result.gaps.append(gap(*sorted(losses)[:2]))
        steps.append({"loss": losses[best], "tried": len(left)})
        result.cut(left.pop(best), losses[best])
    result.more["steps"] = steps
    return result


def loss_greedy(net, sequences, budget, units="heads", protect=()):
    layers = [l for l in range(net.L) if l not in protect]
    all_units = net.L * net.H if units == "heads" else net.L
    pool = ([("head", l, h) for l in layers for h in range(net.H)] if units == "heads" else
            [({"attention": "attention", "mlps": "mlp", "blocks": "block"}[units], l, None) for l in layers])
    result = Result(Mask(net), more={"dense_loss": net.loss(sequences)})
    return greedy(net, sequences, pool, units_of(budget, all_units), result)


def two_stage_counts(net, budget, reading=0):
    """(K attention sublayers, neurons of each layer before rounding) of 2SSP."""
    s = float(share(budget))
    _, _, attention, mlp = net.parameters(reading)
    K = round(net.L * s ** (mlp / attention / 1.5))
    neuron = (mlp - (0 if reading == 2 else net.bias_of(0, "down").size * has_bias(net))) / net.I
    return K, (s * net.L * (attention + mlp) - K * attention) / (net.L * neuron)


def has_bias(net): return net.parts[0]["down"].bias is not None


def two_stage(net, seen, sequence, budget):
    """Neurons first, by the mean over sequences of the 2-norm over tokens of the down projection's input in the dense
    model; then attention sublayers greedily on one sequence."""
    K, neurons = two_stage_counts(net, budget)
    neurons = min(max(round(neurons), 0), net.I - 1)
    result = Result(Mask(net))
    scores = per_sequence(net, seen, lambda s, l: np.linalg.norm(s.hidden[l], axis=0))
    for l in range(net.L):
        take(result, ranked([("neuron", l, m) for m in range(net.I)], scores[l].tolist()), neurons)
    result.more = {"K": K, "neurons_per_layer": neurons, "loss_after_neurons": net.loss([sequence], result.mask)}
    return greedy(net, [sequence], [("attention", l, None) for l in range(net.L)], K, result)
