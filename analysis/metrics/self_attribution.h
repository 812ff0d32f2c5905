#pragma once

#include "analysis/metrics/gradient_scalars.h"
#include "analysis/metrics/gradient_work.h"
#include "analysis/base/matrix.h"
#include "analysis/metrics/measure_gradient.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

namespace secateur {

/// Attributes the probability of what is right to the attention of one layer after the other (methods.md 4.4): the
/// attention of all of its heads is scaled from none to nearly all, in steps that run side by side, and the layers
/// above see what becomes of that. Costs as much as `steps` backward passes for each layer. For sources only: pulls in
/// ATen.
class SelfAttribution : public GradientWork {
public:
    /// All must outlive it. @throws UsageError for encoders without a classifier
    SelfAttribution(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                    const MetricRequest& request);

    void run(const Progress& progress, const std::function<void()>& more) override;
    std::vector<double> values(std::size_t request, int layer) const override;
    std::int64_t tokens() const override { return m_tokens; }
    std::int64_t sequences() const override { return m_done; }
    std::int64_t allTokens() const override;
    std::vector<std::string> warnings() const override;

private:
    /// A sequence several times side by side, each time with its attention scaled otherwise.
    struct Copies {
        Batch batch;
        BackwardScalar scalar;
        std::vector<float> scales;
    };
    Copies copies(std::size_t sequence, std::vector<float> scales, const at::Tensor& top) const;
    void attribute(std::size_t sequence, const Progress& progress);
    at::Tensor gradientSum(int layer, std::size_t sequence, std::span<const at::Tensor> streams,
                           const Progress& progress) const;
    at::Tensor gradient(int layer, const at::Tensor& x, const Copies& some, const Progress& progress) const;
    at::Tensor gradientAbove(int layer, const at::Tensor& x, const Copies& some, const Progress& progress) const;

    const Model& m_model;
    const Runner& m_runner;
    const GradientRun& m_run;
    const GradientScalars& m_scalars;
    int m_steps;
    std::int64_t m_sequences; ///< to be attributed
    bool m_lastOnly;
    Matrix m_sums;    ///< [layers, heads] of sequences that are through
    Matrix m_pending; ///< of the one that is not
    std::int64_t m_tokens = 0;
    std::int64_t m_done = 0;
};

} // namespace secateur
