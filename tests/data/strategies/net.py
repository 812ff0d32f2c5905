"""The small models run in float64 with transformers, with a zero-mask and records of the activations.

Names: x block input, ctx input of the output projection, a and f what attention and the MLP add to
the stream (after a post-norm), hidden input of the down projection. A list over layers has one entry per application;
ALBERT's applications share one layer, whose mask is that of index 0.
"""

import json
import pathlib

import numpy as np
import torch
import transformers as tf
from safetensors.torch import load_file
from torch.overrides import TorchFunctionMode

torch.set_num_threads(1)
DATA = pathlib.Path(__file__).parent.parent / "forward"
ENCODERS = ("bert", "roberta", "xlm-roberta", "albert")


class Double(TorchFunctionMode):
    """float64 where transformers asks for float32 (norms, softmax, rotary angles)."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        wide = lambda v: torch.float64 if isinstance(v, torch.dtype) and v == torch.float32 else v
        return function(*map(wide, args), **{k: wide(v) for k, v in (kwargs or {}).items()})


class LayerMask:
    def __init__(self):
        self.heads, self.neurons = set(), set()
        self.attention = None        # None, "drop", or alpha of a Q/K bypass
        self.mlp = self.block = False

    def entry(self, layer):
        e = {"layer": layer}
        if self.heads: e["heads_cut"] = sorted(self.heads)
        if self.neurons: e["neurons_cut"] = sorted(self.neurons)
        if self.attention == "drop": e["attention"] = "drop"
        elif self.attention is not None: e |= {"attention": "bypass_qk", "alpha": self.attention}
        if self.mlp: e["mlp"] = "drop"
        if self.block: e["block"] = "drop"
        return e


class Mask:
    def __init__(self, net):
        self.layers = [LayerMask() for _ in net.own]
        self.bias = {}               # (layer, "attention" | "mlp") -> vector added to the projection's bias

    def cut(self, kind, layer, index=None):
        own = self.layers[layer]
        if kind == "head": own.heads.add(index)
        elif kind == "neuron": own.neurons.add(index)
        elif kind == "attention": own.attention = "drop"
        else: setattr(own, kind, True)
        return self

    def undo(self, kind, layer, index=None):
        own = self.layers[layer]
        if kind == "head": own.heads.discard(index)
        elif kind == "attention": own.attention = None
        else: setattr(own, kind, False)

    def json(self):
        return [e for e in (m.entry(l) for l, m in enumerate(self.layers)) if len(e) > 1]


class Seen:
    """Records of one sequence: lists over applications of [T, ...] arrays."""

    def __init__(self):
        self.x, self.ctx, self.o_out, self.a, self.hidden, self.down_out, self.f = [], [], [], [], [], [], []
        self.out, self.attention, self.y = [], [], []


class Net:
    def __init__(self, name):
        config = tf.AutoConfig.from_pretrained(DATA / name)
        config._attn_implementation = "eager"
        self.name, self.kind = name, config.model_type
        self.encoder = self.kind in ENCODERS
        auto = tf.AutoModelForSequenceClassification if self.encoder else tf.AutoModelForCausalLM
        self.model = auto.from_pretrained(DATA / name, config=config, dtype=torch.float32).eval().double()
        for p in self.model.parameters(): p.requires_grad_(False)
        c, base = config, self.model.base_model
        self.L, self.H, self.D = c.num_hidden_layers, c.num_attention_heads, c.hidden_size
        self.G = getattr(c, "num_key_value_heads", None) or self.H
        self.d = getattr(c, "head_dim", None) or self.D // self.H
        self.n, self.parallel, self.post_norm = self.H // self.G, self.kind == "phi", self.kind.startswith("gemma")
        self.gated = self.kind not in ENCODERS + ("phi", "gpt2")
        if self.kind == "albert": self.own = list(base.encoder.albert_layer_groups[0].albert_layers)
        elif self.encoder: self.own = list(base.encoder.layer)
        else: self.own = list(base.h if self.kind == "gpt2" else base.layers)
        self.of = [l if len(self.own) > 1 else 0 for l in range(self.L)]  # own layer of each application
        self.parts = [self._parts(layer) for layer in self.own]
        self.mask = self.seen = self._v = None
        for l, layer in enumerate(self.own): self._hook(l, layer)
        self.I = self.w_down(0).shape[1]

    def _parts(self, layer):
        k = self.kind
        if k == "gpt2":
            return dict(attn=layer.attn, fused=layer.attn.c_attn, o=layer.attn.c_proj, up=[layer.mlp.c_fc],
                        down=layer.mlp.c_proj)
        if k == "albert":
            s = layer.attention
            return dict(attn=s, q=s.query, k=s.key, v=s.value, o=s.dense, up=[layer.ffn], down=layer.ffn_output,
                        ln1=s.LayerNorm, ln2=layer.full_layer_layer_norm)
        if self.encoder:
            s, out = layer.attention.self, layer.attention.output
            return dict(attn=s, q=s.query, k=s.key, v=s.value, o=out.dense, up=[layer.intermediate.dense],
                        down=layer.output.dense, ln1=out.LayerNorm, ln2=layer.output.LayerNorm)
        s, m = layer.self_attn, layer.mlp
        p = dict(attn=s, q=s.q_proj, k=s.k_proj, v=s.v_proj, o=s.dense if k == "phi" else s.o_proj,
                 up=[m.fc1] if k == "phi" else [m.gate_proj, m.up_proj], down=m.fc2 if k == "phi" else m.down_proj)
        if self.post_norm: p |= dict(post_a=layer.post_attention_layernorm, post_f=layer.post_feedforward_layernorm)
        return p

    # --- weights, HF orientation [out, in] -------------------------------------------------------------------------
    def w_o(self, l): return self._matrix(self.parts[self.of[l]]["o"])
    def w_down(self, l): return self._matrix(self.parts[self.of[l]]["down"])
    def _matrix(self, m): return (m.weight.T if self.kind == "gpt2" else m.weight).numpy()

    def qk(self, l):
        p = self.parts[self.of[l]]
        if "fused" in p: return np.split(self._matrix(p["fused"]), 3)[:2]
        return p["q"].weight.numpy(), p["k"].weight.numpy()

    def bias_of(self, l, part):
        b = self.parts[self.of[l]][part].bias
        return np.zeros(self.D) if b is None else b.numpy()

    def head_columns(self, h): return slice(h * self.d, (h + 1) * self.d)

    # --- parameters --------------------------------------------------------------------------------------------------
    def parameters(self, reading=0):
        """(model, layer, attention, MLP) parameters of one layer. Readings of what belongs to attention and MLP:
        0 weights and biases of the projections and q/k norms; 1 without q/k norms; 2 weights only; 3 with all norms."""
        size = lambda ms, bias=True: sum(m.weight.numel() + (m.bias.numel() if bias and getattr(m, "bias", None) is not None else 0)
                                         for m in ms)
        p, layer = self.parts[0], self.own[0]
        a = [p[k] for k in ("q", "k", "v", "fused", "o") if k in p]
        f = p["up"] + [p["down"]]
        attention, mlp = size(a, reading != 2), size(f, reading != 2)
        whole = sum(t.numel() for t in layer.parameters())
        if reading in (0, 3) and hasattr(p["attn"], "q_norm"): attention += size([p["attn"].q_norm, p["attn"].k_norm])
        if reading == 3:  # the norms of a layer, half to each
            rest = whole - attention - mlp
            attention, mlp = attention + rest / 2, mlp + rest / 2
        return sum(t.numel() for t in self.model.parameters()), whole, attention, mlp

    # --- hooks -------------------------------------------------------------------------------------------------------
    def _hook(self, l, layer):
        p, own = self.parts[l], lambda: self.mask.layers[l] if self.mask else LayerMask()
        note = lambda name, value: self.seen is not None and getattr(self.seen, name).append(value[0].numpy())
        tensor = lambda out: out[0] if isinstance(out, tuple) else out

        def layer_in(_, args, named):
            self._x = args[0] if args else named["hidden_states"]
            note("x", self._x)

        def layer_out(_, args, named, out):
            if own().block:
                x = args[0] if args else named["hidden_states"]
                out = (x,) + out[1:] if isinstance(out, tuple) else x
            note("out", tensor(out))
            return out

        def o_in(_, args):
            ctx = args[0].clone()
            if own().attention not in (None, "drop"):
                ctx = self._v.unflatten(-1, (self.G, self.d)).repeat_interleave(self.n, 2).flatten(2).clone()
            for h in own().heads: ctx[..., self.head_columns(h)] = 0
            note("ctx", ctx)
            return (ctx,)

        def o_out(_, __, out):
            if (l, "attention") in (self.mask.bias if self.mask else {}):
                out = out + torch.from_numpy(self.mask.bias[l, "attention"])
            if own().attention == "drop": out = torch.zeros_like(out)
            note("o_out", out)
            return out if self.post_norm else added(out)

        def added(out):
            if own().attention not in (None, "drop"): out = own().attention * out
            note("a", out)
            return out

        def down_in(_, args):
            hidden = args[0].clone()
            hidden[..., sorted(own().neurons)] = 0
            note("hidden", hidden)
            return (hidden,)

        def down_out(_, __, out):
            if (l, "mlp") in (self.mask.bias if self.mask else {}): out = out + torch.from_numpy(self.mask.bias[l, "mlp"])
            if own().mlp: out = torch.zeros_like(out)
            note("down_out", out)
            if not self.post_norm: note("f", out)
            return out

        def value(_, __, out): self._v = out.chunk(3, -1)[2] if "fused" in p else out
        layer.register_forward_pre_hook(layer_in, with_kwargs=True)
        layer.register_forward_hook(layer_out, with_kwargs=True)
        p["fused" if "fused" in p else "v"].register_forward_hook(value)
        p["attn"].register_forward_hook(lambda _, __, out: note("attention", out[1]))
        p["o"].register_forward_pre_hook(o_in)
        p["o"].register_forward_hook(o_out)
        p["down"].register_forward_pre_hook(down_in)
        p["down"].register_forward_hook(down_out)
        if self.post_norm:
            p["post_a"].register_forward_hook(lambda _, __, out: added(out))
            p["post_f"].register_forward_hook(lambda _, __, out: note("f", out))

    # --- running -----------------------------------------------------------------------------------------------------
    def run(self, ids, mask=None):
        """(Seen, logits [T, V]) of one sequence, a batch of one row without padding; token types are 0."""
        self.mask, self.seen = mask, Seen()
        named = {} if self.encoder else {"use_cache": False}
        with torch.no_grad(), Double():
            logits = self.model(input_ids=torch.tensor([ids]), **named).logits[0]
        seen, self.mask, self.seen = self.seen, None, None
        return seen, logits

    def norm(self, l, which, values):
        with torch.no_grad(), Double():
            return self.parts[self.of[l]][which](torch.from_numpy(values)).numpy()

    def loss(self, sequences, mask=None):
        """Mean over all predicted tokens of all sequences of -log p(next token), in nats."""
        losses = []
        for ids in sequences:
            logs = self.run(ids, mask)[1].log_softmax(-1)
            losses += [-float(logs[t, ids[t + 1]]) for t in range(len(ids) - 1)]
        return float(np.mean(losses))


def rows(name):
    """The rows of expected.safetensors without their padding."""
    t = load_file(DATA / name / "expected.safetensors")
    return [ids[:n].tolist() for ids, n in zip(t["ids"], t["lengths"].tolist())]


def held_out(name, count=2, length=12):
    """Sequences of equal length that are not in the fixture: deterministic draws of numpy."""
    vocab = json.loads((DATA / name / "config.json").read_text())["vocab_size"]
    return np.random.default_rng(20250 + len(name)).integers(3, vocab, (count, length)).tolist()
