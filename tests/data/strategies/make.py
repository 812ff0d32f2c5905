"""Writes the fixtures. python make.py sp|search|rank|all"""

import functools
import json
import pathlib
import re
import sys

import numpy as np

import reference as R
from net import Mask, Net, held_out, rows

OUT = pathlib.Path(__file__).parent / "fixtures"
SMALLEST = 2e-5  # a case whose border is closer than this is refused


def tidy(v):
    if isinstance(v, dict): return {k: tidy(x) for k, x in v.items()}
    if isinstance(v, (list, tuple, np.ndarray)): return [tidy(x) for x in v]
    if isinstance(v, (float, np.floating)): return float(f"{v:.10g}")
    return int(v) if isinstance(v, np.integer) else v


class Bench:
    """A model with its calibration sequences, the records of the dense run, and a corpus that is held out."""

    def __init__(self, name):
        self.net, self.sequences, self.corpus = Net(name), rows(name), held_out(name)

    @functools.cached_property
    def seen(self): return [self.net.run(ids)[0] for ids in self.sequences]

    def document(self):
        n = self.net
        doc = {"sequences": self.sequences, "held_out": self.corpus,
               "shape": {"layers": len(n.own), "heads": n.H, "groups": n.G, "head_dim": n.d, "neurons": n.I,
                         "hidden": n.D}, "parameters": n.parameters()[0]}
        return doc | ({"logits": self.logits(None)} if n.encoder else
                      {"dense_loss": n.loss(self.sequences), "dense_held_out_loss": n.loss(self.corpus)})

    def logits(self, mask): return self.net.run(self.sequences[0], mask)[1].tolist()


@functools.cache
def bench(name): return Bench(name)


CASES = []


def case(name, strategy, budget, result, **extra):
    b = bench(name)
    net, closest = b.net, min(result.gaps, default=None)
    if closest is not None and closest < SMALLEST:
        print("REFUSED", name, strategy, budget, f"gap {closest:.1e}")
        return
    doc = {"model": name, "strategy": strategy, "budget": budget, "closest": closest, "removed": result.removed,
           "mask": result.mask.json()} | result.more | extra
    if not strategy.startswith("harp"):
        r = result.removed
        doc["near_ties"] = [i for i in range(len(r) - 1) if r[i][3] is not None and R.gap(r[i][3], r[i + 1][3]) < 1e-5]
        if doc["near_ties"]: print("NEAR", name, strategy, budget, doc["near_ties"])
    doc |= {"logits": b.logits(result.mask)} if net.encoder else {"loss": net.loss(b.sequences, result.mask)}
    CASES.append(tidy(doc))
    print(name, strategy, budget, f"{len(result.removed)} removed, closest {closest or 0:.0e}")


def options(strategy):
    found = dict(part.split("=") for part in strategy.split(":")[1:])
    return {k: v == "true" if v in ("true", "false") else v for k, v in found.items()}


def order_option(o):
    order = o.pop("order", "standard")
    return o | ({"reversed": True} if order == "reversed" else {})


