#pragma once

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/formats/checkpoint.h"
#include "backends/formats/formats.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/gguf_bytes.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>
#endif

#include <QDir>

#include <cstring>
#include <functional>
#include <map>
#include <string>

/// Writes checkpoints with odd shapes: each is a model of tests/data with other tensors and another configuration.
namespace secateur::test {

using OddTensors = std::map<std::string, at::Tensor>;

struct OddModel {
    QString source;                             ///< folder in tests/data
    nlohmann::json config = {};                 ///< merged into the configuration of the source
    std::function<void(OddTensors&)> edit = {}; ///< null = the tensors of the source
    at::ScalarType type = at::kFloat;           ///< in which the tensors are stored
    int files = 1;                              ///< number of files, with an index if there are several
};

/// A tokenizer of `count` words: w3, w4, ...; [CLS] and [SEP] are put around a text for encoders.
inline QByteArray oddTokenizer(int count, bool isEncoder) {
    nlohmann::json vocabulary{{"[UNK]", 0}};
    for (int id = 1; id < count; ++id)
        vocabulary[id == 1 ? "[CLS]" : id == 2 ? "[SEP]" : "w" + std::to_string(id)] = id;
    nlohmann::json tokenizer{{"version", "1.0"},
                             {"added_tokens", nlohmann::json::array()},
                             {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                             {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}}};
    if (isEncoder)
        tokenizer["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}};
    return QByteArray::fromStdString(tokenizer.dump());
}

/// A safetensors file of some tensors.
inline QByteArray oddFile(const OddTensors& tensors, at::ScalarType type) {
    const char* const name = type == at::kHalf ? "F16" : type == at::kBFloat16 ? "BF16" : "F32";
    nlohmann::json header;
    QByteArray data;
    for (const auto& [key, tensor] : tensors) {
        const at::Tensor stored = tensor.to(type).contiguous();
        const qsizetype begin = data.size();
        data += QByteArray(static_cast<const char*>(stored.data_ptr()), static_cast<qsizetype>(stored.nbytes()));
        header[key] = {{"dtype", name}, {"shape", tensor.sizes().vec()}, {"data_offsets", {begin, data.size()}}};
    }
    const QByteArray text = QByteArray::fromStdString(header.dump());
    return little<quint64>(static_cast<quint64>(text.size())) + text + data;
}

/// Writes a model as a Hugging Face folder with a tokenizer of words. @returns the folder
inline QString writeOddModel(const Scratch& scratch, const QString& name, const OddModel& model) {
    const QString source = data().filePath(model.source);
    const std::string weights = (source + "/model.safetensors").toStdString();
    OddTensors tensors;
    const auto checkpoint = formatOf(weights).open(weights, {});
    for (const TensorEntry& entry : checkpoint->tensors())
        tensors[entry.name] = readTensor(entry).to(at::kFloat).clone();
    if (model.edit)
        model.edit(tensors);
    nlohmann::json config = readJson(source + "/config.json");
    if (model.config.is_object())
        config.merge_patch(model.config);
    QDir().mkpath(scratch.path(name));
    scratch.write(name + "/config.json", QByteArray::fromStdString(config.dump()));
    const bool isEncoder = config.contains("type_vocab_size");
    scratch.write(name + "/tokenizer.json", oddTokenizer(config.at("vocab_size").get<int>(), isEncoder));
    scratch.write(name + "/tokenizer_config.json",
                  isEncoder ? R"({"cls_token":"[CLS]","sep_token":"[SEP]","unk_token":"[UNK]"})" : "{}");
    if (model.files == 1) {
        scratch.write(name + "/model.safetensors", oddFile(tensors, model.type));
        return scratch.path(name);
    }
    std::vector<OddTensors> parts(static_cast<std::size_t>(model.files));
    nlohmann::json index{{"metadata", nlohmann::json::object()}};
    std::size_t next = 0;
    for (const auto& [key, tensor] : tensors) {
        const std::size_t part = next++ % parts.size();
        parts[part][key] = tensor;
        index["weight_map"][key] =
            QString::asprintf("model-%05zu-of-%05zu.safetensors", part + 1, parts.size()).toStdString();
    }
    for (std::size_t part = 0; part < parts.size(); ++part)
        scratch.write(name + "/" + QString::asprintf("model-%05zu-of-%05zu.safetensors", part + 1, parts.size()),
                      oddFile(parts[part], model.type));
    scratch.write(name + "/model.safetensors.index.json", QByteArray::fromStdString(index.dump()));
    return scratch.path(name);
}

/// The character that stands for a token of writeOddGguf(): as many bytes as the name t1 or t10 that it replaces.
inline QString oddCharacter(int id) {
    return QString(QChar(id < 10 ? 0xC0 + id : 0x20A0 + id));
}

/// Writes a GGUF file of tests/data again, with a tokenizer that reads texts: its tokens t1, t2, ... become characters.
/// @param tokens size of its vocabulary @returns the file
inline QString writeOddGguf(const Scratch& scratch, const QString& name, const QString& source, int tokens) {
    QFile file(data().filePath(source));
    if (!file.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read " + source.toStdString());
    QByteArray bytes = file.readAll();
    for (int id = 1; id < tokens; ++id)
        bytes.replace(gguf::text("t" + QByteArray::number(id)), gguf::text(oddCharacter(id).toUtf8()));
    QByteArray scores;
    for (int id = 0; id < tokens; ++id)
        scores += little(0.F);
    QByteArrayList pairs{gguf::pair("tokenizer.ggml.add_bos_token", gguf::boolean, little<quint8>(0)),
                         gguf::pair("tokenizer.ggml.unknown_token_id", gguf::u32, little<quint32>(0)),
                         gguf::pair("tokenizer.ggml.scores", gguf::array,
                                    gguf::arrayOf(gguf::f32, static_cast<quint64>(tokens), scores))};
    // The tensors stay aligned if the additions are a multiple of 32 bytes.
    const QByteArray empty = gguf::pair("general.padding", gguf::string, gguf::text({}));
    const qsizetype size = pairs.join().size() + empty.size();
    pairs << gguf::pair("general.padding", gguf::string, gguf::text(QByteArray((32 - size % 32) % 32, 'x')));
    constexpr qsizetype countAt = 16;
    quint64 count = 0;
    std::memcpy(&count, bytes.constData() + countAt, sizeof count);
    bytes.replace(countAt, sizeof count, little(count + static_cast<quint64>(pairs.size())));
    bytes.insert(countAt + static_cast<qsizetype>(sizeof count), pairs.join());
    scratch.write(name, bytes);
    return scratch.path(name);
}

/// Keeps the first `count` rows of the tensors whose names contain `part`; columns with `dimension` 1.
inline void keepFirst(OddTensors& tensors, const std::string& part, std::int64_t count, std::int64_t dimension = 0) {
    for (auto& [name, tensor] : tensors)
        if (name.find(part) != std::string::npos)
            tensor = tensor.narrow(dimension, 0, count).contiguous();
}

inline void removeTensors(OddTensors& tensors, const std::string& part) {
    std::erase_if(tensors, [&](const auto& one) { return one.first.find(part) != std::string::npos; });
}

} // namespace secateur::test
