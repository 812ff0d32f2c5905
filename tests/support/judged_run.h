#pragma once

#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers

#include "analysis/running/batch.h"
#include "analysis/running/layer_observer.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "backends/base/mapped_file.h"
#include "backends/engine/open_model.h"
#include "backends/formats/hf_weights.h"
#include "tests/support/expected.h"

#include <algorithm>
#include <map>
#include <string>

namespace secateur::test {

/// The values of one model for one batch, written by make_forward_fixtures.py (expected.safetensors).
class JudgedRun {
public:
    explicit JudgedRun(const QString& folder) {
        const auto file = MappedFile::open((folder + "/expected.safetensors").toStdString());
        for (const TensorEntry& entry : safetensorsEntries(file))
            m_tensors.emplace(entry.name, readTensor(entry).clone());
        const at::Tensor ids = (*this)["ids"];
        m_batch.rows = static_cast<int>(ids.size(0));
        m_batch.positions = static_cast<int>(ids.size(1));
        m_batch.ids = integers("ids");
        m_batch.lengths = integers("lengths");
        if (has("types"))
            m_batch.types = integers("types");
    }

    bool has(const std::string& name) const { return m_tensors.contains(name); }
    const at::Tensor& operator[](const std::string& name) const { return m_tensors.at(name); }
    const Batch& batch() const { return m_batch; }
    std::vector<int> integers(const std::string& name) const {
        const at::Tensor values = (*this)[name].to(at::kInt).contiguous();
        return {values.data_ptr<int>(), values.data_ptr<int>() + values.numel()};
    }

    /// The token that follows each position; -1 at the last position of a row.
    std::vector<int> targets() const {
        std::vector<int> next(m_batch.ids.size(), -1);
        for (int row = 0; row < m_batch.rows; ++row)
            for (int i = 0; i + 1 < m_batch.length(row); ++i) {
                const auto at = static_cast<std::size_t>(row * m_batch.positions + i);
                next[at] = m_batch.ids[at + 1];
            }
        return next;
    }

    /// The mask that was applied when the expected values were computed. A layer without a list of kept neurons in the
    /// file is not cut.
    PruningMask mask(const ModelSpec& spec) const {
        PruningMask mask(spec);
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            const std::string suffix = "." + std::to_string(layer);
            if (!has("kept_neurons" + suffix))
                continue;
            LayerMask kept = mask.layer(layer);
            keepOnly(kept.heads, integers("kept_heads" + suffix));
            keepOnly(kept.neurons, integers("kept_neurons" + suffix));
            if (integers("kept_heads" + suffix).empty())
                kept.attention = AttentionCut::drop;
            mask.setLayer(layer, kept);
        }
        return mask;
    }

    /// The largest difference from the expected tensor `name` [rows, positions, ..], relative to the largest expected
    /// value. Padded positions are left out.
    double error(const std::string& name, const at::Tensor& found, int positionsAxis = 1) const {
        const at::Tensor& expected = (*this)[name];
        if (found.sizes() != expected.sizes())
            return std::numeric_limits<double>::infinity();
        double worst = 0;
        for (int row = 0; row < m_batch.rows; ++row) {
            const auto real = [&](const at::Tensor& all) {
                const at::Tensor own = all.select(0, row).to(at::kCPU, at::kDouble);
                const bool byPosition = own.dim() >= positionsAxis && positionsAxis > 0;
                const std::int64_t count =
                    byPosition ? std::min<std::int64_t>(m_batch.length(row), own.size(positionsAxis - 1)) : 0;
                return byPosition ? own.narrow(positionsAxis - 1, 0, count) : own;
            };
            const double difference = (real(found) - real(expected)).abs().max().item<double>();
            worst = std::max(worst, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
        }
        const double scale = expected.abs().max().item<double>();
        return scale > 0 ? worst / scale : worst;
    }

private:
    static void keepOnly(std::vector<bool>& flags, const std::vector<int>& indices) {
        flags = std::vector<bool>(flags.size(), false);
        for (const int index : indices)
            flags.at(static_cast<std::size_t>(index)) = true;
    }

    std::map<std::string, at::Tensor> m_tensors;
    Batch m_batch;
};

/// Collects the blocks of attention probabilities that the engine computes into one map for each layer: [rows, heads,
/// positions, positions].
class AttentionKeeper : public LayerObserver {
public:
    explicit AttentionKeeper(const Batch& batch)
        : m_batch(batch) {}

    bool wants(int, Tap) const override { return false; }
    void see(int, Tap, const at::Tensor&) override {}
    bool wantsAttention(int) const override { return true; }
    void seeAttention(int layer, std::int64_t firstHead, std::int64_t firstQuery, const at::Tensor& block) override {
        at::Tensor& map = maps[layer];
        if (!map.defined() || map.size(1) < firstHead + block.size(1)) {
            const at::Tensor wider =
                at::zeros({m_batch.rows, firstHead + block.size(1), m_batch.positions, m_batch.positions});
            if (map.defined())
                wider.narrow(1, 0, map.size(1)).copy_(map);
            map = wider;
        }
        map.narrow(1, firstHead, block.size(1)).narrow(2, firstQuery, block.size(2)).copy_(block);
    }

    std::map<int, at::Tensor> maps;

private:
    const Batch& m_batch;
};

/// The residual streams of a batch: X_0 before the first layer, and X_1 to X_L after each layer.
inline std::vector<at::Tensor> streamsOf(const Runner& runner, const Plan& plan, const Batch& batch,
                                         LayerObserver* observer = nullptr) {
    std::vector<at::Tensor> streams{runner.embed(plan, batch)};
    for (int layer = 0; layer < plan.mask().layerCount(); ++layer)
        streams.push_back(runner.runLayer(plan, layer, streams.back(), batch, nullptr, observer));
    return streams;
}

} // namespace secateur::test
