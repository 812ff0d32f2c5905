#pragma once

#include "tests/support/device.h"
#include "tests/support/judged_run.h"

#include "backends/engine/open_model.h"

#include <QtTest>

#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace secateur::test {

/// A small model of tests/data/forward and the batch of its fixture. The expected values of the fixture are not read.
struct EngineCase {
    QString folder;
    bool plain;
    std::shared_ptr<const Model> model;
    Batch batch;
    const Runner& runner;
    const ModelSpec& spec;

    EngineCase(const QString& folderName, const QString& file, bool isPlain, std::int64_t budget = 0)
        : folder(folderName)
        , plain(isPlain)
        , model(openModel(data().filePath("forward/" + folderName + "/" + file).toStdString(), {},
                          onDevice({.memoryBudget = budget, .plain = isPlain})))
        , batch(JudgedRun(data().filePath("forward/" + folderName)).batch())
        , runner(model->runner())
        , spec(model->spec()) {}

    std::shared_ptr<const Plan> plan(const PruningMask& mask) const { return runner.plan(mask, ComputeType::float32); }
    std::shared_ptr<const Plan> plan() const { return plan(PruningMask(spec)); }
    /// A plan that applies `cut` to `layer` and to all layers that share its weights.
    std::shared_ptr<const Plan> plan(PruningMask mask, int layer, const LayerMask& cut) const {
        mask.setLayer(layer, cut);
        return plan(mask);
    }
};