def sp():
    for name, strategy, *budgets in [
            ("llama-mha", "amp", "25%", "1"), ("llama-mha", "amp:rounding=exact", "25%", "50%"),
            ("llama-mha", "amp:components=heads", "30%"), ("llama-mha", "amp:components=mlp", "25%"),
            ("llama-gqa", "amp", "40%", "20%", "1.5"), ("llama-gqa", "amp:order=reversed", "40%"),
            ("llama-gqa", "amp:components=heads", "15%"), ("llama-gqa", "amp:rounding=exact", "35%"),
            ("llama-bias", "amp", "25%", "35%", "15%"), ("llama-bias", "amp:order=reversed", "35%"),
            ("gpt2", "amp", "10%", "20%"), ("gemma2", "amp", "25%", "55%"), ("gemma2", "amp:rounding=exact", "25%"),
            ("qwen3", "amp", "40%"), ("phi", "amp", "25%", "1"), ("mistral", "amp", "30%", "1", "50%"),
            ("mistral", "amp:rounding=exact", "30%"), ("bert", "amp", "15%", "20%"), ("albert", "amp", "15%")]:
        for budget in budgets:
            b, o = bench(name), order_option(options(strategy))
            counts = {R.amp_counts(budget, o.get("rounding", "code"), o.get("components", "both"), len(b.net.own), b.net.H,
                                   b.net.G, b.net.d, b.net.I, b.net.gated, *b.net.parameters(r))[1:]
                      for r in ((0, 1, 2) if b.net.kind == "albert" else (0, 1, 2, 3))}
            if len(counts) > 1: print("SENSITIVE", name, strategy, budget, counts)
            case(name, strategy, budget, R.amp(b.net, b.seen, budget, **o))
    for name in ("llama-mha", "llama-gqa", "gpt2", "phi", "bert"):
        for budget in ("25%", "50%"): case(name, "mag_sp", budget, R.mag_sp(bench(name).net, budget))
    case("llama-gqa", "mag_sp:components=heads", "50%", R.mag_sp(bench("llama-gqa").net, "50%", "heads"))
    case("llama-gqa", "mag_sp:reversed=true", "50%", R.mag_sp(bench("llama-gqa").net, "50%", reversed=True))
    for name, strategy, *budgets in [
            ("llama-mha", "wanda_sp", "40%"), ("llama-gqa", "wanda_sp", "25%", "50%"), ("llama-bias", "wanda_sp", "50%"),
            ("gpt2", "wanda_sp", "25%", "50%"), ("gemma2", "wanda_sp", "25%", "50%"), ("qwen3", "wanda_sp", "50%"),
            ("phi", "wanda_sp", "50%"), ("bert", "wanda_sp", "50%"), ("llama-gqa", "wanda_sp:components=heads", "50%"),
            ("llama-gqa", "wanda_sp:components=mlp", "50%"), ("mistral", "wanda_sp:reversed=true", "40%")]:
        for budget in budgets:
            b = bench(name)
            case(name, strategy, budget, R.wanda_sp(b.net, b.sequences, budget, **options(strategy)))
    for name, strategy, *budgets in [
            ("llama-mha", "flap", "20%", "40%"), ("llama-gqa", "flap", "20%", "40%"), ("llama-bias", "flap", "25%", "50%"),
            ("gpt2", "flap", "25%", "50%"), ("gemma2", "flap", "20%", "50%"), ("phi", "flap", "30%"),
            ("qwen3", "flap", "50%"), ("bert", "flap", "30%"), ("llama-gqa", "flap:components=heads", "50%"),
            ("llama-gqa", "flap:components=mlp", "30%")]:
        for budget in budgets: flap_case(name, strategy, budget)


def search():
    harps = [("llama-gqa", "1", "top"), ("llama-gqa", "2", "top"), ("llama-bias", "2", "top"), ("gpt2", "2", "top"),
             ("gemma2", "2", "top"), ("gemma2", "3", "top"), ("gemma3", "2", "top"), ("qwen3", "1", "top"),
             ("phi", "2", "top"), ("gemma3-gguf", "3", "top"), ("gemma3-gguf", "3", "middle"),
             ("gemma3-gguf", "2", "bottom"), ("llama-mha", "1", "bottom")]
    for name, budget, position in harps:
        b = bench(name)
        strategy = "harp" + ("" if position == "top" else f":position={position}")
        harp_case(name, strategy, budget, R.harp(b.net, b.corpus, int(budget), position))
    b = bench("gemma3-gguf")
    scores = R.importance(b.net, b.seen, "attention")
    harp_case("gemma3-gguf", "harp:position=by_metric:metric=attention_importance", "3",
              R.harp(b.net, b.corpus, 3, "by_metric", scores=scores), metric_scores=scores)
    for name, strategy, budget, values in [
            ("llama-bias", "harp:alpha=fixed:value=0.2", "2", [0.2, 0.2]),
            ("gemma2", "harp:alpha=list:values=0.8/0.2", "2", [0.8, 0.2]),
            ("gemma3-gguf", "harp:alpha=list:position=middle:values=0.6/0/0.3", "3", [0.6, 0.0, 0.3])]:
        harp_case(name, strategy, budget, R.harp(bench(name).net, None, len(values), "middle" if "middle" in strategy else "top",
                                                 values))
    for name, ratio in (("llama-gqa", 0.1), ("gemma2", 0.2)):
        b = bench(name)
        result = R.harp(b.net, None, 1, "top", [0.5])
        cut = R.flap(b.net, b.seen, f"{ratio * 100:g}%", "mlp")
        for unit in cut.removed: result.cut(tuple(unit[:3]), unit[3])
        bias = R.flap_bias(b.net, b.seen, cut.mask)
        result.gaps += cut.gaps
        harp_case(name, f"harp:alpha=fixed:mlp=flap:mlp_ratio={ratio}:value=0.5", "1", result,
                  threshold=cut.more["threshold"], flap_bias=checksum(bias),
                  loss_flap_bias=b.net.loss(b.sequences, with_bias(b.net, result.mask, bias)))
    for name, *budgets in [("llama-mha", "40%"), ("llama-gqa", "10%", "25%", "40%"), ("llama-bias", "32%"),
                           ("gpt2", "30%", "45%"), ("gemma2", "26%", "40%"), ("gemma3-gguf", "35%", "45%"),
                           ("phi", "40%"), ("mistral", "30%")]:
        for budget in budgets: two_stage_case(name, budget)
    for name, units, *budgets in [
            ("llama-mha", "heads", "5"), ("llama-gqa", "heads", "50%"), ("llama-bias", "heads", "25%"), ("gpt2", "heads", "50%"),
            ("gemma2", "heads", "50%"), ("qwen3", "heads", "50%"), ("phi", "heads", "2"), ("gemma3-gguf", "attention", "50%"),
            ("gemma3-gguf", "mlps", "50%"), ("gemma3-gguf", "blocks", "50%"), ("gemma2", "attention", "2"),
            ("gpt2", "mlps", "1"), ("gpt2", "attention", "2"), ("phi", "attention", "1"), ("phi", "mlps", "1"),
            ("llama-bias", "attention", "1"), ("llama-bias", "blocks", "1")]:
        for budget in budgets:
            b = bench(name)
            text = "loss_greedy:screen=false" + ("" if units == "heads" else f":units={units}")
            case(name, text, budget, R.loss_greedy(b.net, b.sequences, budget, units))
    b = bench("gemma3-gguf")
    case("gemma3-gguf", "loss_greedy:screen=false:units=blocks", "3",
         R.loss_greedy(b.net, b.sequences, "3", "blocks", protect=(0, 5)), protect="first_last")


