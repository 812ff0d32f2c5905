#include "tests/benchmarks/window_sweep.h"

#include "tests/benchmarks/gui_timing.h"
#include "tests/benchmarks/gui_watch.h"
#include "widgets/curves/curves_view.h"
#include "widgets/curves/sweep_panel.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/plot/point_widget.h"
#include "widgets/window/main_window.h"

#include <QLabel>
#include <QPushButton>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace secateur::test {

namespace {

constexpr double silenceBar = 0.05;
constexpr double clickBar = 0.05;
constexpr std::size_t enoughPoints = 24;

SweepSetup drawnSetup() {
    SweepSetup setup;
    setup.strategies = {"gate_norm", "block_influence", "sink_head", "amp", "wanda_sp", "flap", "random_attention"};
    setup.budgets = "params:2%,params:4%,params:6%,params:8%,params:10%,params:12%";
    setup.repetitions = 3;
    setup.tokens = 1024;
    setup.scoreTokens = 1024;
    return setup;
}

std::size_t scoredPoints(const Document& document) {
    std::size_t count = 0;
    for (const Curves& curves : document.session().curves)
        for (const Curve& curve : curves.curves)
            count += static_cast<std::size_t>(std::ranges::count_if(
                curve.points, [](const CurvePoint& point) { return std::isfinite(point.lossNats); }));
    return count;
}

/// The places of the points on screen.
std::vector<std::size_t> drawnPlaces(const CurvesView& view) {
    std::vector<std::size_t> places;
    for (const FigureSeries& series : view.currentFigure().series)
        for (const std::size_t place : series.places)
            if (view.point(place) && view.plot()->position(place))
                places.push_back(place);
    return places;
}

/// Seconds from a click on a point until the price of its mask is drawn.
double clickPoint(const BusyWindow& parts, const CurvesView& view, std::size_t place, QLabel* price) {
    parts.document.masks()->setPreview({});
    runFor(100);
    const PaintCount paints(price);
    const int before = paints.count();
    const Watch watch;
    click(view.plot(), *view.plot()->position(place));
    runUntil([&] { return parts.document.masks()->preview() && paints.count() > before; });
    return watch.took().seconds;
}

} // namespace

void timeSweep(const BusyWindow& parts, int clicks) {
    auto* panel = parts.window.findChild<SweepPanel*>();
    auto* view = parts.window.findChild<CurvesView*>();
    const auto labels = parts.window.findChild<PriceBox*>()->findChildren<QLabel*>();
    QLabel* price = *std::ranges::find(labels, QString("parameters"), &QLabel::accessibleName);
    parts.window.showTab("curves");
    panel->setSetup(drawnSetup());
    auto* run = panel->findChild<QPushButton*>();
    std::vector<double> took;
    std::vector<Stall> stalls;
    {
        GuiWatch watch;
        watch.setAction("the start");
        run->click();
        runUntil([&] { return scoredPoints(parts.document) >= enoughPoints; });
        for (int i = 0; i < clicks; ++i) {
            watch.setAction(fmt::format("click {}", i));
            const std::vector<std::size_t> places = drawnPlaces(*view);
            took.push_back(clickPoint(parts, *view, places[static_cast<std::size_t>(i) % places.size()], price));
        }
        watch.setAction("the rest");
        runUntil([&] { return scoredPoints(parts.document) >= 2 * enoughPoints; });
        stalls = watch.longest(6);
    }
    run->click();
    const double silence = stalls.empty() ? 0 : stalls.front().seconds;
    const double slowest = *std::ranges::max_element(took);
    fmt::print("sweep: while it runs, {} points scored\n  longest time without an answer {:.0f} ms, at most 50{}\n"
               "  from a click on a point until its price is drawn, slowest of {}: {:.1f} ms, at most 50{}\n",
               scoredPoints(parts.document), 1e3 * silence, verdict(silence, silenceBar), clicks, 1e3 * slowest,
               verdict(slowest, clickBar));
    for (const Stall& stall : stalls)
        fmt::print("    {:4.0f} ms  {:.2f} s after \"{}\" began\n", 1e3 * stall.seconds, stall.after, stall.action);
    fmt::print("\n");
}

} // namespace secateur::test
