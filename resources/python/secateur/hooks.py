"""Masks on models of transformers, by hooks. The weights stay as they are.

Cut units are computed and set to 0, so a masked model is no faster than the dense one; `secateur-cli export` writes
smaller checkpoints.
"""

from __future__ import annotations

import weakref

import numpy as np
import torch

from .errors import Error
from .families import LayerParts, masked_parts
from .mask import BYPASS, LayerMask, Mask

_masked: weakref.WeakSet = weakref.WeakSet()  # base models that have a mask


class Handle:
    """A mask on a model. It is removed by `remove()`, or at the end of a `with` block."""

    def __init__(self, model, mask: Mask, hooks: list):
        self.mask = mask  # as applied: in canonical form, with tied layers
        self._model, self._hooks = model, hooks

    def remove(self) -> None:
        """Removes all hooks. The model is dense again. Does nothing the second time."""
        for hook in self._hooks:
            hook.remove()
        if self._hooks:
            _masked.discard(self._model)
        self._hooks = []

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_) -> None:
        self.remove()


def apply(model, mask: Mask) -> Handle:
    """Puts a mask on a model of transformers, also inside PEFT. Raises Error if the mask is made for another structure,
    the family is not supported, or the model has a mask already.
    """
    parts = masked_parts(model)
    fitting = parts.fitting(mask)
    if parts.model in _masked:
        raise Error("the model has a mask already: call remove() of its handle first")
    plans = [(own, fitting.layers[own.index]) for index, own in enumerate(parts.layers) if own.index == index]
    for own, layer in plans:
        _refuse_replaced_adapters(own, layer)
    hooks = [hook for own, layer in plans if not layer.keeps_all for hook in _hooked(own, layer)]
    _masked.add(parts.model)
    return Handle(parts.model, fitting, hooks or [_NoHook()])


class _NoHook:
    """In place of the hooks of a mask that cuts nothing."""

    def remove(self) -> None:
        pass


def _refuse_replaced_adapters(parts: LayerParts, mask: LayerMask) -> None:
    for name, module in (("o_weight", parts.output), ("down_weight", parts.down)):
        if name in mask.compensation and hasattr(module, "base_layer"):
            raise Error(f"layer {parts.index}: the mask replaces a projection ({name}) that an adapter changes")


def _hooked(parts: LayerParts, mask: LayerMask) -> list:
    """Registers the hooks of a layer."""
    if not mask.block:
        return [parts.layer.register_forward_hook(_unchanged_stream, with_kwargs=True)]
    hooks = []
    own = mask.compensation
    is_bypassed = mask.attention == BYPASS and not mask.drops_attention
    if is_bypassed:
        values = OwnValues(parts)
        hooks.append(parts.value.register_forward_hook(values.keep))
        hooks.append(parts.output.register_forward_pre_hook(values.replace))
    alpha = mask.alpha if is_bypassed else 1.0
    if alpha != 1 and parts.norm_after is not None:  # the norm would cancel a factor of its input
        hooks.append(parts.norm_after.register_forward_hook(Output(None, None, alpha)))
        alpha = 1.0
    hooks += _on_projection(parts.output, mask.heads, parts.shape.head_dim, mask.drops_attention, own.get("head_scale"),
                            own.get("o_weight"), own.get("attention_bias"), alpha)
    hooks += _on_projection(parts.down, mask.neurons, 1, mask.drops_mlp, own.get("neuron_scale"),
                            own.get("down_weight"), own.get("mlp_bias"), 1.0)
    return hooks


def _on_projection(module, kept: np.ndarray, width: int, is_dropped: bool, scale, weight, bias, alpha: float) -> list:
    """Registers the hooks of an output or down projection. width: columns of a unit."""
    if is_dropped:
        return [module.register_forward_hook(lambda _module, _inputs, output: torch.zeros_like(output))]
    hooks = []
    if not kept.all() or scale is not None:
        hooks.append(module.register_forward_pre_hook(Columns(kept, scale, width)))
    if weight is not None or bias is not None or alpha != 1:
        hooks.append(module.register_forward_hook(Output(weight, bias, alpha)))
    return hooks


def _unchanged_stream(_module, inputs, keywords, output):
    """The input of a dropped block in place of its output."""
    stream = inputs[0] if inputs else keywords["hidden_states"]
    return (stream, *output[1:]) if isinstance(output, tuple) else stream


class Constant:
    """An array as a tensor on the device and in the dtype of the run."""

    def __init__(self, values: np.ndarray):
        self._values = torch.from_numpy(np.array(values))
        self._copies: dict = {}

    def like(self, other: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
        place = (other.device, dtype or other.dtype)
        if place not in self._copies:
            self._copies[place] = self._values.to(device=place[0], dtype=place[1])
        return self._copies[place]


class Columns:
    """Sets the inputs of cut units to 0 and multiplies those of others by their factors."""

    def __init__(self, kept: np.ndarray, scale: np.ndarray | None, width: int):
        self._cut = None if kept.all() else Constant(np.repeat(~kept, width))
        self._scale = None if scale is None else Constant(np.repeat(scale, width))

    def __call__(self, _module, inputs):
        columns = inputs[0]
        if self._scale is not None:
            columns = columns * self._scale.like(columns)
        if self._cut is not None:
            columns = columns.masked_fill(self._cut.like(columns, torch.bool), 0)
        return (columns, *inputs[1:])


class Output:
    """Changes the output of a projection or norm: another weight [out, in], then the factor alpha, then a bias."""

    def __init__(self, weight: np.ndarray | None, bias: np.ndarray | None, alpha: float):
        self._weight = None if weight is None else Constant(weight)
        self._bias = None if bias is None else Constant(bias)
        self._alpha = alpha

    def __call__(self, module, inputs, output):
        if self._weight is not None:
            output = torch.nn.functional.linear(inputs[0], self._weight.like(inputs[0]), module.bias)
        if self._alpha != 1:
            output = output * self._alpha
        return output if self._bias is None else output + self._bias.like(output)


class OwnValues:
    """Replaces the output of attention by each token's own value, once for each head of its KV group."""

    def __init__(self, parts: LayerParts):
        self._shape, self._fuses = parts.shape, parts.fuses_values
        self._values = None

    def keep(self, _module, _inputs, output) -> None:
        self._values = output[..., -self._shape.kv_heads * self._shape.head_dim:] if self._fuses else output

    def replace(self, _module, inputs):
        values, self._values = self._values, None
        by_group = values.unflatten(-1, (self._shape.kv_heads, self._shape.head_dim))
        return (by_group.repeat_interleave(self._shape.heads_per_group, dim=-2).flatten(-2), *inputs[1:])
