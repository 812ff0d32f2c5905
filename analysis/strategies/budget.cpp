#include "analysis/strategies/budget.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/sublayer_times.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace secateur {

namespace {

struct SharedAmount {
    BudgetOf of;
    std::string_view prefix; ///< in front of the percentage
    std::string_view name;
};

constexpr std::array sharedAmounts{
    SharedAmount{BudgetOf::parameters, "params", "parameters"},
    SharedAmount{BudgetOf::layerParameters, "layers", "parameters of attention and MLPs"},
    SharedAmount{BudgetOf::kvBytes, "kv", "bytes of the KV cache"},
    SharedAmount{BudgetOf::operations, "flops", "operations"},
    SharedAmount{BudgetOf::fileBytes, "bytes", "bytes of the files"},
    SharedAmount{BudgetOf::seconds, "seconds", "seconds of a forward pass"},
};

const SharedAmount& amountOf(BudgetOf of) {
    return *std::ranges::find(sharedAmounts, of, &SharedAmount::of);
}

[[noreturn]] void refuseBudget(std::string_view text) {
    throw UsageError(fmt::format("\"{}\" is neither a number of units (8), a share of them (12.5%), nor a share of the "
                                 "model (params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%)",
                                 text),
                     "--budget");
}

template <typename Number>
Share<double> inNumbers(const Share<Number>& share) {
    return {static_cast<double>(share.all), static_cast<double>(share.left)};
}

/// The amount that a budget takes a share of.
Share<double> amountOf(const Price& price, BudgetOf of) {
    switch (of) {
    case BudgetOf::parameters:
        return inNumbers(price.parameters);
    case BudgetOf::layerParameters:
        return inNumbers(price.layerParameters);
    case BudgetOf::kvBytes:
        return price.kvBytesPerToken;
    case BudgetOf::operations:
        return price.operationsPerToken;
    case BudgetOf::own:
    case BudgetOf::fileBytes:
    case BudgetOf::seconds:
        break;
    }
    return {};
}

/// Avoids one step too many if a share is reached exactly.
constexpr double slack = 1e-9;

[[noreturn]] void refuseShare(const Budget& budget, double most) {
    const double percentage = std::floor(most * 100) / 100;
    throw BudgetTooLarge(fmt::format("{}% of the {} cannot be saved: at most {}% can", exactly(budget.amount),
                                     amountOf(budget.of).name, percentage),
                         {percentage, true, budget.of});
}

/// The result of the first step that saves enough, for strategies that measure after each step. Progress is the share
/// of the budget that is saved, since the number of steps is not known.
PruneResult firstEnough(PrunePath& path, const Budget& budget, const Savings& savings, const Progress& progress) {
    double most = 0;
    double done = 0; // share of the budget
    for (std::size_t step = 0; step <= path.steps(); ++step) {
        const auto bounds = path.savingsBounds(step);
        if (bounds && step < path.steps())
            if (most = savings.percentage(bounds->most, budget.of); most < budget.amount - slack)
                continue;
        PruneResult result = path.after(step, progress.part(done, bounds ? 1 : done));
        most = savings.percentage(result.mask, budget.of);
        if (most >= budget.amount - slack)
            return result;
        done = std::clamp(most / budget.amount, 0.0, 1.0);
    }
    refuseShare(budget, most);
}

/// Finds the first step that saves enough, for strategies that do not measure after each step.
class ShareSearch {
public:
    ShareSearch(PrunePath& path, const Budget& budget, const Savings& savings, const Progress& progress)
        : m_path(path)
        , m_budget(budget)
        , m_savings(savings)
        , m_progress(progress) {}

    PruneResult find() {
        std::size_t enough = m_path.steps();
        if (!isEnough(enough))
            refuseShare(m_budget, saved(resultOf(enough).mask));
        if (isEnough(0))
            return resultOf(0);
        std::size_t tooFew = 0;
        while (tooFew + 1 < enough) {
            const std::size_t middle = tooFew + (enough - tooFew) / 2;
            (isEnough(middle) ? enough : tooFew) = middle;
        }
        const std::size_t dip = m_path.longestDip();
        std::size_t first = enough > dip ? enough - dip : 0;
        while (first < enough && !isEnough(first))
            ++first;
        return resultOf(first);
    }

private:
    double saved(const PruningMask& mask) const { return m_savings.percentage(mask, m_budget.of); }
    bool suffices(const PruningMask& mask) const { return saved(mask) >= m_budget.amount - slack; }

    bool isEnough(std::size_t step) {
        if (const auto bounds = m_path.savingsBounds(step)) {
            if (suffices(bounds->least))
                return true;
            if (!suffices(bounds->most))
                return false;
        }
        return suffices(resultOf(step).mask);
    }

