#include "analysis/figures/training_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

constexpr std::size_t trainingColour = 0;
constexpr std::size_t heldOutColour = 1;

FigureSeries lossSeries(std::string label, SeriesStyle style, std::size_t colour) {
    FigureSeries series;
    series.label = std::move(label);
    series.style = style;
    series.colour = colour;
    return series;
}

/// The mean loss of the steps before `end`, at most averagedSteps of them.
double meanBefore(const std::vector<StepRecord>& records, std::size_t end) {
    const std::size_t begin = end - std::min(end, averagedSteps);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
        sum += records[i].lossNats;
    return sum / static_cast<double>(end - begin);
}

/// The loss of a step is that before its update, so that it is drawn at the number of steps done before it.
void addSteps(Figure& figure, const TrainingCurve& curve) {
    if (curve.records.empty())
        return;
    FigureSeries each = lossSeries("training", SeriesStyle::thinLine, trainingColour);
    FigureSeries mean =
        lossSeries(fmt::format("mean of {}", averagedSteps), SeriesStyle::plainLine, trainingColour);
    for (std::size_t i = 0; i < curve.records.size(); ++i) {
        each.positions.push_back(static_cast<double>(i));
        each.values.push_back(curve.records[i].lossNats);
        mean.positions.push_back(static_cast<double>(i));
        mean.values.push_back(meanBefore(curve.records, i + 1));
    }
    figure.series.push_back(std::move(each));
    figure.series.push_back(std::move(mean));
}

} // namespace

const HeldOutScore* TrainingCurve::best() const {
    const HeldOutScore* lowest = nullptr;
    for (const HeldOutScore& score : scores)
        if (score.step > 0 && (!lowest || score.lossNats < lowest->lossNats))
            lowest = &score;
    return lowest;
}

double recentNats(const TrainingCurve& curve) {
    return curve.records.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : meanBefore(curve.records, curve.records.size());
}

Figure trainingFigure(const TrainingCurve& curve) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.x.label = "step";
    figure.y.label = "loss (nats)";
    const auto done = static_cast<std::int64_t>(curve.records.size());
    figure.x.range = AxisRange{0, static_cast<double>(std::max({curve.steps, done, std::int64_t{1}}))};
    addSteps(figure, curve);
    if (!curve.scores.empty()) {
        FigureSeries heldOut = lossSeries("held-out", SeriesStyle::line, heldOutColour);
        for (const HeldOutScore& score : curve.scores) {
            heldOut.positions.push_back(static_cast<double>(score.step));
            heldOut.values.push_back(score.lossNats);
        }
        figure.series.push_back(std::move(heldOut));
    }
    if (curve.denseNats) {
        FigureSeries dense = lossSeries("dense, held-out", SeriesStyle::level, heldOutColour);
        dense.values = {*curve.denseNats};
        figure.series.push_back(std::move(dense));
    }
    return figure;
}

} // namespace secateur