def harp_case(name, strategy, budget, result, **extra):
    b = bench(name)
    extra["held_out_loss"] = b.net.loss(b.corpus, result.mask)
    case(name, strategy, budget, result, **extra)


def two_stage_case(name, budget):
    b = bench(name)
    counts = [R.two_stage_counts(b.net, budget, r) for r in range(4)]
    neurons = [n for _, n in counts]
    if len({k for k, _ in counts}) > 1 or min(neurons) < 0 or len({int(n) for n in neurons} | {round(n) for n in neurons}) > 1:
        print("SENSITIVE", name, "two_stage", budget, counts)
    result = R.two_stage(b.net, b.seen, b.sequences[0], budget)
    result.more["neurons_unrounded"] = counts[0][1]
    case(name, "two_stage", budget, result)


def rank():
    for name, strategy, *budgets in [
            ("llama-mha", "gate_norm", "1"), ("llama-gqa", "gate_norm", "50%"), ("gemma3-gguf", "gate_norm", "3", "25%"),
            ("gpt2", "gate_norm", "1"), ("phi", "gate_norm", "1"), ("qwen3", "gate_norm", "1"), ("bert", "gate_norm", "1"),
            ("gemma3-gguf", "gate_norm:reversed=true", "2"),
            ("gemma3-gguf", "attention_importance", "3"), ("phi", "attention_importance", "1"),
            ("gemma2", "attention_importance", "2"), ("bert", "attention_importance", "1"),
            ("llama-bias", "attention_importance", "1"), ("gemma3-gguf", "mlp_importance", "50%"),
            ("phi", "mlp_importance", "1"), ("gpt2", "mlp_importance", "1"), ("bert", "mlp_importance", "1"),
            ("gemma3-gguf", "block_influence", "3"), ("llama-gqa", "block_influence", "1"), ("phi", "block_influence", "1"),
            ("bert", "block_influence", "1"), ("gemma2", "block_influence", "1"),
            ("llama-gqa", "sink_head", "25%", "50%"), ("gpt2", "sink_head", "5"), ("gemma2", "sink_head", "50%"),
            ("mistral", "sink_head", "25%"), ("bert", "sink_head", "25%"), ("gemma3-gguf", "sink_head", "25%"),
            ("gemma3-gguf", "sink_head:reversed=true", "25%"), ("albert", "sink_head", "1"),
            ("gemma3-gguf", "sink_block", "2"), ("gpt2", "sink_block", "1"), ("bert", "sink_block", "50%"),
            ("llama-gqa", "entropy", "50%"), ("gemma2", "entropy", "25%"), ("mistral", "entropy", "50%"),
            ("bert", "entropy", "50%"), ("albert", "entropy", "2"), ("gpt2", "entropy_inverse", "50%"),
            ("llama-gqa", "entropy_inverse", "2"), ("bert", "entropy_inverse", "25%")]:
        for budget in budgets:
            b = bench(name)
            case(name, strategy, budget, R.ranking(b.net, b.seen, strategy.split(":")[0], budget, **options(strategy)))
    b = bench("gemma3-gguf")
    for strategy, budget in (("sink_head", "25%"), ("sink_block", "34%"), ("block_influence", "2"), ("gate_norm", "2")):
        case("gemma3-gguf", strategy, budget, R.ranking(b.net, b.seen, strategy, budget, protect=(0, 5)), protect="first_last")
    for strategy, *budgets in (("bottom_up", "3", "50%"), ("top_down", "2", "4")):
        for budget in budgets: case("gemma3-gguf", strategy, budget, R.positional(b.net, strategy, budget))


