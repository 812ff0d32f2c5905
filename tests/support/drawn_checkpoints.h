#pragma once

#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/gguf_bytes.h"

#include <nlohmann/json.hpp>

#include <QDir>

#include <random>

/// Writes small decoders with drawn weights, as a Hugging Face folder with a tokenizer of words or as a GGUF file with
/// one of bytes.
namespace secateur::test {

struct DrawnShape {
    int layers = 4;
    int heads = 8;
    int kvHeads = 4;
    int context = 512;

    static constexpr int hidden = 32;
    static constexpr int headDim = 4;
    static constexpr int ffn = 16;
    static constexpr int vocab = 424; ///< at least the tokens of either tokenizer

    /// As `inspect --json` prints it.
    QByteArray structure() const {
        return QString("%1x%2/%3x%4+%5").arg(layers).arg(heads).arg(kvHeads).arg(headDim).arg(ffn).toUtf8();
    }
};

struct DrawnTensor {
    QByteArray name; ///< in Hugging Face
    QByteArray ggufName;
    QList<quint64> shape;
};

inline QList<DrawnTensor> drawnTensors(const DrawnShape& shape) {
    const auto size = [](int number) { return static_cast<quint64>(number); };
    const quint64 hidden = size(shape.hidden);
    const quint64 ffn = size(shape.ffn);
    const quint64 queries = size(shape.heads * shape.headDim);
    const quint64 keys = size(shape.kvHeads * shape.headDim);
    QList<DrawnTensor> tensors{{"model.embed_tokens.weight", "token_embd.weight", {size(shape.vocab), hidden}},
                               {"model.norm.weight", "output_norm.weight", {hidden}},
                               {"lm_head.weight", "output.weight", {size(shape.vocab), hidden}}};
    for (int layer = 0; layer < shape.layers; ++layer) {
        const QByteArray from = "model.layers." + QByteArray::number(layer) + ".";
        const QByteArray to = "blk." + QByteArray::number(layer) + ".";
        tensors += {{from + "input_layernorm.weight", to + "attn_norm.weight", {hidden}},
                    {from + "self_attn.q_proj.weight", to + "attn_q.weight", {queries, hidden}},
                    {from + "self_attn.k_proj.weight", to + "attn_k.weight", {keys, hidden}},
                    {from + "self_attn.v_proj.weight", to + "attn_v.weight", {keys, hidden}},
                    {from + "self_attn.o_proj.weight", to + "attn_output.weight", {hidden, queries}},
                    {from + "post_attention_layernorm.weight", to + "ffn_norm.weight", {hidden}},
                    {from + "mlp.gate_proj.weight", to + "ffn_gate.weight", {ffn, hidden}},
                    {from + "mlp.up_proj.weight", to + "ffn_up.weight", {ffn, hidden}},
                    {from + "mlp.down_proj.weight", to + "ffn_down.weight", {hidden, ffn}}};
    }
    return tensors;
}

/// float32 numbers around 0; around 1 for the weights of a norm, which have one dimension.
inline QByteArray drawnWeights(const DrawnTensor& tensor, std::mt19937& random) {
    std::normal_distribution<float> draw(tensor.shape.size() == 1 ? 1.F : 0.F, 0.2F);
    quint64 count = 1;
    for (const quint64 size : tensor.shape)
        count *= size;
    QByteArray bytes;
    for (quint64 i = 0; i < count; ++i)
        bytes += little(draw(random));
    return bytes;
}

inline QString byteTokenizer() {
    return SECATEUR_TEST_SOURCES "/tokenizers/byte-level/tokenizer.json";
}

/// A tokenizer whose tokens are words of the built-in text.
inline QByteArray wordTokenizer() {
    QFile text(SECATEUR_SOURCE_DIR "/resources/texts/calibration.txt");
    if (!text.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read the built-in text");
    nlohmann::json vocabulary{{"<unknown>", 0}, {"</s>", 1}};
    for (const QByteArray& word : text.readAll().simplified().split(' '))
        if (vocabulary.size() < DrawnShape::vocab && !vocabulary.contains(word.toStdString()))
            vocabulary[word.toStdString()] = vocabulary.size();
    const nlohmann::json tokenizer{
        {"version", "1.0"},
        {"added_tokens", {{{"id", 1}, {"content", "</s>"}, {"special", true}}}},
        {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unknown>"}}}};
    return QByteArray::fromStdString(tokenizer.dump());
}

/// Writes a folder with config.json, model.safetensors and tokenizer.json.
inline void writeDrawnFolder(const Scratch& scratch, const QString& name, const DrawnShape& shape) {
    QDir().mkpath(scratch.path(name));
    const nlohmann::json config{{"model_type", "llama"},
                                {"hidden_size", shape.hidden},
                                {"intermediate_size", shape.ffn},
                                {"num_hidden_layers", shape.layers},
                                {"num_attention_heads", shape.heads},
                                {"num_key_value_heads", shape.kvHeads},
                                {"head_dim", shape.headDim},
                                {"vocab_size", shape.vocab},
                                {"max_position_embeddings", shape.context},
                                {"rms_norm_eps", 1e-5},
                                {"tie_word_embeddings", false}};
    scratch.write(name + "/config.json", QByteArray::fromStdString(config.dump()));
    std::mt19937 random(1);
    nlohmann::json header;
    QByteArray data;
    for (const DrawnTensor& tensor : drawnTensors(shape)) {
        const qsizetype begin = data.size();
        data += drawnWeights(tensor, random);
        header[tensor.name.toStdString()] = {{"dtype", "F32"},
                                             {"shape", std::vector<quint64>(tensor.shape.begin(), tensor.shape.end())},
                                             {"data_offsets", {begin, data.size()}}};
    }
    const QByteArray text = QByteArray::fromStdString(header.dump());
    scratch.write(name + "/model.safetensors", little<quint64>(static_cast<quint64>(text.size())) + text + data);
    scratch.write(name + "/tokenizer.json", wordTokenizer());
    scratch.write(name + "/tokenizer_config.json", R"({"eos_token": "</s>"})");
}

inline QByteArrayList drawnGgufPairs(const DrawnShape& shape) {
    const auto number = [](const QByteArray& key, int value) {
        return gguf::pair("llama." + key, gguf::u32, little(static_cast<quint32>(value)));
    };
    const nlohmann::json tokenizer = readJson(byteTokenizer()).at("model");
    std::vector<std::string> tokens(tokenizer.at("vocab").size());
    for (const auto& [token, id] : tokenizer.at("vocab").items())
        tokens.at(id.get<std::size_t>()) = token;
    QByteArray tokenBytes;
    for (const std::string& token : tokens)
        tokenBytes += gguf::text(QByteArray::fromStdString(token));
    QByteArray merges;
    for (const auto& merge : tokenizer.at("merges"))
        merges += gguf::text(
            QByteArray::fromStdString(merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>()));
    const auto list = [](const char* key, quint64 count, const QByteArray& texts) {
        return gguf::pair(QByteArray("tokenizer.ggml.") + key, gguf::array, gguf::arrayOf(gguf::string, count, texts));
    };
    return {gguf::pair("general.architecture", gguf::string, gguf::text("llama")),
            number("block_count", shape.layers),
            number("embedding_length", shape.hidden),
            number("feed_forward_length", shape.ffn),
            number("attention.head_count", shape.heads),
            number("attention.head_count_kv", shape.kvHeads),
            number("attention.key_length", shape.headDim),
            number("attention.value_length", shape.headDim),
            number("context_length", shape.context),
            gguf::pair("llama.attention.layer_norm_rms_epsilon", gguf::f32, little(1e-5F)),
            gguf::pair("tokenizer.ggml.model", gguf::string, gguf::text("gpt2")),
            gguf::pair("tokenizer.ggml.pre", gguf::string, gguf::text("gpt-2")),
            list("tokens", tokens.size(), tokenBytes),
            list("merges", tokenizer.at("merges").size(), merges)};
}

inline void writeDrawnGguf(const Scratch& scratch, const QString& name, const DrawnShape& shape) {
    std::mt19937 random(1);
    QByteArrayList entries;
    QByteArray data;
    for (const DrawnTensor& tensor : drawnTensors(shape)) {
        const QList<quint64> dimensions(tensor.shape.rbegin(), tensor.shape.rend());
        entries << gguf::tensor(tensor.ggufName, dimensions, 0, static_cast<quint64>(data.size()));
        data += drawnWeights(tensor, random);
        data += QByteArray((32 - data.size() % 32) % 32, '\0');
    }
    QDir().mkpath(QFileInfo(scratch.path(name)).path());
    scratch.write(name, gguf::fileOf(drawnGgufPairs(shape), entries, 0) + data);
}

} // namespace secateur::test
