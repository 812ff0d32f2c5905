#include "analysis/gallery/greedy_gnorm_figures.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/model_figures.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/masks/mask_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace secateur {

namespace {

constexpr PaperStep greedyCurveStep{"greedy_gnorm", "sweep"};

constexpr std::array fourEnds{
    PaperLine{"entropy", "AE", 0},
    PaperLine{"gnorm_greedy", "Greedy-Gnorm", 1},
    PaperLine{"entropy_inverse", "Inverse-AE", 2},
    PaperLine{"gnorm_inverse", "Inverse-Gnorm", 3},
};
constexpr PaperLine greedyPoints{"gnorm_greedy", "Greedy-Gnorm", 2};
constexpr PaperLine randomPoints{"random_head", "random", 0};
constexpr std::array greedyAndRandom{greedyPoints, randomPoints};

std::vector<HeadId> cutsOfOption(const FigureOptions& options) {
    std::vector<HeadId> cuts;
    for (const std::string& text : split(options.at("cuts"), '/'))
        cuts.push_back(headOfOption("cuts", text));
    return cuts;
}

/// The dense model as a first point of a line that begins without cuts.
void beginDense(FigureSeries& series, const PaperQuality& quality) {
    if (series.values.empty() || !std::isfinite(quality.dense))
        return;
    const auto atFront = [](auto& values, auto value) {
        if (!values.empty())
            values.insert(values.begin(), value);
    };
    atFront(series.positions, 0.0);
    atFront(series.values, quality.dense);
    atFront(series.errors, 0.0);
    atFront(series.lows, notMeasured);
    atFront(series.highs, notMeasured);
    atFront(series.marks, PointMark::none);
    atFront(series.names, std::string("dense"));
}

double greedyHeadsRemoved(const CurvePoint& point) {
    return point.removed.heads;
}

bool hasGreedyPoints(const Figure& figure) {
    return std::ranges::any_of(figure.series, [](const FigureSeries& series) { return !series.values.empty(); });
}

/// What both figures share.
Figure greedyFigure(const Session& session, const PaperQuality& quality, std::string label) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = session.model.name;
    figure.x.label = std::move(label);
    figure.y.label = quality.label();
    return figure;
}

void finishCurves(Figure& figure, const Session& session, const Curves& curves, std::span<const PaperLine> lines,
                  const PaperQuality& quality) {
    if (!hasGreedyPoints(figure))
        throw lacking(session, "points with a quality", greedyCurveStep.paper, greedyCurveStep.step);
    figure.note = gapsOfPaper(session, figure, lines, greedyCurveStep);
    figure.caption = figureCaption(session.model, fmt::format("{} against {}", figure.y.label, figure.x.label)) +
                     conditionsOfPaper(curves, lines, quality);
}

} // namespace

void checkGreedyGradients(const FigureOptions& options) {
    cutsOfOption(options);
    if (integerOption(options, "layer") < 0)
        throw UsageError("layers count from 0", "layer=" + options.at("layer"));
}

Figure drawGreedyGradients(const TextInputs& inputs, const FigureOptions& options) {
    const ModelSpec& spec = inputs.model.spec();
    const std::vector<HeadId> cuts = cutsOfOption(options);
    const int layer = integerOption(options, "layer");
    checkHead(spec, {layer, 0});
    for (const HeadId& cut : cuts)
        checkHead(spec, cut);
    if (inputs.sequences.empty())
        throw Error("The text has no sequence");
    const GradientRun run{.plan = inputs.plan,
                          .sequences = inputs.sequences.first(1),
                          .labels = inputs.labels.empty() ? inputs.labels : inputs.labels.first(1),
                          .batchTokens = inputs.batchTokens};
    const PruningMask& before = inputs.plan.mask();
    Figure grid;
    grid.kind = FigureKind::grid;
    grid.gridColumns = 2;
    std::int64_t tokens = 0;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        GradientChangeRequest masks{before, before, options.at("scalarisation")};
        setHeads(masks.after, std::span(cuts).subspan(i, 1), false);
        const auto share = static_cast<double>(cuts.size());
        const GradientChange change =
            gradientChange(inputs.model, masks, run,
                           inputs.progress.part(static_cast<double>(i) / share, static_cast<double>(i + 1) / share));
        tokens = change.tokens;
        names.push_back(headName(cuts[i].layer, cuts[i].head));
        Figure map =
            gradientChangeFigure(inputs.model.card(), change, layer, names.back(), {"vik", ScaleKind::linear, 1});
        map.title = names.back() + " cut";
        const std::vector<int> tied = before.tiedTo(layer);
        if (std::ranges::find(tied, cuts[i].layer) != tied.end())
            for (std::size_t column = 0; column < map.cells.columns(); ++column)
                map.outlined.push_back({static_cast<std::size_t>(cuts[i].head), column});
        grid.parts.push_back(std::move(map));
    }
    grid.title = inputs.model.card().name;
    grid.caption = fmt::format(
        "{}: ∂F/∂W_q of layer {} with {} cut minus ∂F/∂W_q without the cut, on one text of {} tokens; a cell is the "
        "mean over the rows of a head and as many columns. F is the scalar of gnorm, {}. The row of a head that is "
        "itself cut has a frame: it is minus its gradient.",
        inputs.model.card().name, layer, join(names, " or "), grouped(static_cast<std::uint64_t>(tokens)),
        options.at("scalarisation"));
    return grid;
}

Figure drawGreedyCurves(const Session& session, const FigureOptions& options) {
    const Curves& curves = curvesOfPaper(session, fourEnds, options, greedyCurveStep);
    const PaperQuality quality = qualityOfPaper(session.model, curves, options.at("task"));
    Figure figure = greedyFigure(session, quality, "heads pruned");
    for (const PaperLine& line : fourEnds) {
        figure.series.push_back(paperSeries(curveOfPaper(curves, line.strategy), line, greedyHeadsRemoved, quality));
        beginDense(figure.series.back(), quality);
    }
    finishCurves(figure, session, curves, fourEnds, quality);
    std::erase_if(figure.series, [](const FigureSeries& series) { return series.values.empty(); });
    figure.x.range = AxisRange{0, 1.02 * quality.scale.dense.heads.all};
    return figure;
}

Figure drawGreedyBoxes(const Session& session, const FigureOptions& options) {
    const Curves& curves = curvesOfPaper(session, greedyAndRandom, options, greedyCurveStep);
    const PaperQuality quality = qualityOfPaper(session.model, curves, options.at("task"));
    const double heads = quality.scale.dense.heads.all;
    const PaperPosition share = [heads](const CurvePoint& point) { return 100 * greedyHeadsRemoved(point) / heads; };
    Figure figure = greedyFigure(session, quality, "heads pruned (%)");
    figure.series.push_back(paperBoxes(curveOfPaper(curves, randomPoints.strategy), randomPoints, share, quality));
    figure.series.push_back(paperSeries(curveOfPaper(curves, greedyPoints.strategy), greedyPoints, share, quality));
    beginDense(figure.series.back(), quality);
    finishCurves(figure, session, curves, greedyAndRandom, quality);
    std::erase_if(figure.series, [](const FigureSeries& series) { return series.values.empty(); });
    if (std::isfinite(quality.dense))
        figure.series.push_back(denseLevel(quality));
    figure.x.range = AxisRange{0, 104};
    figure.caption += " Boxes: quartiles of the random masks; whiskers: the farthest values within 1.5 interquartile "
                      "ranges.";
    return figure;
}

} // namespace secateur
