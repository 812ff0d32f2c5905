"""Encoders of transformers under a mask, computed by changes of their modules that are independent of Secateur.

A mask is a dictionary of layers as in a mask file: {layer: {"heads_cut": [0], "neurons_cut": [1, 2], "attention":
"drop" or "bypass_qk", "alpha": 0.5, "mlp": "drop", "block": "drop"}}. A compensation is a dictionary of vectors as in
its file: {"layers.0.head_scale": tensor}.
"""

import types

import torch


class Layer:
    """The modules of a layer by the names that BERT gives them."""

    def __init__(self, module):
        self.module = module
        if hasattr(module, "ffn"):  # ALBERT
            self.attention, self.value = module.attention, module.attention.value
            self.attention_output, self.mlp_output = module.attention.dense, module.ffn_output
        else:
            self.attention, self.value = module.attention.self, module.attention.self.value
            self.attention_output, self.mlp_output = module.attention.output.dense, module.output.dense


def layers_of(model):
    """The layers of a model in the order in which they are stored."""
    base = getattr(model, model.base_model_prefix, model)
    if hasattr(base.encoder, "albert_layer_groups"):
        return [Layer(one) for group in base.encoder.albert_layer_groups for one in group.albert_layers]
    return [Layer(one) for one in base.encoder.layer]


def bypass(layer):
    """Makes each token attend to itself only."""
    if hasattr(layer.module, "ffn"):
        def attended(self, hidden_states, *_, **__):
            return self.LayerNorm(hidden_states + self.dense(self.value(hidden_states))), None
    else:
        def attended(self, hidden_states, *_, **__):
            return self.value(hidden_states), None
    layer.attention.forward = types.MethodType(attended, layer.attention)


def drop_block(layer):
    layer.module.forward = types.MethodType(lambda self, hidden_states, *_, **__: hidden_states, layer.module)


@torch.no_grad()
def apply_layer(layer, cut, vectors, heads):
    """vectors: the compensation of this layer by the ends of their names."""
    if cut.get("block") == "drop":
        drop_block(layer)
        return
    output, down = layer.attention_output, layer.mlp_output
    width = output.weight.shape[1] // heads
    if "head_scale" in vectors:
        output.weight *= vectors["head_scale"].repeat_interleave(width)
    for head in cut.get("heads_cut", []):
        output.weight[:, head * width:(head + 1) * width] = 0
    if cut.get("attention") == "bypass_qk":
        bypass(layer)
        output.weight *= cut["alpha"]
        output.bias *= cut["alpha"]
    if "attention_bias" in vectors:
        output.bias += vectors["attention_bias"]
    if cut.get("attention") == "drop":
        output.weight.zero_()
        output.bias.zero_()
    if "neuron_scale" in vectors:
        down.weight *= vectors["neuron_scale"]
    down.weight[:, cut.get("neurons_cut", [])] = 0
    if "mlp_bias" in vectors:
        down.bias += vectors["mlp_bias"]
    if cut.get("mlp") == "drop":
        down.weight.zero_()
        down.bias.zero_()


def apply_mask(model, mask, compensation):
    """Changes a model. Keys of the mask are indices of stored layers."""
    for index, layer in enumerate(layers_of(model)):
        begin = f"layers.{index}."
        vectors = {name[len(begin):]: value for name, value in compensation.items() if name.startswith(begin)}
        apply_layer(layer, mask.get(index, {}), vectors, model.config.num_attention_heads)
