#pragma once

#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/gguf_bytes.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFloat16>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

/// Writes small decoders with drawn weights, of equal layers or not, as a Hugging Face folder with a tokenizer of words or as a GGUF file with
/// one of bytes.
namespace secateur::test {

/// How the matrices are stored. Norms of a GGUF are float32, and matrices whose rows do not fill blocks.
enum class DrawnType { f32, f16, bf16, q8_0, q4_0 };

struct DrawnLayer {
    int heads = 8; ///< 0 = no attention
    int kvHeads = 4;
    int ffn = 16; ///< 0 = no MLP
};

struct DrawnShape {
    int layers = 4;
    int heads = 8;
    int kvHeads = 4;
    int context = 512;
    int hidden = 32;
    int headDim = 4;
    int ffn = 16;
    int vocab = 424; ///< the default has room for the tokens of either tokenizer
    bool isTied = false;
    DrawnType type = DrawnType::f32;
    std::vector<DrawnLayer> ragged{}; ///< layers of a deci GGUF, instead of equal ones

    DrawnLayer layer(int index) const {
        return ragged.empty() ? DrawnLayer{heads, kvHeads, ffn} : ragged.at(static_cast<std::size_t>(index));
    }
    int layerCount() const { return ragged.empty() ? layers : static_cast<int>(ragged.size()); }
    /// As `inspect --json` prints it if all layers are equal.
    QByteArray structure() const {
        return QString("%1x%2/%3x%4+%5").arg(layers).arg(heads).arg(kvHeads).arg(headDim).arg(ffn).toUtf8();
    }
};

struct DrawnTensor {
    QByteArray name; ///< in Hugging Face
    QByteArray ggufName;
    QList<quint64> shape;
};

inline QList<DrawnTensor> drawnTensorsOf(const DrawnShape& shape, int index) {
    const DrawnLayer layer = shape.layer(index);
    const QByteArray from = "model.layers." + QByteArray::number(index) + ".";
    const QByteArray to = "blk." + QByteArray::number(index) + ".";
    const auto hidden = static_cast<quint64>(shape.hidden);
    const auto ffn = static_cast<quint64>(layer.ffn);
    const auto queries = static_cast<quint64>(layer.heads * shape.headDim);
    const auto keys = static_cast<quint64>(layer.kvHeads * shape.headDim);
    QList<DrawnTensor> tensors;
    if (queries > 0)
        tensors += {{from + "input_layernorm.weight", to + "attn_norm.weight", {hidden}},
                    {from + "self_attn.q_proj.weight", to + "attn_q.weight", {queries, hidden}},
                    {from + "self_attn.k_proj.weight", to + "attn_k.weight", {keys, hidden}},
                    {from + "self_attn.v_proj.weight", to + "attn_v.weight", {keys, hidden}},
                    {from + "self_attn.o_proj.weight", to + "attn_output.weight", {hidden, queries}}};
    if (ffn > 0)
        tensors += {{from + "post_attention_layernorm.weight", to + "ffn_norm.weight", {hidden}},
                    {from + "mlp.gate_proj.weight", to + "ffn_gate.weight", {ffn, hidden}},
                    {from + "mlp.up_proj.weight", to + "ffn_up.weight", {ffn, hidden}},
                    {from + "mlp.down_proj.weight", to + "ffn_down.weight", {hidden, ffn}}};
    return tensors;
}

inline QList<DrawnTensor> drawnTensors(const DrawnShape& shape) {
    const auto hidden = static_cast<quint64>(shape.hidden);
    const auto vocab = static_cast<quint64>(shape.vocab);
    QList<DrawnTensor> tensors{{"model.embed_tokens.weight", "token_embd.weight", {vocab, hidden}},
                               {"model.norm.weight", "output_norm.weight", {hidden}}};
    if (!shape.isTied)
        tensors << DrawnTensor{"lm_head.weight", "output.weight", {vocab, hidden}};
    for (int index = 0; index < shape.layerCount(); ++index)
        tensors += drawnTensorsOf(shape, index);
    return tensors;
}

inline QByteArray halfBytes(float value) {
    return little(qfloat16(value));
}

/// A block of 32 numbers as llama.cpp stores it: a scale, and whole numbers of 8 or 4 bits.
inline QByteArray quantised(const std::vector<float>& values, std::size_t begin, DrawnType type) {
    constexpr std::size_t half = 16;
    const float top = type == DrawnType::q8_0 ? 127 : 7;
    float most = 0;
    for (std::size_t i = 0; i < 2 * half; ++i)
        most = std::max(most, std::abs(values[begin + i]));
    const float scale = most / top;
    const auto whole = [&](std::size_t i) {
        return static_cast<int>(std::lround(scale > 0 ? values[begin + i] / scale : 0));
    };
    QByteArray bytes = halfBytes(scale);
    for (std::size_t i = 0; i < (type == DrawnType::q8_0 ? 2 * half : half); ++i)
        bytes += static_cast<char>(type == DrawnType::q8_0 ? whole(i) : (whole(i) + 8) | ((whole(i + half) + 8) << 4));
    return bytes;
}

inline QByteArray stored(const std::vector<float>& values, DrawnType type) {
    QByteArray bytes;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (type == DrawnType::f32)
            bytes += little(values[i]);
        else if (type == DrawnType::f16)
            bytes += halfBytes(values[i]);
        else if (type == DrawnType::bf16)
            bytes += little(values[i]).last(2);
        else if (i % 32 == 0)
            bytes += quantised(values, i, type);
    return bytes;
}

/// Numbers around 0; around 1 for the weights of a norm, which have one dimension.
inline std::vector<float> drawnWeights(const DrawnTensor& tensor, std::mt19937& random) {
    std::normal_distribution<float> draw(tensor.shape.size() == 1 ? 1.F : 0.F, 0.2F);
    std::size_t count = 1;
    for (const quint64 size : tensor.shape)
        count *= size;
    std::vector<float> values(count);
    for (float& value : values)
        value = draw(random);
    return values;
}

/// The type of a tensor in a GGUF.
inline DrawnType ggufTypeOf(const DrawnTensor& tensor, DrawnType type) {
    const bool isQuantised = type == DrawnType::q8_0 || type == DrawnType::q4_0;
    return tensor.shape.size() == 1 || (isQuantised && tensor.shape.back() % 32 != 0) ? DrawnType::f32 : type;
}

inline QString byteTokenizer() {
    return SECATEUR_TEST_SOURCES "/tokenizers/byte-level/tokenizer.json";
}

/// A tokenizer whose tokens are words of the built-in text. @param vocab number of tokens, at least 2
inline QByteArray wordTokenizer(int vocab) {
    QFile text(SECATEUR_SOURCE_DIR "/resources/texts/calibration.txt");
    if (!text.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read the built-in text");
    nlohmann::json vocabulary{{"<unknown>", 0}, {"</s>", 1}};
    for (const QByteArray& word : text.readAll().simplified().split(' '))
        if (vocabulary.size() < static_cast<std::size_t>(vocab) && !vocabulary.contains(word.toStdString()))
            vocabulary[word.toStdString()] = vocabulary.size();
    const nlohmann::json tokenizer{
        {"version", "1.0"},
        {"added_tokens", {{{"id", 1}, {"content", "</s>"}, {"special", true}}}},
        {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unknown>"}}}};
    return QByteArray::fromStdString(tokenizer.dump());
}

/// Writes a folder with config.json, model.safetensors and tokenizer.json. Weights are not quantised.
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
                                {"tie_word_embeddings", shape.isTied}};
    scratch.write(name + "/config.json", QByteArray::fromStdString(config.dump()));
    const std::array types{"F32", "F16", "BF16"};
    std::mt19937 random(1);
    nlohmann::json header;
    QByteArray data;
    for (const DrawnTensor& tensor : drawnTensors(shape)) {
        const qsizetype begin = data.size();
        data += stored(drawnWeights(tensor, random), shape.type);
        header[tensor.name.toStdString()] = {{"dtype", types.at(static_cast<std::size_t>(shape.type))},
                                             {"shape", std::vector<quint64>(tensor.shape.begin(), tensor.shape.end())},
                                             {"data_offsets", {begin, data.size()}}};
    }
    const QByteArray text = QByteArray::fromStdString(header.dump());
    scratch.write(name + "/model.safetensors", little<quint64>(static_cast<quint64>(text.size())) + text + data);
    scratch.write(name + "/tokenizer.json", wordTokenizer(shape.vocab));
    scratch.write(name + "/tokenizer_config.json", R"({"eos_token": "</s>"})");
}

inline QByteArrayList drawnGgufPairs(const DrawnShape& shape) {
    const QByteArray architecture = shape.ragged.empty() ? "llama" : "deci";
    const auto number = [&](const QByteArray& key, int value) {
        return gguf::pair(architecture + "." + key, gguf::u32, little(static_cast<quint32>(value)));
    };
    const auto perLayer = [&](const QByteArray& key, int DrawnLayer::*member) {
        QByteArray values;
        for (const DrawnLayer& layer : shape.ragged)
            values += little(static_cast<quint32>(layer.*member));
        return shape.ragged.empty() ? number(key, shape.layer(0).*member)
                                    : gguf::pair(architecture + "." + key, gguf::array,
                                                 gguf::arrayOf(gguf::u32, shape.ragged.size(), values));
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
    return {gguf::pair("general.architecture", gguf::string, gguf::text(architecture)),
            number("block_count", shape.layerCount()),
            number("embedding_length", shape.hidden),
            perLayer("feed_forward_length", &DrawnLayer::ffn),
            perLayer("attention.head_count", &DrawnLayer::heads),
            perLayer("attention.head_count_kv", &DrawnLayer::kvHeads),
            number("attention.key_length", shape.headDim),
            number("attention.value_length", shape.headDim),
            number("context_length", shape.context),
            gguf::pair(architecture + ".attention.layer_norm_rms_epsilon", gguf::f32, little(1e-5F)),
            gguf::pair("tokenizer.ggml.model", gguf::string, gguf::text("gpt2")),
            gguf::pair("tokenizer.ggml.pre", gguf::string, gguf::text("gpt-2")),
            list("tokens", tokens.size(), tokenBytes),
            list("merges", tokenizer.at("merges").size(), merges)};
}

inline void writeDrawnGguf(const Scratch& scratch, const QString& name, const DrawnShape& shape) {
    const std::array<quint32, 5> types{0, 1, 30, 8, 2}; // of GGML
    std::mt19937 random(1);
    QByteArrayList entries;
    QByteArray data;
    for (const DrawnTensor& tensor : drawnTensors(shape)) {
        const QList<quint64> dimensions(tensor.shape.rbegin(), tensor.shape.rend());
        const DrawnType type = ggufTypeOf(tensor, shape.type);
        entries << gguf::tensor(tensor.ggufName, dimensions, types.at(static_cast<std::size_t>(type)),
                                static_cast<quint64>(data.size()));
        data += stored(drawnWeights(tensor, random), type);
        data += QByteArray((32 - data.size() % 32) % 32, '\0');
    }
    QDir().mkpath(QFileInfo(scratch.path(name)).path());
    scratch.write(name, gguf::fileOf(drawnGgufPairs(shape), entries, 0) + data);
}

} // namespace secateur::test
