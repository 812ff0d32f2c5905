# Copyright 2026 the authors of Secateur
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.
"""Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3 with layers of different shapes, for pruned checkpoints.

`per_layer_config` in config.json maps the index of a layer to what differs from the global values:

    num_attention_heads, num_key_value_heads, intermediate_size
    skip                     list of "attention" and "mlp"; a skipped sublayer has neither weights nor norms
    bypass_qk                number; each token attends to itself only, so there are no weights of queries and keys. The
                             number multiplies what attention adds to the residual stream.
    attention_output_bias    whether o_proj has a bias; without the key, as the architecture has it
    mlp_output_bias          the same for down_proj

The first four are settings of transformers (from 5.14). Earlier versions do not read them, so this file does. The
classes construct the layers from these settings and use the forward pass of transformers.
"""

import copy
import functools

import torch
import transformers
from torch import nn
from transformers import DynamicCache
from transformers.models.gemma2 import modeling_gemma2 as gemma2
from transformers.models.gemma3 import modeling_gemma3 as gemma3
from transformers.models.llama import modeling_llama as llama
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.qwen2 import modeling_qwen2 as qwen2
from transformers.models.qwen3 import modeling_qwen3 as qwen3

SETTINGS = {"num_attention_heads", "num_key_value_heads", "intermediate_size", "skip", "bypass_qk",
            "attention_output_bias", "mlp_output_bias"}


# --- configuration ---------------------------------------------------------------------------------------------------

def with_old_rotary_keys(values):
    """Keys of rotary positions as transformers 4 reads them: rope_theta and rope_scaling in place of rope_parameters.
    """
    values = dict(values)
    rotary = values.pop("rope_parameters", None)
    if not rotary:
        return values
    local, everywhere = rotary.get("sliding_attention"), rotary.get("full_attention", rotary)
    if local and "rope_theta" in local:
        values["rope_local_base_freq"] = local["rope_theta"]
    if "rope_theta" in everywhere:
        values["rope_theta"] = everywhere["rope_theta"]
    scaling = {key: value for key, value in everywhere.items() if key != "rope_theta"}
    values["rope_scaling"] = None if scaling.get("rope_type", "default") == "default" else scaling
    return values


class LayeredConfig:
    """What the configurations of this file add to those of transformers."""

    bypass_qk = None
    attention_output_bias = None
    mlp_output_bias = None

    if int(transformers.__version__.partition(".")[0]) < 5:
        def __init__(self, **values):
            super().__init__(**with_old_rotary_keys(values))

    def validate_architecture(self):
        """No check: the classes of transformers require that the number of heads divides the width."""

    def validate(self):
        """Runs the checks of transformers 5 with the one above in place of theirs, whose names they keep."""
        for check in getattr(type(self), "__class_validators__", ()):
            getattr(self, check.__name__)()

    validate.__is_defined_by_strict_decorator__ = True  # allows transformers to define it anew

    def without_layers(self):
        """A copy for the constructors of transformers, which then construct no layers."""
        dense = copy.copy(self)
        dense.per_layer_config = None
        dense.num_hidden_layers = 0
        return dense

    def layer(self, index):
        """The configuration of one layer; `skip` is a list."""
        layers = getattr(self, "per_layer_config", None) or {}
        if not isinstance(layers, dict):  # the configurations that transformers makes, from 5.14 on
            own = copy.copy(layers[index])
            own.skip = list(getattr(own, "skip", []))
            return own
        own = copy.copy(self)
        own.per_layer_config = None
        own.skip = []
        for name, value in {int(key): settings for key, settings in layers.items()}.get(index, {}).items():
            setattr(own, name, value)
        return own

    def check(self):
        """Raises ValueError for settings of single layers that the classes of this file do not apply."""
        written = self.to_dict().get("per_layer_config") or {}
        for index, settings in written.items():
            if not 0 <= int(index) < self.num_hidden_layers:
                raise ValueError(f"per_layer_config: {index} is not the index of a layer")
            if unknown := set(settings) - SETTINGS:
                names = ", ".join(sorted(unknown))
                raise ValueError(f"per_layer_config: {index}: {names} cannot differ between layers")
            if unknown := set(settings.get("skip", [])) - {"attention", "mlp"}:
                raise ValueError(f"per_layer_config: {index}: skip: {', '.join(sorted(unknown))} is unknown")


