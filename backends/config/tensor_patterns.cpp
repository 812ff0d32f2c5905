#include "backends/config/tensor_patterns.h"

namespace secateur {

namespace {

constexpr std::array llamaPatterns{
    TensorPattern{Which::embedding, "{prefix}embed_tokens.weight"},
    TensorPattern{Which::readOut, "lm_head.weight"},
    TensorPattern{Which::attentionNorm, "{prefix}layers.{layer}.input_layernorm.weight"},
    TensorPattern{Which::query, "{prefix}layers.{layer}.self_attn.q_proj.weight"},
    TensorPattern{Which::queryBias, "{prefix}layers.{layer}.self_attn.q_proj.bias"},
    TensorPattern{Which::key, "{prefix}layers.{layer}.self_attn.k_proj.weight"},
    TensorPattern{Which::keyBias, "{prefix}layers.{layer}.self_attn.k_proj.bias"},
    TensorPattern{Which::value, "{prefix}layers.{layer}.self_attn.v_proj.weight"},
    TensorPattern{Which::valueBias, "{prefix}layers.{layer}.self_attn.v_proj.bias"},
    TensorPattern{Which::finalNorm, "{prefix}norm.weight"},
    TensorPattern{Which::output, "{prefix}layers.{layer}.self_attn.o_proj.weight"},
    TensorPattern{Which::outputBias, "{prefix}layers.{layer}.self_attn.o_proj.bias"},
    TensorPattern{Which::queryNorm, "{prefix}layers.{layer}.self_attn.q_norm.weight"},
    TensorPattern{Which::keyNorm, "{prefix}layers.{layer}.self_attn.k_norm.weight"},
    TensorPattern{Which::gate, "{prefix}layers.{layer}.mlp.gate_proj.weight"},
    TensorPattern{Which::gateBias, "{prefix}layers.{layer}.mlp.gate_proj.bias"},
    TensorPattern{Which::up, "{prefix}layers.{layer}.mlp.up_proj.weight"},
    TensorPattern{Which::upBias, "{prefix}layers.{layer}.mlp.up_proj.bias"},
    TensorPattern{Which::down, "{prefix}layers.{layer}.mlp.down_proj.weight"},
    TensorPattern{Which::downBias, "{prefix}layers.{layer}.mlp.down_proj.bias"},
};

constexpr std::array llamaNorms{
    TensorPattern{Which::mlpNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
};

// Gemma's post_attention_layernorm is another norm than Llama's of the same name.
constexpr std::array gemmaNorms{
    TensorPattern{Which::readOut, "language_model.lm_head.weight"},
    TensorPattern{Which::attentionPostNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
    TensorPattern{Which::mlpNorm, "{prefix}layers.{layer}.pre_feedforward_layernorm.weight"},
    TensorPattern{Which::mlpPostNorm, "{prefix}layers.{layer}.post_feedforward_layernorm.weight"},
};

constexpr std::array phiPatterns{
    TensorPattern{Which::embedding, "{prefix}embed_tokens.weight"},
    TensorPattern{Which::readOut, "lm_head.weight"},
    TensorPattern{Which::readOutBias, "lm_head.bias"},
    TensorPattern{Which::finalNorm, "{prefix}final_layernorm.weight"},
    TensorPattern{Which::finalNormBias, "{prefix}final_layernorm.bias"},
    TensorPattern{Which::attentionNorm, "{prefix}layers.{layer}.input_layernorm.weight"},
    TensorPattern{Which::attentionNormBias, "{prefix}layers.{layer}.input_layernorm.bias"},
    TensorPattern{Which::query, "{prefix}layers.{layer}.self_attn.q_proj.weight"},
    TensorPattern{Which::queryBias, "{prefix}layers.{layer}.self_attn.q_proj.bias"},
    TensorPattern{Which::key, "{prefix}layers.{layer}.self_attn.k_proj.weight"},
    TensorPattern{Which::keyBias, "{prefix}layers.{layer}.self_attn.k_proj.bias"},
    TensorPattern{Which::value, "{prefix}layers.{layer}.self_attn.v_proj.weight"},
    TensorPattern{Which::valueBias, "{prefix}layers.{layer}.self_attn.v_proj.bias"},
    TensorPattern{Which::output, "{prefix}layers.{layer}.self_attn.dense.weight"},
    TensorPattern{Which::outputBias, "{prefix}layers.{layer}.self_attn.dense.bias"},
    TensorPattern{Which::up, "{prefix}layers.{layer}.mlp.fc1.weight"},
    TensorPattern{Which::upBias, "{prefix}layers.{layer}.mlp.fc1.bias"},
    TensorPattern{Which::down, "{prefix}layers.{layer}.mlp.fc2.weight"},
    TensorPattern{Which::downBias, "{prefix}layers.{layer}.mlp.fc2.bias"},
};

// Conv1D keeps its matrices as [in, out].
constexpr std::array gpt2Patterns{
    TensorPattern{Which::embedding, "{prefix}wte.weight"},
    TensorPattern{Which::positionEmbedding, "{prefix}wpe.weight"},
    TensorPattern{Which::readOut, "lm_head.weight"},
    TensorPattern{Which::finalNorm, "{prefix}ln_f.weight"},
    TensorPattern{Which::finalNormBias, "{prefix}ln_f.bias"},
    TensorPattern{Which::attentionNorm, "{prefix}h.{layer}.ln_1.weight"},
    TensorPattern{Which::attentionNormBias, "{prefix}h.{layer}.ln_1.bias"},
    TensorPattern{Which::query, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::query, true},
    TensorPattern{Which::queryBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::query},
    TensorPattern{Which::key, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::key, true},
    TensorPattern{Which::keyBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::key},
    TensorPattern{Which::value, "{prefix}h.{layer}.attn.c_attn.weight", FusedPart::value, true},
    TensorPattern{Which::valueBias, "{prefix}h.{layer}.attn.c_attn.bias", FusedPart::value},
    TensorPattern{Which::output, "{prefix}h.{layer}.attn.c_proj.weight", FusedPart::whole, true},
    TensorPattern{Which::outputBias, "{prefix}h.{layer}.attn.c_proj.bias"},
    TensorPattern{Which::up, "{prefix}h.{layer}.mlp.c_fc.weight", FusedPart::whole, true},
    TensorPattern{Which::upBias, "{prefix}h.{layer}.mlp.c_fc.bias"},
    TensorPattern{Which::down, "{prefix}h.{layer}.mlp.c_proj.weight", FusedPart::whole, true},
    TensorPattern{Which::downBias, "{prefix}h.{layer}.mlp.c_proj.bias"},
    TensorPattern{Which::mlpNorm, "{prefix}h.{layer}.ln_2.weight"},
    TensorPattern{Which::mlpNormBias, "{prefix}h.{layer}.ln_2.bias"},
};

constexpr std::array encoderPatterns{
    TensorPattern{Which::embedding, "{prefix}embeddings.word_embeddings.weight"},
    TensorPattern{Which::positionEmbedding, "{prefix}embeddings.position_embeddings.weight"},
    TensorPattern{Which::typeEmbedding, "{prefix}embeddings.token_type_embeddings.weight"},
    TensorPattern{Which::embeddingNorm, "{prefix}embeddings.LayerNorm.weight"},
    TensorPattern{Which::embeddingNormBias, "{prefix}embeddings.LayerNorm.bias"},
    TensorPattern{Which::classifier, "classifier.weight"},
    TensorPattern{Which::classifierBias, "classifier.bias"},
};

constexpr std::array bertPatterns{
    TensorPattern{Which::pooler, "{prefix}pooler.dense.weight"},
    TensorPattern{Which::poolerBias, "{prefix}pooler.dense.bias"},
    TensorPattern{Which::classifierDense, "classifier.dense.weight"},
    TensorPattern{Which::classifierDenseBias, "classifier.dense.bias"},
    TensorPattern{Which::classifier, "classifier.out_proj.weight"},
    TensorPattern{Which::classifierBias, "classifier.out_proj.bias"},
    TensorPattern{Which::query, "{prefix}encoder.layer.{layer}.attention.self.query.weight"},
    TensorPattern{Which::queryBias, "{prefix}encoder.layer.{layer}.attention.self.query.bias"},
    TensorPattern{Which::key, "{prefix}encoder.layer.{layer}.attention.self.key.weight"},
    TensorPattern{Which::keyBias, "{prefix}encoder.layer.{layer}.attention.self.key.bias"},
    TensorPattern{Which::value, "{prefix}encoder.layer.{layer}.attention.self.value.weight"},
    TensorPattern{Which::valueBias, "{prefix}encoder.layer.{layer}.attention.self.value.bias"},
    TensorPattern{Which::output, "{prefix}encoder.layer.{layer}.attention.output.dense.weight"},
    TensorPattern{Which::outputBias, "{prefix}encoder.layer.{layer}.attention.output.dense.bias"},
    TensorPattern{Which::attentionPostNorm, "{prefix}encoder.layer.{layer}.attention.output.LayerNorm.weight"},
    TensorPattern{Which::attentionPostNormBias, "{prefix}encoder.layer.{layer}.attention.output.LayerNorm.bias"},
    TensorPattern{Which::up, "{prefix}encoder.layer.{layer}.intermediate.dense.weight"},
    TensorPattern{Which::upBias, "{prefix}encoder.layer.{layer}.intermediate.dense.bias"},
    TensorPattern{Which::down, "{prefix}encoder.layer.{layer}.output.dense.weight"},
    TensorPattern{Which::downBias, "{prefix}encoder.layer.{layer}.output.dense.bias"},
    TensorPattern{Which::mlpPostNorm, "{prefix}encoder.layer.{layer}.output.LayerNorm.weight"},
    TensorPattern{Which::mlpPostNormBias, "{prefix}encoder.layer.{layer}.output.LayerNorm.bias"},
};

constexpr std::array albertPatterns{
    TensorPattern{Which::embeddingProjection, "{prefix}encoder.embedding_hidden_mapping_in.weight"},
    TensorPattern{Which::embeddingProjectionBias, "{prefix}encoder.embedding_hidden_mapping_in.bias"},
    TensorPattern{Which::pooler, "{prefix}pooler.weight"},
    TensorPattern{Which::poolerBias, "{prefix}pooler.bias"},
    TensorPattern{Which::query,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.query.weight"},
    TensorPattern{Which::queryBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.query.bias"},
    TensorPattern{Which::key, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.key.weight"},
    TensorPattern{Which::keyBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.key.bias"},
    TensorPattern{Which::value,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.value.weight"},
    TensorPattern{Which::valueBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.value.bias"},
    TensorPattern{Which::output,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.dense.weight"},
    TensorPattern{Which::outputBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.dense.bias"},
    TensorPattern{Which::attentionPostNorm,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.LayerNorm.weight"},
    TensorPattern{Which::attentionPostNormBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.LayerNorm.bias"},
    TensorPattern{Which::up, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.weight"},
    TensorPattern{Which::upBias, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.bias"},
    TensorPattern{Which::down, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn_output.weight"},
    TensorPattern{Which::downBias, "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn_output.bias"},
    TensorPattern{Which::mlpPostNorm,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.full_layer_layer_norm.weight"},
    TensorPattern{Which::mlpPostNormBias,
                  "{prefix}encoder.albert_layer_groups.{group}.albert_layers.{inner}.full_layer_layer_norm.bias"},
};

constexpr std::array ggufPatterns{
    TensorPattern{Which::embedding, "token_embd.weight"},
    TensorPattern{Which::positionEmbedding, "position_embd.weight"},
    TensorPattern{Which::typeEmbedding, "token_types.weight"},
    TensorPattern{Which::embeddingNorm, "token_embd_norm.weight"},
    TensorPattern{Which::embeddingNormBias, "token_embd_norm.bias"},
    TensorPattern{Which::finalNorm, "output_norm.weight"},
    TensorPattern{Which::finalNormBias, "output_norm.bias"},
    TensorPattern{Which::readOut, "output.weight"},
    TensorPattern{Which::readOutBias, "output.bias"},
    TensorPattern{Which::attentionNorm, "blk.{layer}.attn_norm.weight"},
    TensorPattern{Which::attentionNormBias, "blk.{layer}.attn_norm.bias"},
    TensorPattern{Which::query, "blk.{layer}.attn_q.weight"},
    TensorPattern{Which::queryBias, "blk.{layer}.attn_q.bias"},
    TensorPattern{Which::query, "blk.{layer}.attn_qkv.weight", FusedPart::query},
    TensorPattern{Which::queryBias, "blk.{layer}.attn_qkv.bias", FusedPart::query},
    TensorPattern{Which::key, "blk.{layer}.attn_k.weight"},
    TensorPattern{Which::keyBias, "blk.{layer}.attn_k.bias"},
    TensorPattern{Which::key, "blk.{layer}.attn_qkv.weight", FusedPart::key},
    TensorPattern{Which::keyBias, "blk.{layer}.attn_qkv.bias", FusedPart::key},
    TensorPattern{Which::value, "blk.{layer}.attn_v.weight"},
    TensorPattern{Which::valueBias, "blk.{layer}.attn_v.bias"},
    TensorPattern{Which::value, "blk.{layer}.attn_qkv.weight", FusedPart::value},
    TensorPattern{Which::valueBias, "blk.{layer}.attn_qkv.bias", FusedPart::value},
    TensorPattern{Which::output, "blk.{layer}.attn_output.weight"},
    TensorPattern{Which::outputBias, "blk.{layer}.attn_output.bias"},
    TensorPattern{Which::queryNorm, "blk.{layer}.attn_q_norm.weight"},
    TensorPattern{Which::keyNorm, "blk.{layer}.attn_k_norm.weight"},
    TensorPattern{Which::attentionPostNorm, "blk.{layer}.post_attention_norm.weight"},
    TensorPattern{Which::attentionPostNorm, "blk.{layer}.attn_output_norm.weight"},
    TensorPattern{Which::attentionPostNormBias, "blk.{layer}.attn_output_norm.bias"},
    TensorPattern{Which::mlpNorm, "blk.{layer}.ffn_norm.weight"},
    TensorPattern{Which::mlpNormBias, "blk.{layer}.ffn_norm.bias"},
    TensorPattern{Which::gate, "blk.{layer}.ffn_gate.weight"},
    TensorPattern{Which::gateBias, "blk.{layer}.ffn_gate.bias"},
    TensorPattern{Which::up, "blk.{layer}.ffn_up.weight"},
    TensorPattern{Which::upBias, "blk.{layer}.ffn_up.bias"},
    TensorPattern{Which::down, "blk.{layer}.ffn_down.weight"},
    TensorPattern{Which::downBias, "blk.{layer}.ffn_down.bias"},
    TensorPattern{Which::mlpPostNorm, "blk.{layer}.post_ffw_norm.weight"},
    TensorPattern{Which::mlpPostNorm, "blk.{layer}.layer_output_norm.weight"},
    TensorPattern{Which::mlpPostNormBias, "blk.{layer}.layer_output_norm.bias"},
};

} // namespace

TensorPatterns llamaTensors() {
    return {llamaNorms, llamaPatterns};
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
