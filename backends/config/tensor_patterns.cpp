#include "backends/config/tensor_patterns.h"

namespace secateur {

namespace {

constexpr std::array llamaPatterns{
    TensorPattern{WeightName::embedding, "{prefix}embed_tokens.weight"},
    TensorPattern{WeightName::lmHead, "lm_head.weight"},
    TensorPattern{WeightName::attentionNorm, "{prefix}layers.{layer}.input_layernorm.weight"},
    TensorPattern{WeightName::query, "{prefix}layers.{layer}.self_attn.q_proj.weight"},
    TensorPattern{WeightName::queryBias, "{prefix}layers.{layer}.self_attn.q_proj.bias"},
    TensorPattern{WeightName::key, "{prefix}layers.{layer}.self_attn.k_proj.weight"},
    TensorPattern{WeightName::keyBias, "{prefix}layers.{layer}.self_attn.k_proj.bias"},
    TensorPattern{WeightName::value, "{prefix}layers.{layer}.self_attn.v_proj.weight"},
    TensorPattern{WeightName::valueBias, "{prefix}layers.{layer}.self_attn.v_proj.bias"},
    TensorPattern{WeightName::finalNorm, "{prefix}norm.weight"},
    TensorPattern{WeightName::output, "{prefix}layers.{layer}.self_attn.o_proj.weight"},
    TensorPattern{WeightName::outputBias, "{prefix}layers.{layer}.self_attn.o_proj.bias"},
    TensorPattern{WeightName::queryNorm, "{prefix}layers.{layer}.self_attn.q_norm.weight"},
    TensorPattern{WeightName::keyNorm, "{prefix}layers.{layer}.self_attn.k_norm.weight"},
    TensorPattern{WeightName::gate, "{prefix}layers.{layer}.mlp.gate_proj.weight"},
    TensorPattern{WeightName::gateBias, "{prefix}layers.{layer}.mlp.gate_proj.bias"},
    TensorPattern{WeightName::up, "{prefix}layers.{layer}.mlp.up_proj.weight"},
    TensorPattern{WeightName::upBias, "{prefix}layers.{layer}.mlp.up_proj.bias"},
    TensorPattern{WeightName::down, "{prefix}layers.{layer}.mlp.down_proj.weight"},
    TensorPattern{WeightName::downBias, "{prefix}layers.{layer}.mlp.down_proj.bias"},
};

constexpr std::array llamaNorms{
    TensorPattern{WeightName::mlpNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
};

// A layer of DeciLM has either an output projection or, instead of all projections, one matrix.
constexpr std::array deciNames{
    TensorPattern{WeightName::mlpNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
    TensorPattern{WeightName::output, "{prefix}layers.{layer}.self_attn.o_proj.weight"},
    TensorPattern{WeightName::output, "{prefix}layers.{layer}.self_attn.linear_attn.weight"},
    TensorPattern{WeightName::outputBias, "{prefix}layers.{layer}.self_attn.o_proj.bias"},
    TensorPattern{WeightName::outputBias, "{prefix}layers.{layer}.self_attn.linear_attn.bias"},
};

// In Gemma, post_attention_layernorm normalises the attention update. In Llama, the norm with this name precedes the
// MLP.
constexpr std::array gemmaNorms{
    TensorPattern{WeightName::lmHead, "language_model.lm_head.weight"},
    TensorPattern{WeightName::attentionPostNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
    TensorPattern{WeightName::mlpNorm, "{prefix}layers.{layer}.pre_feedforward_layernorm.weight"},
    TensorPattern{WeightName::mlpPostNorm, "{prefix}layers.{layer}.post_feedforward_layernorm.weight"},
};

constexpr std::array phiPatterns{
    TensorPattern{WeightName::embedding, "{prefix}embed_tokens.weight"},
    TensorPattern{WeightName::lmHead, "lm_head.weight"},
    TensorPattern{WeightName::lmHeadBias, "lm_head.bias"},
    TensorPattern{WeightName::finalNorm, "{prefix}final_layernorm.weight"},
    TensorPattern{WeightName::finalNormBias, "{prefix}final_layernorm.bias"},
    TensorPattern{WeightName::attentionNorm, "{prefix}layers.{layer}.input_layernorm.weight"},
    TensorPattern{WeightName::attentionNormBias, "{prefix}layers.{layer}.input_layernorm.bias"},
    TensorPattern{WeightName::query, "{prefix}layers.{layer}.self_attn.q_proj.weight"},
    TensorPattern{WeightName::queryBias, "{prefix}layers.{layer}.self_attn.q_proj.bias"},
    TensorPattern{WeightName::key, "{prefix}layers.{layer}.self_attn.k_proj.weight"},
    TensorPattern{WeightName::keyBias, "{prefix}layers.{layer}.self_attn.k_proj.bias"},
    TensorPattern{WeightName::value, "{prefix}layers.{layer}.self_attn.v_proj.weight"},
    TensorPattern{WeightName::valueBias, "{prefix}layers.{layer}.self_attn.v_proj.bias"},
    TensorPattern{WeightName::output, "{prefix}layers.{layer}.self_attn.dense.weight"},
    TensorPattern{WeightName::outputBias, "{prefix}layers.{layer}.self_attn.dense.bias"},
    TensorPattern{WeightName::up, "{prefix}layers.{layer}.mlp.fc1.weight"},
    TensorPattern{WeightName::upBias, "{prefix}layers.{layer}.mlp.fc1.bias"},
    TensorPattern{WeightName::down, "{prefix}layers.{layer}.mlp.fc2.weight"},
    TensorPattern{WeightName::downBias, "{prefix}layers.{layer}.mlp.fc2.bias"},
};

// GPT-2's class Conv1D stores its matrices as [in, out].
constexpr std::array gpt2Patterns{
    TensorPattern{WeightName::embedding, "{prefix}wte.weight"},
    TensorPattern{WeightName::positionEmbedding, "{prefix}wpe.weight"},
    TensorPattern{WeightName::lmHead, "lm_head.weight"},
    TensorPattern{WeightName::finalNorm, "{prefix}ln_f.weight"},
    TensorPattern{WeightName::finalNormBias, "{prefix}ln_f.bias"},
    TensorPattern{WeightName::attentionNorm, "{prefix}h.{layer}.ln_1.weight"},
    TensorPattern{WeightName::attentionNormBias, "{prefix}h.{layer}.ln_1.bias"},
    TensorPattern{WeightName::query, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::query, true},
    TensorPattern{WeightName::queryBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::query},
    TensorPattern{WeightName::key, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::key, true},
    TensorPattern{WeightName::keyBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::key},
    TensorPattern{WeightName::value, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::value, true},
    TensorPattern{WeightName::valueBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::value},
    TensorPattern{WeightName::output, "{prefix}h.{layer}.attn.c_proj.weight", FusedPart::whole, true},
    TensorPattern{WeightName::outputBias, "{prefix}h.{layer}.attn.c_proj.bias"},
    TensorPattern{WeightName::up, "{prefix}h.{layer}.mlp.c_fc.weight", FusedPart::whole, true},
    TensorPattern{WeightName::upBias, "{prefix}h.{layer}.mlp.c_fc.bias"},
    TensorPattern{WeightName::down, "{prefix}h.{layer}.mlp.c_proj.weight", FusedPart::whole, true},
    TensorPattern{WeightName::downBias, "{prefix}h.{layer}.mlp.c_proj.bias"},
    TensorPattern{WeightName::mlpNorm, "{prefix}h.{layer}.ln_2.weight"},
    TensorPattern{WeightName::mlpNormBias, "{prefix}h.{layer}.ln_2.bias"},
};

constexpr std::array encoderPatterns{
    TensorPattern{WeightName::embedding, "{prefix}embeddings.word_embeddings.weight"},
    TensorPattern{WeightName::positionEmbedding, "{prefix}embeddings.position_embeddings.weight"},
    TensorPattern{WeightName::typeEmbedding, "{prefix}embeddings.token_type_embeddings.weight"},
    TensorPattern{WeightName::embeddingNorm, "{prefix}embeddings.LayerNorm.weight"},
    TensorPattern{WeightName::embeddingNormBias, "{prefix}embeddings.LayerNorm.bias"},
    TensorPattern{WeightName::classifier, "classifier.weight"},
    TensorPattern{WeightName::classifierBias, "classifier.bias"},
};

constexpr std::array bertPatterns{
    TensorPattern{WeightName::pooler, "{prefix}pooler.dense.weight"},
    TensorPattern{WeightName::poolerBias, "{prefix}pooler.dense.bias"},
    TensorPattern{WeightName::classifierDense, "classifier.dense.weight"},
    TensorPattern{WeightName::classifierDenseBias, "classifier.dense.bias"},
    TensorPattern{WeightName::classifier, "classifier.out_proj.weight"},
    TensorPattern{WeightName::classifierBias, "classifier.out_proj.bias"},
    TensorPattern{WeightName::query, "{prefix}encoder.layer.{layer}.attention.self.query.weight"},
    TensorPattern{WeightName::queryBias, "{prefix}encoder.layer.{layer}.attention.self.query.bias"},
    TensorPattern{WeightName::key, "{prefix}encoder.layer.{layer}.attention.self.key.weight"},
    TensorPattern{WeightName::keyBias, "{prefix}encoder.layer.{layer}.attention.self.key.bias"},
    TensorPattern{WeightName::value, "{prefix}encoder.layer.{layer}.attention.self.value.weight"},
    TensorPattern{WeightName::valueBias, "{prefix}encoder.layer.{layer}.attention.self.value.bias"},
    TensorPattern{WeightName::output, "{prefix}encoder.layer.{layer}.attention.output.dense.weight"},
    TensorPattern{WeightName::outputBias, "{prefix}encoder.layer.{layer}.attention.output.dense.bias"},
    TensorPattern{WeightName::attentionPostNorm, "{prefix}encoder.layer.{layer}.attention.output.LayerNorm.weight"},
    TensorPattern{WeightName::attentionPostNormBias, "{prefix}encoder.layer.{layer}.attention.output.LayerNorm.bias"},
    TensorPattern{WeightName::up, "{prefix}encoder.layer.{layer}.intermediate.dense.weight"},
    TensorPattern{WeightName::upBias, "{prefix}encoder.layer.{layer}.intermediate.dense.bias"},
    TensorPattern{WeightName::down, "{prefix}encoder.layer.{layer}.output.dense.weight"},
    TensorPattern{WeightName::downBias, "{prefix}encoder.layer.{layer}.output.dense.bias"},
    TensorPattern{WeightName::mlpPostNorm, "{prefix}encoder.layer.{layer}.output.LayerNorm.weight"},
    TensorPattern{WeightName::mlpPostNormBias, "{prefix}encoder.layer.{layer}.output.LayerNorm.bias"},
};

constexpr std::array albertPatterns{
    TensorPattern{WeightName::embeddingProjection, "{prefix}encoder.embedding_hidden_mapping_in.weight"},
    TensorPattern{WeightName::embeddingProjectionBias, "{prefix}encoder.embedding_hidden_mapping_in.bias"},
    TensorPattern{WeightName::pooler, "{prefix}pooler.weight"},
    TensorPattern{WeightName::poolerBias, "{prefix}pooler.bias"},
    TensorPattern{WeightName::query,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.query.weight"},
    TensorPattern{WeightName::queryBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.query.bias"},
    TensorPattern{WeightName::key,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.key.weight"},
    TensorPattern{WeightName::keyBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.key.bias"},
    TensorPattern{WeightName::value,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.value.weight"},
    TensorPattern{WeightName::valueBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.value.bias"},
    TensorPattern{WeightName::output,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.dense.weight"},
    TensorPattern{WeightName::outputBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.dense.bias"},
    TensorPattern{WeightName::attentionPostNorm,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.LayerNorm.weight"},
    TensorPattern{WeightName::attentionPostNormBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.LayerNorm.bias"},
    TensorPattern{WeightName::up, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.weight"},
    TensorPattern{WeightName::upBias, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.bias"},
    TensorPattern{WeightName::down,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn_output.weight"},
    TensorPattern{WeightName::downBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn_output.bias"},
    TensorPattern{WeightName::mlpPostNorm,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.full_layer_layer_norm.weight"},
    TensorPattern{WeightName::mlpPostNormBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.full_layer_layer_norm.bias"},
};

constexpr std::array ggufPatterns{
    TensorPattern{WeightName::embedding, "token_embd.weight"},
    TensorPattern{WeightName::positionEmbedding, "position_embd.weight"},
    TensorPattern{WeightName::typeEmbedding, "token_types.weight"},
    TensorPattern{WeightName::embeddingNorm, "token_embd_norm.weight"},
    TensorPattern{WeightName::embeddingNormBias, "token_embd_norm.bias"},
    TensorPattern{WeightName::finalNorm, "output_norm.weight"},
    TensorPattern{WeightName::finalNormBias, "output_norm.bias"},
    TensorPattern{WeightName::lmHead, "output.weight"},
    TensorPattern{WeightName::lmHeadBias, "output.bias"},
    TensorPattern{WeightName::attentionNorm, "blk.{layer}.attn_norm.weight"},
    TensorPattern{WeightName::attentionNormBias, "blk.{layer}.attn_norm.bias"},
    TensorPattern{WeightName::query, "blk.{layer}.attn_q.weight"},
    TensorPattern{WeightName::queryBias, "blk.{layer}.attn_q.bias"},
    TensorPattern{WeightName::query, "blk.{layer}.attn_qkv.weight", FusedPart::query},
    TensorPattern{WeightName::queryBias, "blk.{layer}.attn_qkv.bias", FusedPart::query},
    TensorPattern{WeightName::key, "blk.{layer}.attn_k.weight"},
    TensorPattern{WeightName::keyBias, "blk.{layer}.attn_k.bias"},
    TensorPattern{WeightName::key, "blk.{layer}.attn_qkv.weight", FusedPart::key},
    TensorPattern{WeightName::keyBias, "blk.{layer}.attn_qkv.bias", FusedPart::key},
    TensorPattern{WeightName::value, "blk.{layer}.attn_v.weight"},
    TensorPattern{WeightName::valueBias, "blk.{layer}.attn_v.bias"},
    TensorPattern{WeightName::value, "blk.{layer}.attn_qkv.weight", FusedPart::value},
    TensorPattern{WeightName::valueBias, "blk.{layer}.attn_qkv.bias", FusedPart::value},
    TensorPattern{WeightName::output, "blk.{layer}.attn_output.weight"},
    TensorPattern{WeightName::outputBias, "blk.{layer}.attn_output.bias"},
    TensorPattern{WeightName::queryNorm, "blk.{layer}.attn_q_norm.weight"},
    TensorPattern{WeightName::keyNorm, "blk.{layer}.attn_k_norm.weight"},
    TensorPattern{WeightName::attentionPostNorm, "blk.{layer}.post_attention_norm.weight"},
    TensorPattern{WeightName::attentionPostNorm, "blk.{layer}.attn_output_norm.weight"},
    TensorPattern{WeightName::attentionPostNormBias, "blk.{layer}.attn_output_norm.bias"},
    TensorPattern{WeightName::mlpNorm, "blk.{layer}.ffn_norm.weight"},
    TensorPattern{WeightName::mlpNormBias, "blk.{layer}.ffn_norm.bias"},
    TensorPattern{WeightName::gate, "blk.{layer}.ffn_gate.weight"},
    TensorPattern{WeightName::gateBias, "blk.{layer}.ffn_gate.bias"},
    TensorPattern{WeightName::up, "blk.{layer}.ffn_up.weight"},
    TensorPattern{WeightName::upBias, "blk.{layer}.ffn_up.bias"},
    TensorPattern{WeightName::down, "blk.{layer}.ffn_down.weight"},
    TensorPattern{WeightName::downBias, "blk.{layer}.ffn_down.bias"},
    TensorPattern{WeightName::mlpPostNorm, "blk.{layer}.post_ffw_norm.weight"},
    TensorPattern{WeightName::mlpPostNorm, "blk.{layer}.layer_output_norm.weight"},
    TensorPattern{WeightName::mlpPostNormBias, "blk.{layer}.layer_output_norm.bias"},
};

} // namespace

TensorPatterns llamaTensors() {
    return {llamaNorms, llamaPatterns};
}

TensorPatterns deciTensors() {
    return {deciNames, llamaPatterns};
}

TensorPatterns gemmaTensors() {
    return {gemmaNorms, llamaPatterns};
}

TensorPatterns phiTensors() {
    return {phiPatterns, {}};
}

TensorPatterns gpt2Tensors() {
    return {gpt2Patterns, {}};
}

TensorPatterns bertTensors() {
    return {bertPatterns, encoderPatterns};
}

TensorPatterns albertTensors() {
    return {albertPatterns, encoderPatterns};
}

TensorPatterns ggufTensors() {
    return {ggufPatterns, {}};
}

} // namespace secateur