def checksum(bias):
    return [{"layer": l, "sublayer": part, "norm": float(np.linalg.norm(v)), "first": v[:4]} for (l, part), v in bias.items()]


def with_bias(net, mask, bias):
    out = Mask(net)
    out.layers, out.bias = mask.layers, bias
    return out


def flap_case(name, strategy, budget):
    b, net = bench(name), bench(name).net
    result = R.flap(net, b.seen, budget, **options(strategy))
    if result.more["border_margin"] < 1e-6: print("BORDER", name, strategy, budget)
    extra = {"flap_bias": checksum(own := R.flap_bias(net, b.seen, result.mask))}
    if net.encoder:
        extra["logits_flap_bias"] = b.logits(with_bias(net, result.mask, own))
    else:
        extra["loss_flap_bias"] = net.loss(b.sequences, with_bias(net, result.mask, own))
        if not net.post_norm:
            mode = R.mode_bias(net, b.sequences, result.mask)
            extra |= {"mode_bias": checksum(mode),
                      "loss_mode_bias": net.loss(b.sequences, with_bias(net, result.mask, mode))}
    case(name, strategy, budget, result, **extra)


def amp_llama2():
    """AMP's counts for published shapes: the paper's rates are 9.01, 21.02, 30.03 and 51.06 %."""
    out = []
    shapes = {"LLaMA-2-7B": dict(L=32, H=32, G=32, d=128, I=11008, model=6738415616, layer=202383360,
                                 attention=4 * 4096 ** 2, mlp=3 * 4096 * 11008),
              "Llama-3.1-8B": dict(L=32, H=32, G=8, d=128, I=14336, model=8030261248, layer=218112000,
                                   attention=2 * 4096 ** 2 + 2 * 4096 * 1024, mlp=3 * 4096 * 14336)}
    for shape, s in shapes.items():
        for components in ("both", "heads", "mlp"):
            for budget in ("3", "7", "10", "17", "20%", "30%"):
                counts = {r: R.amp_counts(budget, r, components, gated=True, **s) for r in ("code", "exact")}
                if counts["code"][0] > 1: continue  # more than there is: a refusal
                rho, p, q = counts["code"]
                k, exact = float(budget.rstrip("%")), counts["exact"][2]
                rule, cut = R.gqa_rule(s["H"], s["G"], p)
                if components == "both" and cut != p:
                    exact = R.exact_neurons(rho, cut, s["H"], s["G"], s["d"], s["I"], True)
                out.append({"shape": shape, "components": components, "budget": budget,
                            "compression_percent": k if "%" in budget else 100 * k * s["layer"] / s["model"],
                            "rho": rho, "heads": p, "neurons_code": q, "neurons_exact": exact,
                            "gqa": rule if s["H"] != s["G"] else None, "heads_cut": cut})
    return tidy(out)


def write(name, **more):
    OUT.mkdir(exist_ok=True)
    names = sorted({c["model"] for c in CASES})
    doc = {"format": 1, "models": {n: tidy(bench(n).document()) for n in names}, "cases": CASES} | more
    text = json.dumps(doc, separators=(",", ":")).replace('},{"model"', '},\n{"model"')
    (OUT / name).write_text(text + "\n")
    print(name, len(text), "bytes,", len(CASES), "cases")


if __name__ == "__main__":
    which = sys.argv[1]
    if which in ("sp", "all"): sp()
    if which in ("search", "all"): search()
    if which in ("rank", "all"): rank()
    more = {"amp_counts": amp_llama2()} if which in ("sp", "all") else {}
    write({"all": "strategies.json"}.get(which, f"strategies_{which}.json"), **more)
