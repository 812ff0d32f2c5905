#pragma once

#include "analysis/base/error.h"
#include "analysis/session/session.h"
#include "backends/base/atomic_file.h"
#include "backends/session/hdf5_io.h"

#include <QByteArray>
#include <QFile>
#include <QString>

#include <functional>
#include <limits>
#include <span>

namespace secateur::test {

/// The length of the last line of a session file, which contains the checksum.
inline constexpr int sealBytes = 82;
inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();

inline MetricResult result(const char* request, const ModelSpec& spec, double first) {
    MetricResult made;
    made.request = parseMetricRequests(request).front();
    made.values = Matrix(spec.layers.size(), columnsFor(made.request.info->scope, spec));
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer)
        for (std::size_t cell = 0; cell < cellsInLayer(made.request.info->scope, spec.layers[layer]); ++cell)
            made.values(layer, cell) = first += 0.1;
    made.measurement.fingerprint = "sha256:feed";
    made.measurement.created = "2026-11-21T10:00:00Z";
    made.seconds = 0.25;
    return made;
}

/// A model of three layers with different shapes. Every field of the description differs from its default in at least
/// one layer.
inline ModelCard raggedModel() {
    ModelCard card{"models/Ragged é", "gguf", "Ragged é",         {}, 12'345'678'901, 9'876, "Q4_1", "gpt2",
                   "sha256:feed",     {},     {"first", "second"}};
    ModelSpec& spec = card.spec;
    spec.architecture = "llama";
    spec.family = Family::encoder;
    spec.hidden = 64;
    spec.vocab = 37;
    spec.context = 2048;
    spec.norm = NormKind::layer;
    spec.normEpsilon = 1e-5;
    spec.normWeightOffset = 1;
    spec.activation = Activation::geluErf;
    spec.gatedMlp = false;
    spec.tiedEmbeddings = true;
    spec.layers.resize(3);
    const RotarySpec rotary{6, 500000, RopeScaling::llama3, 8, 1.5, 4.5, 8192, {}};
    LayerSpec& first = spec.layers[0];
    first = {.heads = 8, .kvHeads = 2, .headDim = 12, .ffn = 32, .window = 16, .rotary = rotary};
    first.queryBias = first.valueBias = true;
    LayerSpec& second = spec.layers[1];
    second = {.heads = 6,
              .kvHeads = 3,
              .headDim = 12,
              .ffn = 24,
              .attention = AttentionKind::valueOnly,
              .alpha = 0.2,
              .rotary = {}};
    second.keyBias = second.outputBias = true;
    spec.layers[2].ffn = 8;
    spec.layers[2].attention = AttentionKind::none;
    return card;
}

inline Session raggedSession() {
    Session session;
    session.model = raggedModel();
    session.created = "2026-11-20T09:00:00Z";
    session.view = {{"colours", "magma"}, {"layout", std::string(200'000, 'x')}, {"title", "grün"}, {"empty", ""}};
    const ModelSpec& spec = session.model.spec;
    session.results = {result("gate_norm_head", spec, 1), result("gate_norm", spec, 2),
                       result("gate_norm_group:fold_norm=true", spec, 3), result("gate_norm_head", spec, 4)};
    session.results[1].values(2, 0) = missing;
    session.results[2].standardError = result("gate_norm_group", spec, 0.001).values;
    session.results[2].warnings = {"a word"};
    session.results[3].measurement = {"sha256:feed", "sha256:mask", "sha256:data",
                                      "bfloat16",    "cuda:0",      "2026-11-21T10:00:00Z"};
    return session;
}

inline QByteArray contents(const std::string& path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline std::span<const std::byte> bytesOf(const QByteArray& bytes) {
    return std::as_bytes(std::span(bytes.data(), static_cast<std::size_t>(bytes.size())));
}

/// Calls `work` to change the HDF5 contents of a session file. The changed file has no checksum line.
inline void change(const std::string& path, const std::function<void(const hdf5::Handle&)>& work) {
    const hdf5::Handle file = hdf5::openImage(bytesOf(contents(path)));
    work(file);
    const std::string image = hdf5::image(file);
    QFile(QString::fromStdString(path)).remove();
    QFile changed(QString::fromStdString(path));
    if (!changed.open(QIODevice::WriteOnly) || changed.write(image.data(), std::ssize(image)) != std::ssize(image))
        throw Error("cannot be changed", path);
}

} // namespace secateur::test
