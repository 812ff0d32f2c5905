#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/campaigns/curves.h"
#include "analysis/masks/price.h"
#include "analysis/report/report_sections.h"
#include "analysis/strategies/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace secateur {

namespace {

constexpr std::size_t mostMaps = 24;

/// A column of the table of masks that is left out if it is 0 for all of them.
struct CutColumn {
    const char* title;
    double (*count)(const RemovedUnits& units);
};

constexpr CutColumn cutColumns[] = {
    {"Heads", [](const RemovedUnits& units) { return static_cast<double>(units.heads); }},
    {"Neurons", [](const RemovedUnits& units) { return static_cast<double>(units.neurons); }},
    {"Attention", [](const RemovedUnits& units) { return static_cast<double>(units.attention); }},
    {"Bypassed", [](const RemovedUnits& units) { return static_cast<double>(units.bypassed); }},
    {"MLPs", [](const RemovedUnits& units) { return static_cast<double>(units.mlps); }},
    {"Blocks", [](const RemovedUnits& units) { return static_cast<double>(units.blocks); }},
};

struct PricedMask {
    const SessionMask* mask;
    Price price;
    RemovedUnits removed;
};

std::vector<PricedMask> pricedMasks(const Session& session) {
    const PriceList prices(session.model);
    std::vector<PricedMask> masks;
    for (const SessionMask& mask : session.masks) {
        Price price = prices.price(mask.record.mask);
        const RemovedUnits removed = removedUnits(price);
        masks.push_back({&mask, std::move(price), removed});
    }
    return masks;
}

double percentSaved(double saved, double all) {
    return all > 0 ? 100 * saved / all : std::numeric_limits<double>::quiet_NaN();
}

std::string strategyOf(const SessionMask& mask) {
    return mask.record.provenance ? mask.record.provenance->strategy : std::string();
}

std::string budgetOf(const SessionMask& mask) {
    const auto& provenance = mask.record.provenance;
    return provenance && provenance->budget ? budgetText(*provenance->budget) : std::string();
}

std::vector<CutColumn> usedColumns(const std::vector<PricedMask>& masks) {
    std::vector<CutColumn> used;
    for (const CutColumn& column : cutColumns)
        if (std::ranges::any_of(masks, [&](const PricedMask& mask) { return column.count(mask.removed) > 0; }))
            used.push_back(column);
    return used;
}

ReportFigure masksTable(const std::vector<PricedMask>& masks) {
    const std::vector<CutColumn> used = usedColumns(masks);
    const bool hasCache =
        std::ranges::any_of(masks, [](const PricedMask& mask) { return mask.price.kvBytesPerToken.all > 0; });
    FigureTable table;
    table.columns = {textColumn("Mask"), textColumn("Strategy"), textColumn("Budget")};
    for (const CutColumn& column : used)
        table.columns.push_back({.title = column.title, .decimals = 0, .group = "Units cut", .hasThousands = true});
    table.columns.push_back({.title = "Kept", .decimals = 0, .group = "Parameters", .hasThousands = true});
    table.columns.push_back({.title = "Cut (%)", .decimals = 2, .group = "Parameters"});
    if (hasCache)
        table.columns.push_back({.title = "KV cache cut (%)", .decimals = 2});
    table.columns.push_back(textColumn("Digest"));
    for (const PricedMask& one : masks) {
        const Price& price = one.price;
        TableRow row{
            {reportWords(one.mask->name), reportWords(strategyOf(*one.mask)), reportWords(budgetOf(*one.mask))}};
        for (const CutColumn& column : used)
            row.cells.push_back(reportNumber(column.count(one.removed)));
        row.cells.push_back(reportNumber(static_cast<double>(price.parameters.left)));
        row.cells.push_back(reportNumber(
            percentSaved(static_cast<double>(price.parameters.saved()), static_cast<double>(price.parameters.all))));
        if (hasCache)
            row.cells.push_back(reportNumber(percentSaved(price.kvBytesPerToken.saved(), price.kvBytesPerToken.all)));
        row.cells.push_back(reportWords(shortDigest(one.mask->digest)));
        table.rows.push_back(std::move(row));
    }
    table.notes = {"Units of dropped sublayers and blocks count as cut."};
    return tableBlock(std::move(table), "Masks with their cuts and savings.");
}

/// The share of each unit that a mask removes: a column for each head, and one for the MLP. NaN = no such unit.
Matrix cutShares(const ModelSpec& spec, const PruningMask& mask) {
    constexpr double bypassed = 0.5; // queries and keys
    const auto heads = static_cast<std::size_t>(spec.maxHeads());
    Matrix cells(spec.layers.size(), heads + 1);
    std::ranges::fill(cells.values(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
        const LayerMask& own = mask.layer(static_cast<int>(layer));
        for (std::size_t head = 0; head < own.heads.size(); ++head)
            cells(layer, head) = dropsAttention(own) || !own.heads[head]   ? 1
                                 : own.attention == AttentionCut::bypassQk ? bypassed
                                                                           : 0;
        const auto neurons = static_cast<double>(own.neurons.size());
        if (neurons > 0)
            cells(layer, heads) = dropsMlp(own) ? 1 : 1 - own.keptNeurons() / neurons;
    }
    return cells;
}

/// Masks with maps: first those that are no points of curves.
std::vector<const SessionMask*> mappedMasks(const Session& session) {
    const std::set<std::string> ofCurves = masksOfCurves(session.curves);
    std::vector<const SessionMask*> masks;
    for (const SessionMask& mask : session.masks)
        masks.push_back(&mask);
    std::ranges::stable_partition(masks, [&](const SessionMask* mask) { return !ofCurves.contains(mask->digest); });
    masks.resize(std::min(masks.size(), mostMaps));
    return masks;
}

ReportFigure masksMap(const Session& session) {
    const ModelSpec& spec = session.model.spec;
    ReportFigure block;
    Figure& figure = block.figure;
    figure.kind = FigureKind::panels;
    figure.x.label = "head, MLP";
    figure.y.label = "layer";
    figure.colour.label = "share removed";
    figure.colour.range = AxisRange{0, 1};
    figure.scale = {"viridis", ScaleKind::linear, 0};
    for (const SessionMask* mask : mappedMasks(session)) {
        FigurePanel& panel = figure.panels.emplace_back();
        panel.title = shownLine(mask->name);
        panel.cells = cutShares(spec, mask->record.mask);
        for (int head = 0; head < spec.maxHeads(); ++head)
            panel.columns.push_back(std::to_string(head));
        panel.columns.emplace_back("MLP");
    }
    block.caption = fmt::format("Cuts of masks of {}: share of each head, and of the neurons of each MLP, that a mask "
                                "removes. Heads of bypassed attention, which keeps values and outputs, count half.",
                                shownLine(session.model.name));
    if (session.masks.size() > mostMaps)
        block.caption += fmt::format(" {} of {} masks.", mostMaps, session.masks.size());
    return block;
}

} // namespace

ReportSection masksSection(const Session& session) {
    ReportSection section;
    if (session.masks.empty())
        return section;
    section.blocks.emplace_back(masksTable(pricedMasks(session)));
    section.blocks.emplace_back(masksMap(session));
    return section;
}

} // namespace secateur
