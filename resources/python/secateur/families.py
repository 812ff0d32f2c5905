"""The families of models that masks are applied to, and the modules of their layers in transformers."""

from __future__ import annotations

from dataclasses import dataclass

from .compensation import check_compensation
from .errors import Error
from .mask import Mask
from .structure import LayerShape, structure_text


@dataclass(frozen=True)
class Family:
    """Where the layers of a family are, as paths from the base model and from a layer."""

    layers: str
    attention: str  # the module that knows the head size
    output: str  # the output projection; its inputs are the heads
    value: str  # the value projection
    down: str  # the down projection; its inputs are the neurons
    norm_after: str = ""  # the norm that follows the output projection, in sandwich-norm models
    fuses_values: bool = False  # whether `value` gives queries, keys and values, one behind the other
    is_shared: bool = False  # whether layers share their weights (ALBERT)


LLAMA = Family("layers", "self_attn", "self_attn.o_proj", "self_attn.v_proj", "mlp.down_proj")
GEMMA = Family("layers", "self_attn", "self_attn.o_proj", "self_attn.v_proj", "mlp.down_proj",
               norm_after="post_attention_layernorm")
PHI = Family("layers", "self_attn", "self_attn.dense", "self_attn.v_proj", "mlp.fc2")
GPT2 = Family("h", "attn", "attn.c_proj", "attn.c_attn", "mlp.c_proj", fuses_values=True)
BERT = Family("encoder.layer", "attention.self", "attention.output.dense", "attention.self.value", "output.dense")
ALBERT = Family("encoder.albert_layer_groups", "attention", "attention.dense", "attention.value", "ffn_output",
                is_shared=True)

# By model_type in transformers: the architecture's id in masks, and its modules.
FAMILIES = {"llama": ("llama", LLAMA), "mistral": ("mistral", LLAMA), "qwen2": ("qwen2", LLAMA),
            "qwen3": ("qwen3", LLAMA), "gemma2": ("gemma2", GEMMA), "gemma3_text": ("gemma3", GEMMA),
            "phi": ("phi", PHI), "gpt2": ("gpt2", GPT2), "bert": ("bert", BERT),
            "roberta": ("roberta", BERT), "xlm-roberta": ("xlm-roberta", BERT), "albert": ("albert", ALBERT)}


@dataclass(frozen=True)
class LayerParts:
    """The modules of a layer that a mask acts on."""

    index: int  # the first layer that has these modules
    layer: object
    output: object
    value: object
    down: object
    norm_after: object  # None if no norm follows the output projection
    fuses_values: bool
    shape: LayerShape


@dataclass(frozen=True)
class MaskedParts:
    """The layers of an open model."""

    model: object  # the base model
    architecture: str
    layers: list[LayerParts]  # one for each layer; tied layers have the same
    hidden: int

    @property
    def structure(self) -> str:
        return structure_text([parts.shape for parts in self.layers])

    @property
    def tied_groups(self) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for index, parts in enumerate(self.layers):
            groups.setdefault(parts.index, []).append(index)
        return list(groups.values()) if len(groups) < len(self.layers) else []

    def dense_mask(self) -> Mask:
        name = getattr(self.model.config, "_name_or_path", "") or ""
        return Mask.dense(self.architecture, self.structure, model_name=name.rstrip("/").rpartition("/")[2] or None,
                          tied_groups=self.tied_groups)

    def fitting(self, mask: Mask) -> Mask:
        """The mask in canonical form, with tied layers. Raises Error if it is made for another structure."""
        if (mask.architecture, mask.structure) != (self.architecture, self.structure):
            raise Error(f"the mask is made for {mask.architecture} {mask.structure}, but the model is "
                        f"{self.architecture} {self.structure}")
        tied = mask.tied(self.tied_groups)
        for index, (layer, parts) in enumerate(zip(tied.layers, self.layers)):
            check_compensation(layer.compensation, parts.shape, self.hidden, f"compensation of layer {index}")
        return tied


def unwrapped(model):
    """The base model of transformers: without PEFT, heads and the vision part of a multimodal model."""
    if hasattr(model, "get_base_model"):
        model = model.get_base_model()
    if not hasattr(model, "config"):
        raise Error(f"{type(model).__name__} is not a model of transformers")
    base = getattr(model, getattr(model, "base_model_prefix", "") or "", model)
    return getattr(base, "language_model", base)


def masked_parts(model) -> MaskedParts:
    """The layers of a model of transformers. Raises Error if its family is not supported."""
    base = unwrapped(model)
    config = base.config.get_text_config() if hasattr(base.config, "get_text_config") else base.config
    if config.model_type not in FAMILIES:
        raise Error(f'models of type "{config.model_type}" are not supported; supported are {", ".join(FAMILIES)}')
    architecture, family = FAMILIES[config.model_type]
    layers = _module(base, family.layers, "the model")
    made = {}
    for index, layer in enumerate(_shared(layers, config) if family.is_shared else layers):
        if id(layer) not in made:
            made[id(layer)] = _parts_of(index, layer, family)
    in_order = [made[id(layer)] for layer in (_shared(layers, config) if family.is_shared else layers)]
    return MaskedParts(base, architecture, in_order, config.hidden_size)


def _shared(groups, config) -> list:
    """The layers of ALBERT in the order in which they run; the formula is that of transformers."""
    count = config.num_hidden_layers
    return [layer for application in range(count)
            for layer in groups[int(application / (count / config.num_hidden_groups))].albert_layers]


def _module(start, path: str, place: str):
    for name in path.split("."):
        start = getattr(start, name, None)
        if start is None:
            raise Error(f"{place} has no {path}, as transformers has it")
    return start


def _width(module, attribute: str, axis: int) -> int:
    """Inputs or outputs of a linear module; axis: that of the weight of a Conv1D of transformers, [in, out]."""
    return int(getattr(module, attribute, None) or module.weight.shape[axis])


def _parts_of(index: int, layer, family: Family) -> LayerParts:
    place = f"layer {index}"
    attention, output, value, down = (_module(layer, path, place)
                                      for path in (family.attention, family.output, family.value, family.down))
    head_dim = int(getattr(attention, "head_dim", None) or getattr(attention, "attention_head_size"))
    heads = _width(output, "in_features", 0) // head_dim
    kv_heads = heads if family.fuses_values else _width(value, "out_features", 1) // head_dim
    return LayerParts(index, layer, output, value, down,
                      _module(layer, family.norm_after, place) if family.norm_after else None, family.fuses_values,
                      LayerShape(heads, kv_heads, head_dim, _width(down, "in_features", 0)))
