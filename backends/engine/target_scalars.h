#pragma once

#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The arguments of Runner::lossGradient() that concern the targets.
struct LossTargets {
    std::span<const int> targets;
    std::span<const float> weights;
    const TeacherTargets* teacher = nullptr;
};

/// A scalar for each token or row, and its gradients with respect to the output head's outputs. For sources only:
/// includes ATen.
struct Scalars {
    at::Tensor values;    ///< [n]
    at::Tensor gradients; ///< [n, outputs]
};

/// Scalars of the logits at targets: losses, log probabilities, probabilities, and losses with a teacher.
class TargetScalars {
public:
    /// The spans must outlive this object. @throws Error if the teacher does not fit the targets
    TargetScalars(const LossTargets& targets, const at::Device& device);

    /// @param logits [n, classes] @param places [n] indices of the targets and weights
    Scalars of(const at::Tensor& logits, const std::vector<std::size_t>& places, Scalarisation kind) const;
    float weight(std::size_t at) const { return m_weights.empty() ? 1.F : m_weights[at]; }

private:
    Scalars withoutTeacher(const at::Tensor& logits, const std::vector<std::size_t>& places, Scalarisation kind) const;
    Scalars withTeacher(const at::Tensor& logits, const std::vector<std::size_t>& places) const;

    std::span<const int> m_targets;
    std::span<const float> m_weights;
    const TeacherTargets* m_teacher;         ///< null = none
    std::vector<std::int64_t> m_teacherRows; ///< by place of a target: its row in the following
    at::Tensor m_topTokens;                  ///< [targets, count] int64
    at::Tensor m_topLogs;                    ///< [targets, count + 1]
};

} // namespace secateur