class SecateurLlamaConfig(LayeredConfig, transformers.LlamaConfig):
    model_type = "secateur_llama"


class SecateurMistralConfig(LayeredConfig, transformers.MistralConfig):
    model_type = "secateur_mistral"


class SecateurQwen2Config(LayeredConfig, transformers.Qwen2Config):
    model_type = "secateur_qwen2"


class SecateurQwen3Config(LayeredConfig, transformers.Qwen3Config):
    model_type = "secateur_qwen3"


class SecateurGemma2Config(LayeredConfig, transformers.Gemma2Config):
    model_type = "secateur_gemma2"


class SecateurGemma3Config(LayeredConfig, transformers.Gemma3TextConfig):
    model_type = "secateur_gemma3"


# --- layers ----------------------------------------------------------------------------------------------------------

# A class "...Attention" in this file would make transformers refuse to change the attention implementation.


class NoUpdate(nn.Module):
    """In place of an attention sublayer that is skipped."""

    def __init__(self, attention):
        super().__init__()
        self.is_sliding = getattr(attention, "is_sliding", False)  # read by layers of transformers 4

    def forward(self, hidden_states, *_, **__):
        return torch.zeros_like(hidden_states), None


class NoMlp(nn.Module):
    """In place of an MLP that is skipped."""

    def forward(self, hidden_states):
        return torch.zeros_like(hidden_states)


class OwnValues(nn.Module):
    """Attention in which each token attends to itself only: its output is a function of the token's value."""

    def __init__(self, attention, factor):
        super().__init__()
        self.head_dim = attention.head_dim
        self.groups = attention.num_key_value_groups
        self.factor = factor
        self.is_sliding = getattr(attention, "is_sliding", False)
        self.v_proj = attention.v_proj
        self.o_proj = attention.o_proj

    def forward(self, hidden_states, *_, **__):
        values = self.v_proj(hidden_states).unflatten(-1, (-1, self.head_dim))
        values = values.repeat_interleave(self.groups, dim=-2).flatten(-2)
        return self.factor * self.o_proj(values), None


def scaled(factor, _module, _inputs, output):
    return factor * output


def with_bias(linear, wanted):
    """The same matrix with or without a bias; None leaves it as it is."""
    if wanted is None or wanted == (linear.bias is not None):
        return linear
    weight = linear.weight
    return nn.Linear(linear.in_features, linear.out_features, bias=wanted, device=weight.device, dtype=weight.dtype)


def shape_attention(layer, settings, sandwich):
    """Changes the attention sublayer of a layer of transformers as its settings say. Returns whether it uses the cache.
    """
    if "attention" in settings.skip:
        layer.self_attn = NoUpdate(layer.self_attn)
        layer.input_layernorm = nn.Identity()
        if sandwich:
            layer.post_attention_layernorm = nn.Identity()
        return False
    layer.self_attn.o_proj = with_bias(layer.self_attn.o_proj, settings.attention_output_bias)
    if settings.bypass_qk is None:
        return True
    # A norm that follows would cancel a factor of its input.
    layer.self_attn = OwnValues(layer.self_attn, 1 if sandwich else settings.bypass_qk)
    if sandwich:
        layer.post_attention_layernorm.register_forward_hook(functools.partial(scaled, settings.bypass_qk))
    return False


def shape_mlp(layer, settings, sandwich):
    if "mlp" not in settings.skip:
        layer.mlp.down_proj = with_bias(layer.mlp.down_proj, settings.mlp_output_bias)
        return
    layer.mlp = NoMlp()
    if sandwich:
        layer.pre_feedforward_layernorm = nn.Identity()
        layer.post_feedforward_layernorm = nn.Identity()
    else:
        layer.post_attention_layernorm = nn.Identity()


# --- models ----------------------------------------------------------------------------------------------------------

