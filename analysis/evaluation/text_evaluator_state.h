#pragma once

#include "analysis/evaluation/text_evaluator.h"

#include <list>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

class FarModel;

/// The work of a TextEvaluator.
class TextEvaluator::State {
public:
    explicit State(ScoredText scored)
        : text(std::move(scored)) {}
    virtual ~State() = default;

    virtual ComputeType type() const = 0;
    virtual int streamInterval() const = 0;
    virtual std::int64_t streamBytes() const = 0;
    virtual double expectedSeconds(const PruningMask& mask) const = 0;
    virtual MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink, const Progress& progress) = 0;
    virtual std::optional<MaskEvaluation> known(const PruningMask& mask) const = 0;
    virtual void know(const PruningMask& mask, std::span<const WindowLoss> losses) = 0;

    const ScoredText text;
};

/// The losses of some windows under a mask.
struct KnownLosses {
    PruningMask mask;
    std::vector<WindowLoss> losses;
};

/// What the process with the model says of its evaluator.
struct EvaluatorFacts {
    ComputeType type = ComputeType::automatic;
    int streamInterval = 1;
    std::int64_t streamBytes = 0;
};

/// Scores texts in another process. Each call has all that the process needs, so that it may be a new one. Losses that
/// are known here are sent along.
class TextEvaluator::FarState : public State {
public:
    FarState(const FarModel& model, ScoredText text, const EvaluatorOptions& options, const Progress& progress);

    ComputeType type() const override { return m_facts.type; }
    int streamInterval() const override { return m_facts.streamInterval; }
    std::int64_t streamBytes() const override { return m_facts.streamBytes; }
    double expectedSeconds(const PruningMask& mask) const override;
    MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink, const Progress& progress) override;
    std::optional<MaskEvaluation> known(const PruningMask& mask) const override;
    void know(const PruningMask& mask, std::span<const WindowLoss> losses) override;

private:
    /// The losses and the result under a mask. Those of the dense model stay.
    struct Run {
        KnownLosses known;
        std::optional<MaskEvaluation> found;
    };
    Run& runOf(const PruningMask& mask);
    std::string arguments(const PruningMask& mask) const;
    MaskEvaluation take(const PruningMask& mask, std::string_view bytes);

    const FarModel& m_model;
    std::string m_text; ///< the text and the options as bytes
    EvaluatorFacts m_facts;
    std::list<Run> m_runs; ///< the latest first
};

} // namespace secateur
