#include "app/cli/mask_output.h"

#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"
#include "app/cli/cli_common.h"

#include <fmt/core.h>

namespace secateur::cli {

namespace {

std::string percent(double share) {
    return fmt::format("{:.2f} %", 100 * share);
}

template <typename Number>
double cutShare(const Share<Number>& share) {
    return share.all > 0 ? static_cast<double>(share.saved()) / static_cast<double>(share.all) : 0;
}

template <typename Number, typename Text>
std::vector<std::string> row(const char* what, const Share<Number>& share, Text text) {
    return {what, text(share.all), text(share.left), text(share.saved()), percent(cutShare(share))};
}

std::string priceTable(const Price& price, bool hasModel) {
    const auto count = [](auto number) { return grouped(static_cast<std::uint64_t>(number)); };
    const auto bytes = [](auto number) { return shortBytes(static_cast<double>(number)); };
    const auto operations = [](double number) { return shortCount(number); };
    std::vector<std::vector<std::string>> rows{
        {"", "model", "kept", "cut", ""},
        row("heads", price.heads, count),
        row("KV heads", price.kvHeads, count),
        row("neurons", price.neurons, count),
        row("attention sublayers", price.attention, count),
        row("MLPs", price.mlps, count),
        row("blocks", price.blocks, count),
    };
    if (hasModel) {
        rows.push_back(row("parameters", price.parameters, count));
        rows.push_back(row("bytes", price.bytes, bytes));
        if (price.kvBytesPerToken.all > 0)
            rows.push_back(row("KV cache per token", price.kvBytesPerToken, bytes));
        rows.push_back(row("operations per token", price.operationsPerToken, operations));
    }
    const Align right = Align::right;
    return table(rows, {Align::left, right, right, right, right});
}

} // namespace

void printCuts(const PruningMask& mask) {
    for (int index = 0; index < mask.layerCount(); ++index)
        if (const std::string cuts = description(mask.layer(index)); !cuts.empty())
            fmt::print("  L{}: {}\n", index, cuts);
}

void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel) {
    fmt::print("{}\n", mask.keepsAll() ? "cuts nothing" : "cuts");
    printCuts(mask);
    fmt::print("\n{}", priceTable(price, hasModel));
    if (price.bypassed > 0)
        fmt::print("{} attention sublayer{} bypassed\n", price.bypassed, price.bypassed == 1 ? "" : "s");
    if (price.halfCutGroups.empty())
        return;
    fmt::print("\nKV groups that stay in the cache, because some of their heads are kept:\n");
    for (const HalfCutGroup& group : price.halfCutGroups)
        fmt::print("  {}\n", sentence(group, spec, mask));
}

void printNotes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
        fmt::print(stderr, "note: {}\n", note);
}

} // namespace secateur::cli