class LayeredModel:
    """Constructs the layers of a model of transformers from the configuration of each."""

    layer_class = None

    def __init__(self, config):
        config.check()
        dense = config.without_layers()
        super().__init__(dense)
        config._attn_implementation_internal = dense._attn_implementation_internal
        self.config = config
        self.attending = []  # layers that use the cache
        for index in range(config.num_hidden_layers):
            settings = config.layer(index)
            layer = self.layer_class(settings, index)
            sandwich = hasattr(layer, "pre_feedforward_layernorm")
            if shape_attention(layer, settings, sandwich):
                # The length of a cache is that of its first layer, which must therefore be one with attention.
                layer.self_attn.layer_idx = len(self.attending)
                self.attending.append(index)
            shape_mlp(layer, settings, sandwich)
            self.layers.append(layer)
        for module in self.layers.modules():
            if hasattr(module, "config"):
                module.config = config  # shared, so that a change of the attention implementation reaches every layer
        self.post_init()

    def fit_cache(self, cache):
        """Removes the layers without attention from a new cache, which has one layer for each of the model."""
        layers = getattr(cache, "layers", None)
        if layers and len(layers) == len(self.layers) and len(self.attending) < len(layers):
            cache.layers = [layers[index] for index in self.attending]

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
                use_cache=None, **more):
        use_cache = self.config.use_cache if use_cache is None else use_cache
        if use_cache and past_key_values is None and not (self.gradient_checkpointing and self.training):
            past_key_values = DynamicCache(config=self.config)
        self.fit_cache(past_key_values)
        return super().forward(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                               past_key_values=past_key_values, inputs_embeds=inputs_embeds, use_cache=use_cache,
                               **more)


class LayeredForCausalLM:
    model_class = None

    def __init__(self, config):
        dense = config.without_layers()
        super().__init__(dense)
        config._attn_implementation_internal = dense._attn_implementation_internal
        self.config = config
        self.model = self.model_class(config)
        self.post_init()


class SecateurLlamaModel(LayeredModel, llama.LlamaModel):
    config_class = SecateurLlamaConfig
    layer_class = llama.LlamaDecoderLayer


class SecateurLlamaForCausalLM(LayeredForCausalLM, llama.LlamaForCausalLM):
    config_class = SecateurLlamaConfig
    model_class = SecateurLlamaModel


class SecateurMistralModel(LayeredModel, mistral.MistralModel):
    config_class = SecateurMistralConfig
    layer_class = mistral.MistralDecoderLayer


class SecateurMistralForCausalLM(LayeredForCausalLM, mistral.MistralForCausalLM):
    config_class = SecateurMistralConfig
    model_class = SecateurMistralModel


class SecateurQwen2Model(LayeredModel, qwen2.Qwen2Model):
    config_class = SecateurQwen2Config
    layer_class = qwen2.Qwen2DecoderLayer


class SecateurQwen2ForCausalLM(LayeredForCausalLM, qwen2.Qwen2ForCausalLM):
    config_class = SecateurQwen2Config
    model_class = SecateurQwen2Model


class SecateurQwen3Model(LayeredModel, qwen3.Qwen3Model):
    config_class = SecateurQwen3Config
    layer_class = qwen3.Qwen3DecoderLayer


class SecateurQwen3ForCausalLM(LayeredForCausalLM, qwen3.Qwen3ForCausalLM):
    config_class = SecateurQwen3Config
    model_class = SecateurQwen3Model


class SecateurGemma2Model(LayeredModel, gemma2.Gemma2Model):
    config_class = SecateurGemma2Config
    layer_class = gemma2.Gemma2DecoderLayer
    _supports_sdpa = False  # it does not apply the softcap of the scores


class SecateurGemma2ForCausalLM(LayeredForCausalLM, gemma2.Gemma2ForCausalLM):
    config_class = SecateurGemma2Config
    model_class = SecateurGemma2Model
    _supports_sdpa = False


class SecateurGemma3Model(LayeredModel, gemma3.Gemma3TextModel):
    config_class = SecateurGemma3Config
    layer_class = gemma3.Gemma3DecoderLayer


class SecateurGemma3ForCausalLM(LayeredForCausalLM, gemma3.Gemma3ForCausalLM):
    config_class = SecateurGemma3Config
    model_class = SecateurGemma3Model
