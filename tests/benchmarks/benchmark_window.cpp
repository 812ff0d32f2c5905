// Times that a user waits for in the window, measured with a real model:
//
//   prices   from a click with the shears until the mask's price is on screen      at most 50 ms
//   figures  from an edit until the first measured figure                          at most 5 s
//   freezes  longest time in which the window does not answer, while edits of
//            all kinds are made and evaluated                                      at most 100 ms
//   layers   evaluation of the whole text by lowest changed layer l, relative
//            to a dense one                                                        at most 1.1 s(l)
//   sweep    while a sweep runs: longest time in which the window does not answer    at most 50 ms
//            from a click on a point of a curve until its price is drawn             at most 50 ms
//   busy     while gradients are computed for minutes: saving                      at most 1 s
//            saving and quitting                                                   at most 2 s
//            from an edit until its first measured figure                          at most 5 s
//            from the click that opens another model until its first picture       at most 2 s
//
// benchmark_window MODEL [--only prices,figures,freezes,layers,sweep,busy] [--tokens N] [--window 512] [--clicks 50]
//                  [--masks 10] [--edits 50] [--repeat 2] [--other MODEL] [--seed 1]
//
// Runs offscreen unless QT_QPA_PLATFORM is set. Without --tokens the window chooses the length of the text. Without
// --other the other model is the same one again.

#include "analysis/evaluation/perplexity.h"
#include "analysis/masks/price.h"
#include "analysis/running/runner.h"
#include "app/window/window_services.h"
#include "tests/benchmarks/gui_timing.h"
#include "tests/benchmarks/gui_watch.h"
#include "tests/benchmarks/window_busy.h"
#include "tests/benchmarks/window_sweep.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/neurons/neuron_threshold.h"
#include "widgets/window/main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

using State = LiveEvaluation::State;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

/// Operates the main window and measures the times listed above.
class Benchmark {
public:
    explicit Benchmark(const QCommandLineParser& arguments)
        : m_arguments(arguments)
        , m_random(arguments.value("seed").toUInt()) {
        m_live = m_window.findChild<LiveEvaluation*>();
        m_grid = m_window.headsView()->grid();
        EvaluationChoice choice = m_live->choice();
        if (const auto tokens = arguments.value("tokens").toLongLong(); tokens > 0)
            choice.tokens = tokens;
        choice.text.rules.window = arguments.value("window").toInt();
        m_live->choose(choice);
        m_window.show();
    }

    void run(const QString& model) {
        open(model);
        const QStringList only = arguments("only").split(',', Qt::SkipEmptyParts);
        const auto isWanted = [&](const char* part) { return only.isEmpty() || only.contains(part); };
        if (isWanted("prices"))
            timePrices();
        if (isWanted("figures"))
            timeFirstFigures();
        if (isWanted("freezes"))
            timeFreezes();
        if (isWanted("layers"))
            timeLayers();
        const BusyWindow parts{m_window, m_document, m_jobs, *m_live};
        if (isWanted("sweep"))
            timeSweep(parts, number("clicks"));
        if (isWanted("busy"))
            timeBusy(parts, arguments("other").isEmpty() ? model : arguments("other"),
                     number("masks"), [this](int layer) { return drawnMask(layer); });
    }

private:
    QString arguments(const char* name) const { return m_arguments.value(name); }
    int number(const char* name) const { return m_arguments.value(name).toInt(); }
    MaskEditor& masks() { return *m_document.masks(); }
    const ModelSpec& spec() const { return m_document.spec(); }
    int drawn(int end) { return std::uniform_int_distribution<int>(0, end - 1)(m_random); }
    HeadId drawnHead(int layer) { return {layer, drawn(spec().layers[static_cast<std::size_t>(layer)].heads)}; }
    bool isComplete() const { return m_live->state() == State::complete; }

    void open(const QString& model) {
        QElapsedTimer timer;
        timer.start();
        m_window.open(model);
        runUntil([&] { return m_document.model() && m_jobs.isIdle() && isComplete(); });
        fmt::print("{}: open, measured and the dense model evaluated after {:.1f} s: {} tokens in {} windows, {}\n\n",
                   m_document.session().model.name, seconds(timer), m_live->text()->tokens, m_live->text()->windows,
                   m_live->text()->dtype);
    }

    QLabel* priceLabel() const {
        const auto labels = m_window.findChild<PriceBox*>()->findChildren<QLabel*>();
        return *std::ranges::find(labels, QString("parameters"), &QLabel::accessibleName);
    }

