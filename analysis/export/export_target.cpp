#include "analysis/export/export_target.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

constexpr std::string_view anyLayout = "auto";

} // namespace

std::vector<HeadId> headsOf(const ExportReason& reason, const ModelSpec& spec) {
    if (!reason.heads.empty())
        return reason.heads;
    std::vector<HeadId> heads;
    for (const int layer : reason.layers)
        for (int head = 0; head < spec.layers.at(static_cast<std::size_t>(layer)).heads; ++head)
            heads.push_back({layer, head});
    return heads;
}

void checkExport(const ExportTarget& target, std::span<const ExportTarget> table, const PruningMask& mask,
                 const ModelSpec& spec, std::string_view format) {
    mask.checkFits(spec);
    const Reasons reasons = target.reasons(mask, spec, format);
    if (reasons.empty() && target.writer)
        return;
    std::vector<std::string> available, others;
    for (const ExportTarget& other : table)
        if (other.reasons(mask, spec, format).empty())
            (other.writer ? available : others).emplace_back(other.name);
    std::string hint = "No export target can hold this mask";
    if (!available.empty())
        hint = "Export it as " + join(available, " or ");
    else if (!others.empty())
        hint = fmt::format("Targets that can hold it are not available yet: {}", join(others, ", "));
    throw Error(fmt::format("cannot be exported as {}: {}", target.name,
                            reasons.empty() ? "the target is not available yet" : reasons.front().sentence),
                {}, hint);
}

const ExportTarget* firstExportTarget(std::span<const ExportTarget> table, const PruningMask& mask,
                                      const ModelSpec& spec, std::string_view format) {
    const auto found = std::ranges::find_if(
        table, [&](const ExportTarget& target) { return target.writer && target.reasons(mask, spec, format).empty(); });
    return found == table.end() ? nullptr : &*found;
}

void checkTargetNames(std::span<const ExportTarget> table, std::string_view as, std::string_view layout) {
    std::vector<std::string_view> names;
    std::vector<std::string_view> layouts{anyLayout};
    for (const ExportTarget& row : table) {
        if (std::ranges::find(names, row.as) == names.end())
            names.push_back(row.as);
        if (row.as == as)
            layouts.push_back(row.layout);
    }
    if (std::ranges::find(names, as) == names.end())
        refuseUnknown("export target", as, names);
    if (std::ranges::find(layouts, layout) == layouts.end())
        refuseUnknown("layout", layout, layouts);
}

const ExportTarget& chosenTarget(std::span<const ExportTarget> table, std::string_view as, std::string_view layout,
                                 const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    checkTargetNames(table, as, layout);
    const ExportTarget* first = nullptr;
    for (const ExportTarget& row : table) {
        if (row.as != as || (layout != anyLayout && layout != row.layout))
            continue;
        if (row.writer && row.reasons(mask, spec, format).empty())
            return row;
        first = first ? first : &row;
    }
    return *first; // checkExport() tells its reasons
}

} // namespace secateur
