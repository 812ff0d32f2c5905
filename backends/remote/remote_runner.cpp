#include "backends/remote/remote_runner.h"

#include "analysis/base/error.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/runner_results.h"
#include "backends/remote/model_facts.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

constexpr std::size_t mostPlans = 16;

class RemotePlan : public Plan {
public:
    RemotePlan(const FarModel& owner, const PruningMask& mask, const PlanFacts& facts)
        : Plan(mask, facts.type, facts.reason, facts.isResident)
        , model(owner) {}

    const FarModel& model;
};

} // namespace

std::shared_ptr<const Plan> RemoteRunner::plan(const PruningMask& mask, ComputeType type) const {
    {
        const std::lock_guard lock(m_mutex);
        for (const auto& [wanted, known] : m_plans)
            if (wanted == type && known->mask() == mask)
                return known;
    }
    mask.checkFits(m_model.spec());
    const auto facts = m_model.result<PlanFacts>("plan", {}, FarPlan{mask, type});
    if (facts.type == ComputeType::automatic)
        throw Error("A message has a plan without a dtype");
    auto made = std::make_shared<const RemotePlan>(m_model, mask, facts);
    const std::lock_guard lock(m_mutex);
    m_plans.emplace_front(type, made);
    if (m_plans.size() > mostPlans)
        m_plans.pop_back();
    return made;
}

void RemoteRunner::refuse() const {
    throw Error("lies on a server, where this cannot run yet", m_model.card().path,
                "Run it with secateur-cli on the server");
}

std::shared_ptr<const Plan> RemoteRunner::planWith(std::shared_ptr<const PlanAdapters> /*adapters*/,
                                                   const PruningMask& /*mask*/) const {
    refuse();
}

at::Tensor RemoteRunner::embed(const Plan& /*plan*/, const Batch& /*batch*/) const {
    refuse();
}

at::Tensor RemoteRunner::runLayer(const Plan& /*plan*/, int /*layer*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                  KvCache* /*cache*/, LayerObserver* /*observer*/) const {
    refuse();
}

void RemoteRunner::runVariants(const Plan& /*plan*/, int /*layer*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                               std::span<const LayerMask> /*variants*/, const VariantSink& /*sink*/) const {
    refuse();
}

void RemoteRunner::backwardEach(const Plan& /*plan*/, int /*layer*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                std::span<const OutputGradient> /*outputs*/, const BackwardSink& /*sink*/,
                                std::span<const float> /*attentionScales*/) const {
    refuse();
}

std::unique_ptr<RecordedLayer> RemoteRunner::recordLayer(const Plan& /*plan*/, int /*layer*/, const at::Tensor& /*x*/,
                                                         const Batch& /*batch*/,
                                                         std::span<const Tap> /*wanted*/) const {
    refuse();
}

std::int64_t RemoteRunner::recordedBytes(int /*layer*/, const Batch& /*batch*/, std::span<const Tap> /*wanted*/) const {
    refuse();
}

at::Tensor RemoteRunner::lmHead(const Plan& /*plan*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                bool /*lastPositionOnly*/) const {
    refuse();
}

TokenLosses RemoteRunner::losses(const Plan& /*plan*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                 std::span<const int> /*targets*/) const {
    refuse();
}

TopTokens RemoteRunner::topTokens(const Plan& /*plan*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                  std::span<const int> /*targets*/, int /*count*/) const {
    refuse();
}

DenseComparison RemoteRunner::comparison(const Plan& /*plan*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                         std::span<const int> /*targets*/, const TopTokens& /*dense*/) const {
    refuse();
}

LossGradient RemoteRunner::lossGradient(const Plan& /*plan*/, const at::Tensor& /*x*/, const Batch& /*batch*/,
                                        Scalarisation /*of*/, std::span<const int> /*targets*/,
                                        std::span<const float> /*weights*/, const TeacherTargets* /*teacher*/) const {
    refuse();
}

std::unique_ptr<KvCache> RemoteRunner::cache(const Plan& /*plan*/, int /*rows*/, int /*capacity*/,
                                             std::optional<int> /*layer*/) const {
    refuse();
}

bool isOfServer(const Plan& plan) {
    return dynamic_cast<const RemotePlan*>(&plan) != nullptr;
}

bool stayTogetherThere(const Plan& one, const Plan& other) {
    return dynamic_cast<const RemotePlan&>(one).model.result<bool>("stay_together", {}, farPlan(one), farPlan(other));
}

} // namespace secateur