    const PruneResult& resultOf(std::size_t step) {
        if (!m_latest || m_latest->first != step) {
            // How many results are needed is not known. Each gets half of what is left of the progress.
            m_latest.emplace(step, m_path.after(step, m_progress.part(m_done, (m_done + 1) / 2)));
            m_done = (m_done + 1) / 2;
        }
        return m_latest->second;
    }

    PrunePath& m_path;
    const Budget& m_budget;
    const Savings& m_savings;
    const Progress& m_progress;
    std::optional<std::pair<std::size_t, PruneResult>> m_latest; ///< a step and its result
    double m_done = 0;
};

} // namespace

Budget parseBudget(std::string_view text) {
    Budget budget;
    std::string_view digits = text;
    for (const SharedAmount& amount : sharedAmounts)
        if (text.starts_with(amount.prefix) && text.substr(amount.prefix.size()).starts_with(':')) {
            budget.of = amount.of;
            digits.remove_prefix(amount.prefix.size() + 1);
        }
    if (digits.ends_with('%')) {
        budget.isPercentage = true;
        digits.remove_suffix(1);
    }
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), budget.amount);
    if (failure != std::errc() || end != digits.data() + digits.size() || !(budget.amount >= 0) ||
        !std::isfinite(budget.amount))
        refuseBudget(text);
    if (budget.of != BudgetOf::own && (!budget.isPercentage || budget.amount > 100))
        refuseBudget(text);
    return budget;
}

std::string budgetText(const Budget& budget) {
    const std::string amount = exactly(budget.amount) + (budget.isPercentage ? "%" : "");
    return budget.of == BudgetOf::own ? amount : fmt::format("{}:{}", amountOf(budget.of).prefix, amount);
}

Savings::Savings(const ModelCard& card, const PruningMask& base, int positions, MeasuredAmounts measured)
    : m_prices(card, PriceTerms{.positions = positions})
    , m_mask(base)
    , m_measured(std::move(measured)) {}

/// The amount of the model under a mask.
double Savings::kept(const PruningMask& mask, BudgetOf of) const {
    if (of != BudgetOf::fileBytes && of != BudgetOf::seconds)
        return amountOf(m_prices.price(mask), of).left;
    const auto& measured = of == BudgetOf::seconds ? m_measured.seconds : m_measured.fileBytes;
    if (!measured)
        throw Error(fmt::format("The {} are not known here", amountOf(of).name));
    const bool isNothingLeft = of == BudgetOf::fileBytes && m_prices.price(mask).layerParameters.left == 0;
    return isNothingLeft ? 0 : measured(mask); // no layout holds a model without layers
}

double Savings::percentage(const PruningMask& mask, BudgetOf of) const {
    auto known = m_known.find(of);
    if (known == m_known.end())
        known = m_known.emplace(of, std::pair(kept(PruningMask(m_prices.spec()), of), kept(m_mask, of))).first;
    const auto [all, before] = known->second;
    return all > 0 ? 100 * (before - kept(mask, of)) / all : 0;
}

double Savings::left(const PruningMask& mask, BudgetOf of) const {
    return kept(mask, of);
}

Savings savingsOf(const Model& model, const PruningMask& base, int positions, const PruneInputs& inputs,
                  const Progress& progress) {
    MeasuredAmounts measured{.fileBytes = inputs.fileBytes};
    measured.seconds = [&model, positions, progress, type = inputs.text ? inputs.text->type : ComputeType::automatic,
                        times = std::make_shared<std::optional<SublayerTimes>>()](const PruningMask& mask) {
        if (!*times)
            times->emplace(model, positions, type, progress);
        return (*times)->seconds(mask);
    };
    return {model.card(), base, positions, std::move(measured)};
}

PruneResult spend(PrunePath& path, const Budget& budget, const Savings& savings, const Progress& progress) {
    if (budget.of == BudgetOf::own) {
        PruneResult result = path.spend(budget, progress);
        if (budget.amount > 0 && result.mask == savings.base())
            result.warnings.push_back(fmt::format("the budget {} is too small to cut anything", budgetText(budget)));
        return result;
    }
    if (const auto all = path.everything(); all && savings.percentage(*all, budget.of) < budget.amount - slack)
        refuseShare(budget, savings.percentage(*all, budget.of));
    if (std::optional<PruneResult> own = path.spendShare(budget, savings, progress)) {
        if (const double saved = savings.percentage(own->mask, budget.of);
            saved < budget.amount - slack && !own->stoppedAt)
            refuseShare(budget, saved);
        return *std::move(own);
    }
    return path.measuresSteps() ? firstEnough(path, budget, savings, progress)
                                : ShareSearch(path, budget, savings, progress).find();
}

} // namespace secateur
