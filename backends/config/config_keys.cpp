#include "backends/config/config_keys.h"

namespace secateur {

namespace {

template <typename... Text>
constexpr std::array<std::string_view, sizeof...(Text)> keyNames(Text... texts) {
    return {texts...};
}

constexpr UnsupportedKey unlessFalse(std::string_view key, std::string_view reason) {
    return {key, "false", reason};
}

// --- every config.json ---

constexpr auto commonRead = keyNames("model_type", "vocab_size");

constexpr auto commonHarmless = keyNames(
    // of the file and of the class
    "architectures", "auto_map", "transformers_version", "transformers.js_config", "torch_dtype", "dtype",
    "_name_or_path", "name_or_path", "_commit_hash", "_attn_implementation*", "attn_implementation", "unsloth_*",
    "is_llama_config", "tokenizer_class", "prefix", "quantization_config", "problem_type", "finetuning_task",
    "task_specific_params", "id2label", "label2id", "num_labels",
    // of training and of how it runs
    "initializer_range", "gradient_checkpointing", "use_cache", "cache_implementation", "torchscript", "use_bfloat16",
    "tf_legacy_loss", "pretraining_tp", "chunk_size_feed_forward", "return_dict", "output_attentions",
    "output_hidden_states", "output_past", "tie_encoder_decoder", "tie_word_embeddings", "tie_last_hidden_states",
    "cross_attention_hidden_size", "is_decoder",
    // of special tokens and of generation
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens");

constexpr std::array commonUnsupported{
    unlessFalse("is_encoder_decoder", "encoder-decoder models are not supported"),
    unlessFalse("add_cross_attention", "cross-attention is not supported"),
    UnsupportedKey{"position_embedding_type", "\"absolute\"", "{} is not supported, only \"absolute\""},
    UnsupportedKey{"per_layer_config", "{}", "settings for single layers are not supported"},
    UnsupportedKey{"block_configs", "[]", "settings for single layers are not supported"},
    UnsupportedKey{"pruned_heads", "{}", "pruned heads are not supported in this architecture"},
};

constexpr KnownKeys commonKeys{commonRead, commonHarmless, commonUnsupported};

// --- decoders with rotary positions ---

constexpr auto rotaryRead =
    keyNames("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
             "head_dim", "max_position_embeddings", "tie_word_embeddings", "rope_theta", "rope_scaling",
             "rope_parameters", "per_layer_config", "attention_output_bias", "mlp_output_bias");

constexpr auto rotaryHarmless = keyNames("attention_dropout", "max_sequence_length");

constexpr std::string_view onlyWhole = "rotating a part of a head is not supported in this architecture";

constexpr std::array rotaryUnsupported{
    unlessFalse("use_bidirectional_attention", "attention to later tokens is not supported"),
    unlessFalse("qk_layernorm", "norms of queries and keys are not supported in this architecture"),
    unlessFalse("rope_interleaved", "rotary pairs of neighbouring dimensions are not supported"),
    unlessFalse("use_mrope", "rotary positions in several dimensions are not supported"),
    UnsupportedKey{"bypass_qk", "null", "is read in an entry of per_layer_config only"},
    UnsupportedKey{"num_experts", "0", "mixtures of experts are not supported"},
    UnsupportedKey{"num_local_experts", "0", "mixtures of experts are not supported"},
    UnsupportedKey{"partial_rotary_factor", "1", onlyWhole},
};

constexpr KnownKeys rotaryKeys{rotaryRead, rotaryHarmless, rotaryUnsupported};

constexpr auto llamaRead = keyNames("rms_norm_eps", "hidden_act", "attention_bias", "mlp_bias");
constexpr auto deciRead = keyNames("rms_norm_eps", "hidden_act", "attention_bias", "mlp_bias", "block_configs");
constexpr auto mistralRead = keyNames("rms_norm_eps", "hidden_act", "sliding_window");
constexpr auto qwen2Read =
    keyNames("rms_norm_eps", "hidden_act", "sliding_window", "use_sliding_window", "max_window_layers", "layer_types");
constexpr auto qwen3Read = keyNames("rms_norm_eps", "hidden_act", "sliding_window", "use_sliding_window",
                                    "max_window_layers", "layer_types", "attention_bias");
constexpr auto gemma2Read =
    keyNames("rms_norm_eps", "hidden_activation", "sliding_window", "layer_types", "attention_bias",
             "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping");
constexpr auto gemma3Read =
    keyNames("rms_norm_eps", "hidden_activation", "sliding_window", "sliding_window_pattern", "layer_types",
             "attention_bias", "query_pre_attn_scalar", "final_logit_softcapping", "rope_local_base_freq");
constexpr auto phiRead = keyNames("layer_norm_eps", "hidden_act", "partial_rotary_factor");

// Gemma's class takes hidden_activation. Files of Gemma 3 may have a softcap of the scores, which its class does not
// apply, and the pattern of windows beside layer_types.
constexpr auto gemma2Harmless = keyNames("hidden_act", "_sliding_window_pattern");
constexpr auto gemma3Harmless = keyNames("hidden_act", "_sliding_window_pattern", "attn_logit_softcapping");
constexpr auto phiHarmless = keyNames("embd_pdrop", "resid_pdrop");

// --- GPT-2 ---

constexpr auto gpt2Read =
    keyNames("n_embd", "n_inner", "n_layer", "n_head", "n_positions", "layer_norm_epsilon", "activation_function",
             "tie_word_embeddings", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "pruned_heads");
constexpr auto gpt2Harmless = keyNames("n_ctx", "attn_pdrop", "embd_pdrop", "resid_pdrop", "reorder_and_upcast_attn",
                                       "summary_*", "predict_special_tokens");

// --- encoders ---

constexpr auto encoderRead =
    keyNames("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
             "layer_norm_eps", "hidden_act", "type_vocab_size", "id2label", "num_labels", "pruned_heads");
constexpr auto encoderHarmless = keyNames("attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout",
                                          "classifier_dropout_prob", "directionality", "pooler_*");
constexpr std::array encoderUnsupported{unlessFalse("is_decoder", "encoders used as decoders are not supported")};

constexpr KnownKeys encoderKeys{encoderRead, encoderHarmless, encoderUnsupported};

constexpr auto robertaRead = keyNames("pad_token_id");
constexpr auto albertRead = keyNames("embedding_size", "inner_group_num", "num_hidden_groups");
constexpr auto albertHarmless =
    keyNames("num_memory_blocks", "net_structure_type", "gap_size", "layers_to_keep", "down_scale_factor");

// --- objects in config.json ---

constexpr auto ropeRead = keyNames("rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
                                   "original_max_position_embeddings", "full_attention", "sliding_attention");
constexpr auto partialRopeRead =
    keyNames("rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
             "original_max_position_embeddings", "full_attention", "sliding_attention", "partial_rotary_factor");
constexpr std::array ropeUnsupported{UnsupportedKey{"partial_rotary_factor", "1", onlyWhole}};

constexpr auto layerRead = keyNames("num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
                                    "skip", "bypass_qk", "attention_output_bias", "mlp_output_bias");
constexpr auto windowedLayerRead =
    keyNames("num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "skip", "bypass_qk",
             "attention_output_bias", "mlp_output_bias", "sliding_window");

constexpr auto blockRead = keyNames("attention", "ffn");
constexpr std::array blockUnsupported{unlessFalse("parallel_blocks", "blocks beside each other are not supported")};
constexpr auto blockAttentionRead = keyNames("no_op", "n_heads_in_group", "replace_with_linear");
constexpr auto blockAttentionHarmless = keyNames("unshifted_sink", "use_prefill_window_in_sink_attention");
constexpr std::array blockAttentionUnsupported{
    UnsupportedKey{"window_length", "0", "windows of single layers are not supported"},
    UnsupportedKey{"num_sink_tokens", "0", "windows with sink tokens are not supported"},
    unlessFalse("sparsify", "sparse weights are not supported"),
    unlessFalse("llama4", "the attention of Llama 4 is not supported"),
    unlessFalse("mamba", "Mamba layers are not supported"),
};
constexpr auto blockMlpRead = keyNames("no_op", "ffn_mult");
constexpr std::array blockMlpUnsupported{
    unlessFalse("replace_with_linear", "MLPs that are replaced by one matrix are not supported"),
    unlessFalse("sparsify", "sparse weights are not supported"),
    unlessFalse("moe", "mixtures of experts are not supported"),
    UnsupportedKey{"hidden_act", "\"silu\"", "activations of single layers are not supported"},
};

constexpr auto multimodalRead = keyNames("text_config");
constexpr auto multimodalHarmless =
    keyNames("vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index",
             "boi_token_id", "eoi_token_id", "image_token_id");
constexpr std::array multimodalUnsupported{UnsupportedKey{"tie_word_embeddings", "true",
                                                          "multimodal checkpoints with an LM head of their own are not "
                                                          "supported"}};

// --- GGUF ---

constexpr auto ggufRead =
    keyNames("block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
             "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.scale",
             "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.sliding_window",
             "rope.dimension_count", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor",
             "rope.scaling.original_context_length", "expert_count");
constexpr auto ggufHarmless =
    keyNames("vocab_size", "expert_used_count", "rope.scaling.finetuned", "tensor_data_layout");
constexpr std::array ggufUnsupported{
    UnsupportedKey{"rope.scale_linear", "1", "this old form of rotary scaling is not supported"},
    UnsupportedKey{"rope.scaling.attn_factor", "1", "a factor of the rotated queries and keys is not supported"},
    UnsupportedKey{"attention.max_alibi_bias", "0", "biases of attention scores are not supported"},
    UnsupportedKey{"attention.clamp_kqv", "0", "limits of queries, keys and values are not supported"},
};
constexpr KnownKeys ggufCommon{ggufRead, ggufHarmless, ggufUnsupported};

constexpr std::array onlyCausal{
    UnsupportedKey{"attention.causal", "true", "attention to later tokens is not supported in this architecture"}};
constexpr std::array onlyBidirectional{
    UnsupportedKey{"attention.causal", "false", "encoders used as decoders are not supported"}};

constexpr auto gemma2GgufRead = keyNames("attn_logit_softcapping", "final_logit_softcapping");
constexpr auto gemma3GgufRead =
    keyNames("final_logit_softcapping", "rope.freq_base_swa", "attention.sliding_window_pattern");
constexpr auto gemma3GgufHarmless = keyNames("attn_logit_softcapping");
constexpr auto encoderGgufHarmless = keyNames("pooling_type", "classifier.output_labels");
constexpr auto generalHarmless = keyNames("general.*", "tokenizer.*", "split.*", "quantize.*");

} // namespace

ConfigKeyLists llamaConfigKeys() {
    return {KnownKeys{llamaRead}, rotaryKeys, commonKeys};
}

ConfigKeyLists deciConfigKeys() {
    return {KnownKeys{deciRead}, rotaryKeys, commonKeys};
}

ConfigKeyLists mistralConfigKeys() {
    return {KnownKeys{mistralRead}, rotaryKeys, commonKeys};
}

ConfigKeyLists qwen2ConfigKeys() {
    return {KnownKeys{qwen2Read}, rotaryKeys, commonKeys};
}

ConfigKeyLists qwen3ConfigKeys() {
    return {KnownKeys{qwen3Read}, rotaryKeys, commonKeys};
}

ConfigKeyLists gemma2ConfigKeys() {
    return {KnownKeys{gemma2Read, gemma2Harmless}, rotaryKeys, commonKeys};
}

ConfigKeyLists gemma3ConfigKeys() {
    return {KnownKeys{gemma3Read, gemma3Harmless}, rotaryKeys, commonKeys};
}

ConfigKeyLists phiConfigKeys() {
    return {KnownKeys{phiRead, phiHarmless}, rotaryKeys, commonKeys};
}

ConfigKeyLists gpt2ConfigKeys() {
    return {KnownKeys{gpt2Read, gpt2Harmless}, KnownKeys{}, commonKeys};
}

ConfigKeyLists bertConfigKeys() {
    return {KnownKeys{}, encoderKeys, commonKeys};
}

ConfigKeyLists robertaConfigKeys() {
    return {KnownKeys{robertaRead}, encoderKeys, commonKeys};
}

ConfigKeyLists albertConfigKeys() {
    return {KnownKeys{albertRead, albertHarmless}, encoderKeys, commonKeys};
}

KnownKeys rotaryConfigKeys(bool isPartial) {
    return isPartial ? KnownKeys{partialRopeRead} : KnownKeys{ropeRead, {}, ropeUnsupported};
}

KnownKeys layerConfigKeys(bool hasWindows) {
    return hasWindows ? KnownKeys{windowedLayerRead} : KnownKeys{layerRead};
}

KnownKeys blockConfigKeys() {
    return {blockRead, {}, blockUnsupported};
}

KnownKeys blockAttentionKeys() {
    return {blockAttentionRead, blockAttentionHarmless, blockAttentionUnsupported};
}

KnownKeys blockMlpKeys() {
    return {blockMlpRead, {}, blockMlpUnsupported};
}

std::array<KnownKeys, 2> multimodalConfigKeys() {
    return {KnownKeys{multimodalRead, multimodalHarmless, multimodalUnsupported}, commonKeys};
}

GgufKeyLists decoderGgufKeys() {
    return {KnownKeys{{}, {}, onlyCausal}, ggufCommon};
}

GgufKeyLists gemma2GgufKeys() {
    return {KnownKeys{gemma2GgufRead, {}, onlyCausal}, ggufCommon};
}

GgufKeyLists gemma3GgufKeys() {
    return {KnownKeys{gemma3GgufRead, gemma3GgufHarmless, onlyCausal}, ggufCommon};
}

GgufKeyLists encoderGgufKeys() {
    return {KnownKeys{{}, encoderGgufHarmless, onlyBidirectional}, ggufCommon};
}

KnownKeys generalGgufKeys() {
    return {{}, generalHarmless};
}

} // namespace secateur
