#include "app/cli/search_logs.h"

#include "app/cli/output.h"
#include "backends/base/sha256.h"
#include "backends/session/mask_json.h"

#include <fmt/format.h>

#include <utility>

namespace secateur::cli {

namespace {

/// Everything on which the prices of a search depend.
std::string priceKey(const Model& model, const PruneRequest& request, const CalibrationText& text) {
    return fmt::format("{} {} {} {} {} {} {} {}", model.fingerprint(), request.strategy.resultId(), request.positions,
                       request.protect, maskDigest(request.base.value_or(PruningMask(model.spec()))), text.digest,
                       text.batchTokens, name(text.type));
}

std::string shortDigest(const std::string& key) {
    Sha256 sum;
    sum.add(key.data(), key.size());
    constexpr std::size_t digits = 8;
    return sum.hexadecimal().substr(0, digits);
}

} // namespace

SearchLogs::SearchLogs(std::string out)
    : m_out(std::move(out)) {}

void SearchLogs::serve(const Model& model, const PruneRequest& request, PruneInputs& inputs) {
    if (!request.strategy.info->reportsSteps || m_out.empty())
        return;
    const std::string key = priceKey(model, request, *inputs.text);
    PriceLog& log = m_logs.emplace_back(fmt::format("{}.{}.prices", m_out, shortDigest(key)), key);
    if (!log.known().empty())
        printNote("continues an interrupted search: {} prices are known", log.known().size());
    inputs.watch.known = log.known();
    inputs.watch.priced = [&log](std::span<const StepPrice> prices) { log.add(prices); };
}

void SearchLogs::remove() {
    for (PriceLog& log : m_logs)
        log.remove();
}

} // namespace secateur::cli