/// Adds two test rows for each model: one with the vector loops and one with ATen operations only (plain). The GGUF
/// file of deci, whose layers have different shapes, counts as a further model.
inline void addEngineCases(const std::function<bool(const QString&)>& takes = [](const QString&) { return true; }) {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("file");
    QTest::addColumn<bool>("plain");
    const QDir folders(data().filePath("forward"));
    for (const QString& folder : folders.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        for (const QString file : {"model.safetensors", "model.gguf"})
            for (const bool plain : {false, true})
                if (takes(folder) && (file == "model.safetensors" || folder == "deci"))
                    QTest::addRow("%s%s%s", qPrintable(folder), file == "model.gguf" ? " ragged" : "",
                                  plain ? " plain" : "")
                        << folder << file << plain;
}

inline bool isEncoderFolder(const QString& folder) {
    return folder.contains("bert");
}

inline EngineCase engineCase(std::int64_t budget = 0) {
    QFETCH(QString, folder);
    QFETCH(QString, file);
    QFETCH(bool, plain);
    return {folder, file, plain, budget};
}

/// The largest difference of two tensors [rows, positions, ..], relative to the largest expected value. Padded
/// positions are left out.
inline double apart(const at::Tensor& found, const at::Tensor& expected, const Batch& batch) {
    if (!found.defined() || !expected.defined() || found.sizes() != expected.sizes())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    double scale = 0;
    for (int row = 0; row < batch.rows; ++row) {
        const auto real = [&](const at::Tensor& all) {
            return all.select(0, row).narrow(0, 0, batch.length(row)).to(at::kCPU, at::kDouble);
        };
        if (real(expected).numel() == 0)
            continue;
        const double difference = (real(found) - real(expected)).abs().max().item<double>();
        worst = std::max(worst, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
        scale = std::max(scale, real(expected).abs().max().item<double>());
    }
    return scale > 0 ? worst / scale : worst;
}

inline double apart(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected, const Batch& batch) {
    double worst = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        worst = std::max(worst, apart(found[i], expected[i], batch));
    return worst;
}

/// A batch of the given rows, padded to the longest of them.
inline Batch rowsOf(const Batch& batch, const std::vector<int>& rows) {
    Batch some;
    some.rows = static_cast<int>(rows.size());
    for (const int row : rows)
        some.positions = std::max(some.positions, batch.length(row));
    for (const int row : rows) {
        const auto begin = static_cast<std::ptrdiff_t>(row) * batch.positions;
        some.ids.insert(some.ids.end(), batch.ids.begin() + begin, batch.ids.begin() + begin + some.positions);
        if (!batch.types.empty())
            some.types.insert(some.types.end(), batch.types.begin() + begin,
                              batch.types.begin() + begin + some.positions);
        some.lengths.push_back(batch.length(row));
    }
    return some;
}

/// The batch that continues each row of a text in a KV cache: `length[row]` tokens, beginning at position `begin[row]`.
inline Batch pieceOf(const Batch& batch, const std::vector<int>& begin, const std::vector<int>& length) {
    Batch piece;
    piece.rows = batch.rows;
    piece.positions = *std::ranges::max_element(length);
    piece.firstPosition = begin;
    piece.lengths = length;
    piece.ids.assign(static_cast<std::size_t>(piece.tokens()), 0);
    for (int row = 0; row < batch.rows; ++row)
        for (int i = 0; i < length[static_cast<std::size_t>(row)]; ++i)
            piece.ids[static_cast<std::size_t>(row * piece.positions + i)] =
                batch.ids[static_cast<std::size_t>(row * batch.positions + begin[static_cast<std::size_t>(row)] + i)];
    return piece;
}

/// Generates random masks that cut heads and neurons differently in every layer. Some also cut whole KV groups, all
/// heads of a layer, or all its neurons.
class MaskMaker {
public:
    explicit MaskMaker(const ModelSpec& spec, unsigned seed = 1)
        : m_spec(spec)
        , m_random(seed) {}

    LayerMask some(LayerMask layer, double keep) {
        std::bernoulli_distribution kept(keep);
        const auto draw = [&](std::vector<bool>& flags) {
            for (std::size_t i = 0; i < flags.size(); ++i)
                flags[i] = flags[i] && kept(m_random);
        };
        draw(layer.heads);
        draw(layer.neurons);
        return layer;
    }

    PruningMask ragged(double keep) {
        PruningMask mask(m_spec);
        for (int layer = 0; layer < m_spec.layerCount(); ++layer)
            mask.setLayer(layer, some(mask.layer(layer), keep));
        return mask;
    }

    std::vector<std::pair<const char*, PruningMask>> several() {
        std::vector<std::pair<const char*, PruningMask>> masks{
            {"few gone", ragged(0.8)}, {"half gone", ragged(0.5)}, {"most gone", ragged(0.25)}};
        const auto add = [&](const char* name, auto change) {
            PruningMask mask = ragged(0.7);
            for (int layer = 0; layer < m_spec.layerCount(); layer += 2) {
                LayerMask cut = mask.layer(layer);
                change(cut, m_spec.layers[static_cast<std::size_t>(layer)]);
                mask.setLayer(layer, cut);
            }
            masks.emplace_back(name, mask);
        };
        add("first group gone", [](LayerMask& cut, const LayerSpec& layer) {
            for (int head = 0; head < layer.heads; ++head)
                cut.heads[static_cast<std::size_t>(head)] = layer.kvGroup(head) > 0;
        });
        add("last group gone, one head of the first", [](LayerMask& cut, const LayerSpec& layer) {
            for (int head = 0; head < layer.heads; ++head)
                cut.heads[static_cast<std::size_t>(head)] = head > 0 && layer.kvGroup(head) + 1 < layer.kvHeads;
        });
        add("all heads gone", [](LayerMask& cut, const LayerSpec&) { cut.heads.assign(cut.heads.size(), false); });
        add("all neurons gone",
            [](LayerMask& cut, const LayerSpec&) { cut.neurons.assign(cut.neurons.size(), false); });
        add("nothing left", [](LayerMask& cut, const LayerSpec&) {
            cut.heads.assign(cut.heads.size(), false);
            cut.neurons.assign(cut.neurons.size(), false);
        });
        return masks;
    }

private:
    const ModelSpec& m_spec;
    std::mt19937 m_random;
};

} // namespace secateur::test