    void timePrices() {
        m_grid->setTool(HeadsGrid::Tool::shears);
        QLabel* const price = priceLabel();
        PaintCount paints(price);
        std::vector<double> changed;
        std::vector<double> drawnOn;
        for (int i = 0; i < number("clicks"); ++i) {
            const HeadId head = drawnHead(i % spec().layerCount());
            const QString before = price->text();
            const int paintsBefore = paints.count();
            QElapsedTimer timer;
            timer.start();
            click(m_grid, m_grid->cellRect(head).center());
            runUntil([&] { return price->text() != before; });
            changed.push_back(seconds(timer));
            runUntil([&] { return paints.count() > paintsBefore; });
            drawnOn.push_back(seconds(timer));
            runFor(100 + drawn(700)); // sometimes long enough for the mask's evaluation to begin
        }
        m_grid->setTool(HeadsGrid::Tool::select);
        const double worst = *std::ranges::max_element(drawnOn);
        fmt::print("prices: {} clicks with the shears\n  until the price changed  median {:5.1f} ms  worst {:5.1f} ms\n"
                   "  until it was drawn       median {:5.1f} ms  worst {:5.1f} ms, at most 50{}\n\n",
                   changed.size(), 1e3 * median(changed), 1e3 * *std::ranges::max_element(changed),
                   1e3 * median(drawnOn), 1e3 * worst, verdict(worst, 0.05));
    }

    PruningMask drawnMask(int layer) {
        PruningMask mask(spec());
        LayerMask cut = mask.layer(layer);
        cut.heads[static_cast<std::size_t>(drawnHead(layer).head)] = false;
        mask.setLayer(layer, cut);
        for (int more = layer + 1 + drawn(4); more < spec().layerCount(); more += 1 + drawn(8)) {
            LayerMask other = mask.layer(more);
            other.heads[static_cast<std::size_t>(drawnHead(more).head)] = false;
            mask.setLayer(more, other);
        }
        return mask;
    }

    bool hasFigure() const { return m_live->shown() && !m_live->shown()->run.windows.empty(); }

    void timeFirstFigures() {
        std::vector<double> first;
        fmt::print("figures: from the edit, the pause before an evaluation included\n");
        for (int i = 0; i < number("masks"); ++i) {
            const int layer = i * (spec().layerCount() - 1) / std::max(number("masks") - 1, 1);
            QElapsedTimer timer;
            timer.start();
            masks().replaceMask(drawnMask(layer), "edit");
            runUntil([&] { return hasFigure(); });
            first.push_back(seconds(timer));
            fmt::print("  layer {:2}  {:5.2f} s, {} of {} windows, {:+.4f} nats\n", layer, first.back(),
                       m_live->shown()->run.windows.size(), m_live->shown()->windows, m_live->shown()->difference.nats);
        }
        const double worst = *std::ranges::max_element(first);
        fmt::print("  median {:.2f} s, worst {:.2f} s, at most 5{}\n\n", median(first), worst, verdict(worst, 5));
    }

    struct Action {
        const char* name;
        std::function<void()> run;
    };

    std::vector<Action> actions() {
        const auto someHeads = [this] {
            std::set<HeadId> heads;
            for (int i = 0; i < 6; ++i)
                heads.insert(drawnHead(drawn(spec().layerCount())));
            return heads;
        };
        const auto layer = [this] { return std::set<int>{drawn(spec().layerCount())}; };
        return {
            {"heads", [this, someHeads] { masks().setHeadsCut(someHeads(), drawn(3) > 0); }},
            {"click with the shears",
             [this] {
                 m_grid->setTool(HeadsGrid::Tool::shears);
                 click(m_grid, m_grid->cellRect(drawnHead(drawn(spec().layerCount()))).center());
                 m_grid->setTool(HeadsGrid::Tool::select);
             }},
            {"row of heads",
             [this] {
                 const int row = drawn(spec().layerCount());
                 std::set<HeadId> heads;
                 for (int head = 0; head < spec().layers[static_cast<std::size_t>(row)].heads; ++head)
                     heads.insert({row, head});
                 masks().setHeadsCut(heads, true);
             }},
            {"attention switch", [this, layer] { masks().setAttention(layer(), AttentionCut::drop); }},
            {"MLP switch", [this, layer] { masks().setMlpCut(layer(), drawn(2) == 0); }},
            {"block switch", [this, layer] { masks().setBlockCut(layer(), drawn(2) == 0); }},
            {"neurons by ratio", [this] { cutNeurons(); }},
            {"undo", [this] { masks().undoStack()->undo(); }},
            {"redo", [this] { masks().undoStack()->redo(); }},
            {"threshold", [this] { dragThreshold(); }},
            {"another mask",
             [this] {
                 if (masks().state().masks.size() < 4)
                     masks().duplicateMask();
                 else
                     masks().setCurrent(static_cast<std::size_t>(drawn(4)));
             }},
            {"another tab",
             [this] {
                 m_window.showTab(QStringList{"heads", "layers", "neurons"}[drawn(3)]);
             }},
        };
    }

    /// Drags the threshold of the colour bar with one mouse event for each step.
    void dragThreshold() {
        HeadsThreshold* threshold = m_grid->threshold();
        const MetricResult* result = m_document.measurements()->result(m_window.headsView()->resultId());
        if (!threshold->isOffered() || !result)
            return;
        std::vector<double> levels;
        for (int layer = 0; layer < spec().layerCount(); ++layer)
            levels.push_back(result->values(static_cast<std::size_t>(layer), 0));
        std::ranges::sort(levels);
        for (std::size_t step = 0; step < levels.size() / 3; ++step) {
            threshold->preview(levels[step]);
            runFor(16);
        }
        threshold->apply();
    }

