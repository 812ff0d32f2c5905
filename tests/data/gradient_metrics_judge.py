"""Gradient metrics computed with PyTorch's autograd on the parameters of transformers models, by their definitions in
resources/manual/metrics.md.

Each sequence runs alone and in float64. A model with fewer key heads than query heads is replaced by an equivalent one
with a copy of the key and value rows for each query head. A norm is that of the gradient of a weight matrix. A gate is
a factor on the output of a head before the output projection.
"""

import contextlib
import sys

import numpy as np
import torch

import forward_judge as fj

ENCODERS = ("bert", "albert")


class Judge:
    def __init__(self, model, sequences, labels, cut=()):
        self.model = fj.with_own_keys(model)
        self.kind = model.config.model_type
        self.encoder = self.kind in ENCODERS
        self.sequences, self.labels = sequences, labels
        self.layers = fj.layers_of(self.model)
        self.applications = model.config.num_hidden_layers
        self.heads = model.config.num_attention_heads
        self.cut = cut  # list of (layer, head) whose gates are 0

    # --- scalars that are differentiated ---

    def output(self, ids, pooled=False):
        batch = {"ids": torch.tensor([ids]), "lengths": torch.tensor([len(ids)])}
        if not pooled:
            return fj.answer(self.model, batch)
        return self.model.base_model(input_ids=batch["ids"]).pooler_output

    def logs(self, number):
        """The log probabilities of the targets of sequence `number`."""
        ids = self.sequences[number]
        logits = self.output(ids)[0]
        if self.encoder:
            return logits.log_softmax(-1)[self.labels[number]][None]
        return logits[:-1].log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]

    def scalar(self, number, of):
        if of == "logit_norm":
            return self.output(self.sequences[number]).norm()
        if of == "pooled_norm":
            return self.output(self.sequences[number], pooled=True).norm()
        logs = self.logs(number)
        return -logs.mean() if of == "task_loss" else logs.sum()

    # --- weights and gates, with respect to which gradients are taken ---

    def weights(self, layer):
        """The matrices of queries, keys and values, [heads * d, hidden]."""
        modules = fj.modules_of(self.layers[layer], self.kind)
        if "fused" in modules:
            return [modules["fused"].weight] * 3
        return [modules[name].weight for name in fj.SPLIT]

    def by_head(self, layer, gradients):
        if self.kind == "gpt2":
            gradients = [piece.T for piece in gradients[0].chunk(3, 1)]
        return [g.reshape(self.heads, -1, g.shape[-1]) for g in gradients]

    def own_layers(self):
        return range(len(self.layers))

    @contextlib.contextmanager
    def gated(self, gates):
        """Multiplies the context vectors of each head by gates[layer], which is [heads] or [tokens, heads]."""
        hooks = []
        for layer, own in enumerate(self.layers):
            def gate(_, args, own_gates=gates[layer]):
                values = args[0].unflatten(-1, (self.heads, -1)) * own_gates[..., None]
                return (values.flatten(-2),)
            hooks.append(fj.modules_of(own, self.kind)["output"].register_forward_pre_hook(gate))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def gates(self, *shape):
        found = [torch.ones(*shape, self.heads, dtype=torch.float64) for _ in self.layers]
        for layer, head in self.cut:
            found[layer][..., head] = 0
        return [gate.requires_grad_() for gate in found]

    # --- metrics, [layers][heads] ---

    def spread(self, values):
        """[layers][heads]: repeats the values of ALBERT's shared layer for each of its applications."""
        values = np.asarray(values)
        return values if len(values) == self.applications else np.repeat(values, self.applications, 0)

    def norms_of(self, total):
        """[3][layers][heads]: the norms of the gradients of `total` with respect to W_q, W_k and W_v."""
        parameters = [w for layer in self.own_layers() for w in self.weights(layer)]
        unique = list(dict.fromkeys(parameters))
        found = dict(zip(unique, torch.autograd.grad(total, unique)))
        split = [self.by_head(layer, [found[w] for w in self.weights(layer)]) for layer in self.own_layers()]
        return np.array([[g.flatten(1).norm(dim=1).numpy() for g in layer] for layer in split]).transpose(1, 0, 2)

    def norms(self, of, batch=0):
        numbers, sums = range(len(self.sequences)), 0
        with self.gated(self.gates()):
            if batch == 0:
                sums = sum(self.norms_of(self.scalar(number, of)) for number in numbers)
            for begin in range(0, len(self.sequences) if batch else 0, batch or 1):
                scalars = torch.stack([self.scalar(n, of) for n in numbers[begin:begin + batch]])
                sums = sums + self.norms_of(scalars.norm() if of.endswith("norm") else scalars.mean())
        return sums / len(self.sequences)

    def gate_gradients(self, of):
        """[sequences][layers][heads]: the gradients of the scalar named `of` with respect to the gates."""
        found = []
        for number in range(len(self.sequences)):
            gates = self.gates()
            with self.gated(gates):
                total = self.scalar(number, of)
            found.append([g.numpy() for g in torch.autograd.grad(total, gates)])
        return np.array(found)

    def token_magnitude(self, of):
        sums = 0
        for number, ids in enumerate(self.sequences):
            gates = self.gates(len(ids))
            with self.gated(gates):
                total = self.scalar(number, of)
            sums = sums + np.array([g.abs().sum(0).numpy() for g in torch.autograd.grad(total, gates)])
        return sums / len(self.sequences)

    def fisher(self):
        """The Fisher information of the gates, computed exactly with one backward pass for each target."""
        sums, count = 0, 0
        for number in range(len(self.sequences)):
            gates = self.gates()
            with self.gated(gates):
                logs = self.logs(number)
            for log in logs:
                one = torch.autograd.grad(log, gates, retain_graph=True)
                sums, count = sums + np.array([g.square().numpy() for g in one]), count + 1
        return sums / count

    @contextlib.contextmanager
    def attention(self, scales):
        """Multiplies the attention probabilities in the i-th call of a layer by scales[i], and collects the products.
        """
        module = sys.modules[type(self.model).__module__]
        original, seen = module.eager_attention_forward, []

        def scaled(attention, query, key, value, *args, **named):
            weights = original(attention, query, key, value, *args, **named)[1]
            seen.append(weights * scales[len(seen)])
            return (seen[-1] @ value).transpose(1, 2).contiguous(), seen[-1]

        module.eager_attention_forward = scaled
        try:
            yield seen
        finally:
            module.eager_attention_forward = original

    def pair_magnitude(self, of):
        sums = 0
        for number in range(len(self.sequences)):
            with self.attention([1] * self.applications) as seen:
                total = self.scalar(number, of)
            gradients = torch.autograd.grad(total, seen)
            sums = sums + np.array([(a * g).abs().sum((2, 3))[0].detach().numpy() for a, g in zip(seen, gradients)])
        if len(self.layers) < self.applications:
            sums = sums.sum(0, keepdims=True)
        return sums / len(self.sequences)

    def probability(self, number, position):
        p = self.logs(number).exp()
        return p[-1] if position == "last" else p.mean()

    def attribution(self, steps, position):
        """[applications][heads]: integral over the scale from 0 to 1, as the left Riemann sum over the points k /
        steps.
        """
        best = np.zeros((self.applications, self.heads))
        for number in range(len(self.sequences)):
            for layer in range(self.applications):
                total = 0
                for k in range(steps):
                    scales = [1] * self.applications
                    scales[layer] = k / steps
                    with self.attention(scales) as seen:
                        value = self.probability(number, position)
                    total = total + torch.autograd.grad(value, seen[layer])[0][0]
                with torch.no_grad(), self.attention([1] * self.applications) as seen:
                    self.probability(number, position)
                best[layer] += (seen[layer][0] * total / steps).amax((1, 2)).numpy()
        return best / len(self.sequences)
