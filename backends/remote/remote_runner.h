#pragma once

#include "analysis/model/far_model.h"
#include "analysis/running/runner.h"

#include <list>
#include <memory>
#include <mutex>

namespace secateur {

/// Plans models on a server. A plan is a mask and a dtype; streams stay on the server, where whole jobs run. What
/// would move streams is refused.
class RemoteRunner : public Runner {
public:
    explicit RemoteRunner(const FarModel& model)
        : m_model(model) {}

    std::shared_ptr<const Plan> plan(const PruningMask& mask, ComputeType type) const override;
    std::shared_ptr<const Plan> planWith(std::shared_ptr<const PlanAdapters> adapters,
                                         const PruningMask& mask) const override;
    at::Tensor embed(const Plan& plan, const Batch& batch) const override;
    at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                        LayerObserver* observer) const override;
    void runVariants(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                     std::span<const LayerMask> variants, const VariantSink& sink) const override;
    void backwardEach(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                      std::span<const OutputGradient> outputs, const BackwardSink& sink,
                      std::span<const float> attentionScales) const override;
    std::unique_ptr<RecordedLayer> recordLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                               std::span<const Tap> wanted) const override;
    std::int64_t recordedBytes(int layer, const Batch& batch, std::span<const Tap> wanted) const override;
    at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch, bool lastPositionOnly) const override;
    TokenLosses losses(const Plan& plan, const at::Tensor& x, const Batch& batch,
                       std::span<const int> targets) const override;
    TopTokens topTokens(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                        int count) const override;
    DenseComparison comparison(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                               const TopTokens& dense) const override;
    LossGradient lossGradient(const Plan& plan, const at::Tensor& x, const Batch& batch, Scalarisation of,
                              std::span<const int> targets, std::span<const float> weights,
                              const TeacherTargets* teacher) const override;
    std::unique_ptr<KvCache> cache(const Plan& plan, int rows, int capacity, std::optional<int> layer) const override;

private:
    [[noreturn]] void refuse() const;

    const FarModel& m_model;
    mutable std::mutex m_mutex;
    mutable std::list<std::pair<ComputeType, std::shared_ptr<const Plan>>> m_plans; ///< the latest, by wanted dtype
};

/// Whether a RemoteRunner made a plan.
bool isOfServer(const Plan& plan);
/// As Services::stayTogether, for two plans of a RemoteRunner.
bool stayTogetherThere(const Plan& one, const Plan& other);

} // namespace secateur
