#include "analysis/evaluation/text_evaluator_state.h"

#include "analysis/masks/mask_wire.h"
#include "analysis/model/far_model.h"

#include <algorithm>

namespace secateur {

namespace {

constexpr std::size_t mostFarRuns = 32;

bool isOf(const ScoredText& text, const Perplexity& run) {
    const auto isWindow = [&](const WindowLoss& loss) {
        return loss.index < text.windows.sequences.size() && (run.pages.empty() || loss.page < run.pages.size());
    };
    const auto isPage = [&](const PageSize& page) { return page.index < text.pages.size(); };
    return std::ranges::all_of(run.windows, isWindow) && std::ranges::all_of(run.pages, isPage);
}

} // namespace

TextEvaluator::FarState::FarState(const FarModel& model, ScoredText text, const EvaluatorOptions& options,
                                  const Progress& progress)
    : State(std::move(text))
    , m_model(model)
    , m_text(wireBytes(this->text, options.type, options.batchTokens, options.groupSeconds, options.alone)) {
    if (options.cluster)
        throw Error("Several processes cannot share a model on a server");
    m_facts = fromWire<EvaluatorFacts>(
        model.call({.job = "evaluator", .arguments = [&] { return arguments(PruningMask(model.spec())); }}, progress));
}

std::string TextEvaluator::FarState::arguments(const PruningMask& mask) const {
    std::vector<KnownLosses> known;
    for (const Run& run : m_runs)
        if (run.known.mask == mask || run.known.mask.keepsAll())
            known.push_back(run.known);
    return m_text + wireBytes(mask, known);
}

TextEvaluator::FarState::Run& TextEvaluator::FarState::runOf(const PruningMask& mask) {
    const auto found = std::ranges::find_if(m_runs, [&](const Run& run) { return run.known.mask == mask; });
    if (found == m_runs.end())
        m_runs.push_front({{mask, {}}, {}});
    else
        m_runs.splice(m_runs.begin(), m_runs, found);
    if (m_runs.size() > mostFarRuns) {
        const auto last = std::prev(m_runs.end());
        m_runs.erase(last->known.mask.keepsAll() ? std::prev(last) : last);
    }
    return m_runs.front();
}

double TextEvaluator::FarState::expectedSeconds(const PruningMask& mask) const {
    return fromWire<double>(
        m_model.call({.job = "expected_seconds", .arguments = [&] { return arguments(mask); }}, {}));
}

/// Takes over a result, whole or in part.
MaskEvaluation TextEvaluator::FarState::take(const PruningMask& mask, std::string_view bytes) {
    auto found = fromWire<MaskEvaluation>(bytes, &m_model.spec());
    const bool isOfText =
        found.windows == text.windows.sequences.size() && isOf(text, found.run) && isOf(text, found.dense);
    if (!isOfText)
        throw Error("A message has losses of another text");
    know(PruningMask(m_model.spec()), found.dense.windows);
    know(mask, found.run.windows);
    runOf(mask).found = found;
    return found;
}

MaskEvaluation TextEvaluator::FarState::evaluate(const PruningMask& mask, const Sink& sink, const Progress& progress) {
    const auto part = [&](std::string_view bytes) {
        const MaskEvaluation found = take(mask, bytes);
        if (sink)
            sink(found);
    };
    return take(
        mask, m_model.call({.job = "evaluate", .arguments = [&] { return arguments(mask); }, .part = part}, progress));
}

std::optional<MaskEvaluation> TextEvaluator::FarState::known(const PruningMask& mask) const {
    const auto found = std::ranges::find_if(m_runs, [&](const Run& run) { return run.known.mask == mask; });
    return found == m_runs.end() ? std::nullopt : found->found;
}

void TextEvaluator::FarState::know(const PruningMask& mask, std::span<const WindowLoss> losses) {
    Run& run = runOf(mask);
    if (losses.size() > run.known.losses.size())
        run.known.losses.assign(losses.begin(), losses.end());
}

} // namespace secateur