    void cutNeurons() {
        m_window.showTab("neurons");
        runFor(50);
        auto* row = m_window.findChild<NeuronCutsRow*>();
        for (int step = 0; step < 5; ++step) {
            row->step(1);
            runFor(16);
        }
        row->findChild<QPushButton*>()->click();
    }

    void timeFreezes() {
        const std::vector<Action> all = actions();
        std::size_t answers = 0;
        std::vector<Stall> longest;
        {
            GuiWatch watch;
            for (int i = 0; i < number("edits"); ++i) {
                const auto index = i < static_cast<int>(all.size()) ? i : drawn(static_cast<int>(all.size()));
                const Action& action = all[static_cast<std::size_t>(index)];
                watch.setAction(action.name);
                action.run();
                runFor(drawn(4) == 0 ? 2500 : 50 + drawn(600));
            }
            watch.setAction("the last evaluation");
            runUntil([&] { return isComplete() || m_live->state() == State::failed; });
            answers = watch.answers();
            longest = watch.longest(12);
        }
        const double worst = longest.empty() ? 0 : longest.front().seconds;
        fmt::print(
            "freezes: {} edits while evaluations ran, {} answers\n  longest without one {:.0f} ms, at most 100{}\n",
            number("edits"), answers, 1e3 * worst, verdict(worst, 0.1));
        for (const Stall& stall : longest)
            fmt::print("    {:4.0f} ms  {:.2f} s after \"{}\" began\n", 1e3 * stall.seconds, stall.after, stall.action);
        fmt::print("\n");
    }

    /// The time of evaluating the whole text under `mask`, from the start of the evaluation.
    Took evaluation(const PruningMask& mask) {
        std::optional<Watch> watch;
        const auto begun = QObject::connect(m_live, &LiveEvaluation::changed, &m_window, [&] {
            if (m_live->state() == State::running && !watch)
                watch.emplace();
        });
        masks().replaceMask(mask, "edit");
        runUntil([&] { return watch && isComplete(); });
        QObject::disconnect(begun);
        return watch->took();
    }

    Took denseRun(const ScoredText& text) {
        const Model& model = *m_document.model();
        const auto plan = model.runner().plan(PruningMask(spec()), computeTypeOf(m_live->text()->dtype));
        const Watch watch;
        perplexity(model, *plan, text);
        return watch.took();
    }

    void timeLayers() {
        TextRequest request = m_live->choice().text;
        request.rules.mostTokens = m_live->text()->tokens;
        const EvaluationText text = m_document.services().readText(*m_document.model(), request, {});
        const auto shares = operationShares(spec(), PruningMask(spec()), request.rules.window);
        fmt::print("layers: through the window, best of {}; on a busy machine processor time tells more\n"
                   "   l  seconds  dense s  share  s(l)   share / s(l)  of processor time\n",
                   number("repeat"));
        const int count = spec().layerCount();
        for (const int layer : {0, count / 4, count / 2, 3 * count / 4, count - 1}) {
            Took best;
            Took dense;
            for (int i = 0; i < number("repeat"); ++i) {
                PruningMask mask(spec());
                LayerMask cut = mask.layer(layer);
                cut.heads[static_cast<std::size_t>(i) % cut.heads.size()] = false;
                mask.setLayer(layer, cut);
                best.takeLess(evaluation(mask));
                dense.takeLess(denseRun(text.scored));
            }
            const double share = shares[static_cast<std::size_t>(layer)];
            const double ratio = best.seconds / dense.seconds / share;
            fmt::print("  {:2}  {:7.2f}  {:7.2f}  {:.3f}  {:.3f}  {:.2f}          {:.2f}{}\n", layer, best.seconds,
                       dense.seconds, best.seconds / dense.seconds, share, ratio,
                       best.processor / dense.processor / share, verdict(ratio, 1.1));
        }
    }

    const QCommandLineParser& m_arguments;
    std::mt19937 m_random;
    JobRunner m_jobs;
    Document m_document{windowServices(), &m_jobs};
    MainWindow m_window{&m_document, &m_jobs};
    LiveEvaluation* m_live = nullptr;
    HeadsGrid* m_grid = nullptr;
};

} // namespace

int main(int count, char** values) {
    // The user's settings are neither read nor changed.
    const QTemporaryDir home;
    for (const char* place : {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"})
        qputenv(place, home.path().toUtf8());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(count, values);
    QApplication::setApplicationName("secateur");
    QApplication::setOrganizationName("secateur");
    QCommandLineParser parser;
    parser.addPositionalArgument("MODEL", "A model folder or file.");
    parser.addHelpOption();
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{{"only", ""},
                                                                                                {"tokens", "0"},
                                                                                                {"window", "512"},
                                                                                                {"clicks", "50"},
                                                                                                {"masks", "10"},
                                                                                                {"edits", "50"},
                                                                                                {"repeat", "2"},
                                                                                                {"other", ""},
                                                                                                {"seed", "1"}})
        parser.addOption({name, {}, "VALUE", value});
    parser.process(application);
    if (parser.positionalArguments().size() != 1)
        parser.showHelp(2);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    Benchmark(parser).run(parser.positionalArguments().first());
}
