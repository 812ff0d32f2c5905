// Strategies that search on the measured loss: loss_greedy, harp and two_stage. Their results are compared with a
// reference in Python (tests/data/strategies), and with loops that evaluate every mask from the embedding up.
#ifndef Q_MOC_RUN
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/rise_memory.h"
#include "analysis/strategies/two_stage.h"
#include "backends/session/mask_json.h"
#include "backends/text/sequence_text.h"
#include "tests/support/counting_model.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

using namespace secateur;
using test::GradientCase;

namespace {

constexpr double nearly = 1e-5; ///< nats

QJsonObject searched() {
    QFile file(test::data().filePath("strategies/search.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no strategies/search.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

std::vector<TokenSequence> sequencesOf(const QJsonArray& lists) {
    std::vector<TokenSequence> sequences;
    for (const auto& ids : lists) {
        TokenSequence& sequence = sequences.emplace_back();
        for (const auto& id : ids.toArray())
            sequence.ids.push_back(id.toInt());
        sequence.types.assign(sequence.ids.size(), 0);
    }
    return sequences;
}

/// The cuts of a mask in the form of the reference: a dropped attention and a bypass with alpha 0 are the same.
QString cutsOf(const PruningMask& mask) {
    QStringList lines;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        QString line;
        for (const auto& [name, kept] : {std::pair("head", &layer.heads), std::pair("neuron", &layer.neurons)})
            for (std::size_t unit = 0; unit < kept->size(); ++unit)
                if (!(*kept)[unit])
                    line += QString(" %1 %2").arg(name).arg(unit);
        if (!layer.block)
            line += " no block";
        else if (dropsAttention(layer))
            line += " no attention";
        else if (layer.attention == AttentionCut::bypassQk)
            line += QString(" alpha %1").arg(layer.alpha);
        if (layer.block && !layer.mlp)
            line += " no mlp";
        if (!line.isEmpty())
            lines << QString("L%1:%2").arg(index).arg(line);
    }
    return lines.join("; ");
}

QString cutsOf(const QJsonArray& layers) {
    QStringList lines;
    for (const auto& value : layers) {
        const QJsonObject layer = value.toObject();
        QString line;
        for (const auto& [name, key] : {std::pair("head", "heads_cut"), std::pair("neuron", "neurons_cut")})
            for (const auto& unit : layer[key].toArray())
                line += QString(" %1 %2").arg(name).arg(unit.toInt());
        if (layer["block"] == "drop")
            line += " no block";
        if (layer["attention"] == "drop")
            line += " no attention";
        else if (layer["attention"] == "bypass_qk")
            line += QString(" alpha %1").arg(layer["alpha"].toDouble());
        if (layer["mlp"] == "drop")
            line += " no mlp";
        lines << QString("L%1:%2").arg(layer["layer"].toInt()).arg(line);
    }
    return lines.join("; ");
}

/// A model with texts of tokens.
struct TextCase {
    std::shared_ptr<const Model> model;
    std::vector<TokenSequence> sequences;
    std::vector<TokenSequence> corpus;
    std::vector<int> labels = {};
    std::int64_t batchTokens = 4096;

    PruneInputs inputs() const {
        PruneInputs inputs;
        inputs.text = CalibrationText{.sequences = sequences,
                                      .labels = labels,
                                      .batchTokens = batchTokens,
                                      .type = ComputeType::float32};
        if (!corpus.empty())
            inputs.corpus = CalibrationText{
                .sequences = corpus, .labels = labels, .batchTokens = batchTokens, .type = ComputeType::float32};
        return inputs;
    }
};

std::shared_ptr<const Model> opened(const QString& folder) {
    return openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {}, {});
}

/// A model with the sequences and labels of its gradient fixture, or those of the reference.
TextCase caseOf(const QString& folder) {
    const GradientCase c(folder);
    if (!c.sequences.empty())
        return {c.model, c.sequences, {}, c.labels};
    return {c.model, sequencesOf(searched()["models"].toObject()[folder].toObject()["sequences"].toArray()), {}};
}

TextCase storyCase(std::int64_t sequences, std::size_t length) {
    TextCase c;
    c.model = openModel((test::realData() + "/models/stories260K/stories260K.gguf").toStdString());
    std::uint32_t next = 7;
    for (std::int64_t i = 0; i < sequences; ++i) {
        TokenSequence& sequence = c.sequences.emplace_back();
        for (std::size_t token = 0; token < length; ++token) {
            next = next * 1103515245U + 12345U;
            sequence.ids.push_back(3 + static_cast<int>((next >> 8) % static_cast<std::uint32_t>(c.model->spec().vocab - 3)));
        }
        sequence.types.assign(length, 0);
    }
    return c;
}

bool hasStories() {
    return !test::realData().isEmpty() && QFile::exists(test::realData() + "/models/stories260K/stories260K.gguf");
}

PruneRequest requestOf(const QString& strategy, const QString& budget, const QString& protect = "none") {
    return {parseStrategyRequest(strategy.toStdString()), parseBudget(budget.toStdString()), protect.toStdString(), 0, {}};
}

/// The mean loss under a mask. Every sequence runs alone, from the embedding up.
double fullLoss(const Model& model, const PruningMask& mask, std::span<const TokenSequence> sequences,
                std::span<const int> labels) {
    const auto plan = model.runner().plan(mask, ComputeType::float32);
    const SequenceLosses losses(model, sequences, labels);
    const PaddedBatches batches = paddedBatches(sequences, 1);
    std::vector<WindowLoss> found;
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const auto own = losses.of(*plan, x, batches.batches[batch], batches.sequences[batch], {});
        found.insert(found.end(), own.begin(), own.end());
    };
    forEachLayer(model.runner(), *plan, batches.batches, walk);
    return meanLoss(found);
}

QString told(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

/// A path with everything that it refers to.
struct OpenSearch {
    PruneRequest request;
    PruneInputs inputs;
    PruneContext context;
    std::unique_ptr<PrunePath> path;

    OpenSearch(const TextCase& c, const QString& strategy, const QString& protect = "none")
        : request(requestOf(strategy, "0%", protect))
        , inputs(c.inputs())
        , context(contextOf(*c.model, request, inputs)) {
        context.checksBudget = false;
        path = request.strategy.info->begin(context, {});
    }
};

/// Stops work at its 1st, 8th, 15th, ... report until it ends. @returns how often it was stopped
int stopped(const std::function<void(const Progress&)>& work) {
    for (int stops = 0;; ++stops) {
        std::stop_source stop;
        int reports = 0;
        const Progress progress(
            [&](double fraction, std::string_view text) {
                if (!(fraction >= -1e-9 && fraction <= 1 + 1e-9) || text.empty())
                    qFatal("a report without text or with a fraction of %g", fraction);
                if (++reports == 1 + 7 * stops)
                    stop.request_stop();
            },
            stop.get_token());
        try {
            work(progress);
            return stops;
        } catch (const Cancelled&) {
            continue;
        }
    }
}

/// The largest difference of two lists of numbers; infinite if their lengths differ.
double apart(const std::vector<double>& found, const std::vector<double>& expected) {
    double worst = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        worst = std::max(worst, std::abs(found[i] - expected[i]));
    return worst;
}

} // namespace

class TestSearchStrategies : public QObject {
    Q_OBJECT

private:
    /// Compares the order of the cuts of each layer with the reference, and of all cuts where it is one order.
    static void compareOrder(const PruneResult& result, const QJsonArray& removed) {
        QStringList found;
        QStringList expected;
        for (const OrderedCut& cut : result.order)
            found << QString("%1 %2.%3").arg(QString::fromUtf8(name(cut.unit).data())).arg(cut.layer).arg(cut.index);
        for (const auto& value : removed) {
            const QJsonArray cut = value.toArray();
            if (cut[0] != "bypass_qk")
                expected << QString("%1 %2.%3").arg(cut[0].toString()).arg(cut[1].toInt()).arg(cut[2].toInt());
        }
        // The reference lists neurons layer by layer.
        const auto layerOf = [](const QString& cut) { return cut.section(' ', 1).section('.', 0, 0).toInt(); };
        if (!result.order.empty() && result.order.front().unit == CutUnit::neuron) {
            const auto isNeuron = [](const QString& cut) { return cut.startsWith("neuron"); };
            for (QStringList* const list : {&found, &expected}) {
                const auto end = std::stable_partition(list->begin(), list->end(), isNeuron);
                std::stable_sort(list->begin(), end,
                                 [&](const QString& a, const QString& b) { return layerOf(a) < layerOf(b); });
            }
        }
        QCOMPARE(found, expected);
    }

    static double compareHistory(const PruneResult& result, const QJsonObject& expected) {
        std::vector<double> losses;
        for (const auto& step : expected["steps"].toArray())
            losses.push_back(step.toObject()["loss"].toDouble());
        std::vector<double> found;
        if (result.history)
            for (const HistoricCut& cut : result.history->cuts)
                found.push_back(cut.value);
        double worst = apart(found, losses);
        for (const char* before : {"dense_loss", "loss_after_neurons"})
            if (expected.contains(before) && result.history)
                worst = std::max(worst, std::abs(result.history->before - expected[before].toDouble()));
        return worst;
    }

    static double compareCurves(const PruneResult& result, const QJsonArray& curves) {
        double worst = static_cast<qsizetype>(result.alphaCurves.size()) == curves.size()
                           ? 0
                           : std::numeric_limits<double>::infinity();
        for (qsizetype i = 0; i < curves.size(); ++i) {
            const QJsonObject expected = curves[i].toObject();
            const AlphaCurve& found = result.alphaCurves[static_cast<std::size_t>(i)];
            std::vector<double> losses;
            for (const auto& loss : expected["loss"].toArray())
                losses.push_back(loss.toDouble());
            if (found.layer != expected["layer"].toInt() || found.alpha != expected["alpha"].toDouble())
                return std::numeric_limits<double>::infinity();
            worst = std::max(worst, apart(found.losses, losses));
        }
        return worst;
    }

private slots:
    void masksAreThoseOfTheReference_data() {
        QTest::addColumn<int>("place");
        const QJsonArray cases = searched()["cases"].toArray();
        for (qsizetype i = 0; i < cases.size(); ++i) {
            const QJsonObject c = cases[i].toObject();
            QTest::addRow("%s %s %s", qPrintable(c["model"].toString()), qPrintable(c["strategy"].toString()),
                          qPrintable(c["budget"].toString()))
                << static_cast<int>(i);
        }
    }
    void masksAreThoseOfTheReference() {
        QFETCH(int, place);
        const QJsonObject all = searched();
        const QJsonObject expected = all["cases"].toArray()[place].toObject();
        const QJsonObject model = all["models"].toObject()[expected["model"].toString()].toObject();
        const TextCase c{opened(expected["model"].toString()), sequencesOf(model["sequences"].toArray()),
                         sequencesOf(model["held_out"].toArray())};
        const PruneResult result = prune(*c.model,
                                         requestOf(expected["strategy"].toString(), expected["budget"].toString(),
                                                   expected["protect"].toString("none")),
                                         c.inputs(), {});
        QCOMPARE(cutsOf(result.mask), cutsOf(expected["mask"].toArray()));
        compareOrder(result, expected["removed"].toArray());
        // 2SSP measures on the longest sequence, the reference on the first one.
        const bool isFirstLongest = std::ranges::all_of(
            c.sequences, [&](const TokenSequence& one) { return one.ids.size() <= c.sequences.front().ids.size(); });
        const bool isSame = isFirstLongest || !expected["strategy"].toString().startsWith("two_stage");
        const double steps = isSame ? compareHistory(result, expected) : 0;
        const double curves = compareCurves(result, expected["curves"].toArray());
        const QString own = expected.contains("loss_flap_bias") ? "loss_flap_bias" : "loss";
        const double loss = std::abs(fullLoss(*c.model, result.mask, c.sequences, {}) - expected[own].toDouble());
        qInfo("nats apart: steps %.1e, curves %.1e, loss %.1e", steps, curves, loss);
        QVERIFY(steps < nearly && curves < nearly && loss < nearly);
    }

    // --- loss_greedy -------------------------------------------------------------------------------------------------

    void greedyIsALoopOfFullEvaluations_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("units");
        QTest::addColumn<int>("steps");
        for (const char* folder : {"llama-gqa", "gpt2", "gemma2", "phi", "bert", "albert", "deci"})
            QTest::addRow("%s mixed", folder) << folder << "heads/attention/mlps/blocks" << (folder == std::string("albert") ? 2 : 3);
        QTest::newRow("qwen3 heads") << "qwen3" << "heads" << 6;
        QTest::newRow("gemma3 sublayers") << "gemma3" << "mlps/attention" << 5;
        QTest::newRow("stories260K heads") << "stories260K" << "heads" << 3;
        QTest::newRow("stories260K sublayers") << "stories260K" << "attention/mlps" << 4;
    }
    void greedyIsALoopOfFullEvaluations() {
        QFETCH(QString, folder);
        QFETCH(QString, units);
        QFETCH(int, steps);
        const bool isStory = folder == "stories260K";
        if (isStory && !hasStories())
            QSKIP("stories260K is not there");
        TextCase c;
        if (folder == "deci")
            c = {opened(folder), sequencesOf(QJsonArray{QJsonArray{3, 1, 4, 1, 5, 9, 2, 6}, QJsonArray{5, 3, 5, 8}}), {}};
        else
            c = isStory ? storyCase(3, 48) : caseOf(folder);
        c.batchTokens = isStory ? 96 : 20; // several batches
        OpenSearch open(c, "loss_greedy:screen=false:units=" + units);
        const PruneResult result = open.path->after(static_cast<std::size_t>(steps), {});
        const ModelSpec& spec = c.model->spec();
        PruningMask mask(spec);
        double worst = std::abs(result.history->before - fullLoss(*c.model, mask, c.sequences, c.labels));
        int made = 0;
        for (; made < steps; ++made) {
            double lowest = std::numeric_limits<double>::infinity();
            PruningMask best = mask;
            for (int layer = 0; layer < spec.layerCount(); ++layer)
                for (const MetricInfo& metric : ablationMetrics())
                    for (const AblationPart& part : partsOf(spec, mask, layer, 0, {&metric, {}})) {
                        const CutUnit unit = *metric.ranks;
                        const QString of = unit == CutUnit::head        ? "heads"
                                           : unit == CutUnit::attention ? "attention"
                                                                        : QString::fromUtf8(name(unit).data()) + "s";
                        if (!units.split('/').contains(of))
                            continue;
                        PruningMask without = mask;
                        without.setLayer(layer, part.without);
                        const double loss = fullLoss(*c.model, without, c.sequences, c.labels);
                        if (std::round(loss * 1e6) < std::round(lowest * 1e6)) {
                            lowest = loss;
                            best = without;
                        }
                    }
            if (std::isinf(lowest))
                break; // no unit is left: a dropped block takes its units along
            mask = best;
            QVERIFY(made < std::ssize(result.history->cuts));
            worst = std::max(worst, std::abs(result.history->cuts[static_cast<std::size_t>(made)].value - lowest));
        }
        qInfo("%s: %.1e nats apart", qPrintable(folder), worst);
        QCOMPARE(cutsOf(result.mask), cutsOf(mask));
        QVERIFY(worst < nearly);
        QCOMPARE(result.history->steps, made);
        QVERIFY(result.warnings.empty());
    }

    void onlyLossesInDoubtAreMeasured() {
        constexpr std::size_t count = 20;
        std::vector<PredictedRise> predicted;
        for (std::size_t i = 0; i < count; ++i)
            predicted.push_back({0.01 * static_cast<double>(i), 0.01});
        const std::vector<double> none(count, std::numeric_limits<double>::quiet_NaN());
        std::vector<std::size_t> lowest(12);
        std::iota(lowest.begin(), lowest.end(), std::size_t{0});
        QVERIFY(doubtfulRises(predicted, none) == lowest);

        const auto after = [&](double error) {
            std::vector<double> measured = none;
            for (const std::size_t i : lowest)
                measured[i] = predicted[i].rise + error;
            return doubtfulRises(predicted, measured);
        };
        QVERIFY(after(0.01).empty());
        // Two standard errors are 0.1 * sqrt(pi / 2) = 0.125.
        QVERIFY((after(0.05) == std::vector<std::size_t>{12, 13, 14, 15, 16, 17}));
        predicted[19].rise = -std::numeric_limits<double>::infinity(); // unknown
        QVERIFY(after(0.01) == std::vector<std::size_t>{19});
        QVERIFY(doubtfulRises(predicted, none).back() == 19);
    }

    void risesAreRemembered() {
        RiseMemory memory;
        const std::vector<AblationPart> parts{{0, 0, 0, {}}, {0, 1, 0, {}}, {0, 1, 1, {}}};
        QVERIFY(memory.isEmpty());
        QVERIFY(std::isinf(memory.predictions(parts)[0].rise));
        memory.remember(parts, std::vector{0.1, -0.2, 0.4});
        memory.addCut({0, 1, 2, {}});
        memory.addCut({0, 2, 0, {}});
        memory.remember(parts, std::vector{std::numeric_limits<double>::quiet_NaN(), 0.3,
                                           std::numeric_limits<double>::quiet_NaN()});
        memory.addCut({0, 3, 0, {}});
        const std::vector<PredictedRise> predicted = memory.predictions(parts);
        QCOMPARE(predicted[0].rise, 0.1);
        QCOMPARE(predicted[1].rise, 0.3);
        QCOMPARE(predicted[0].doubt, (0.1 + 0.3) * std::sqrt(3.0));
        QCOMPARE(predicted[1].doubt, 0.3 + 0.3);
        QCOMPARE(predicted[2].doubt, (0.4 + 0.3) * std::sqrt(6.0)); // one step in its own layer
    }

    void screeningFindsTheSameUnits() {
        if (!hasStories())
            QSKIP("stories260K is not there");
        TextCase c = storyCase(0, 0);
        SequenceRequest request;
        request.path = (test::realData() + "/text/tinystories/tinystories_slice.txt").toStdString();
        request.rules.length = 64;
        request.rules.mostTokens = 1024;
        c.sequences = readSequenceText(*c.model, request).set.sequences;
        const PruneResult exact = prune(*c.model, requestOf("loss_greedy:screen=false", "6"), c.inputs(), {});
        const PruneResult screened = prune(*c.model, requestOf("loss_greedy", "6"), c.inputs(), {});
        const double worse = screened.history->cuts.back().value - exact.history->cuts.back().value;
        qInfo("exact %s, screened %s (%.1e nats worse): %s", qPrintable(cutsOf(exact.mask)),
              qPrintable(cutsOf(screened.mask)), worse, screened.warnings.empty() ? "" : screened.warnings[0].c_str());
        QCOMPARE(screened.warnings.size(), std::size_t{1});
        QVERIFY(screened.warnings.front().starts_with("screened: "));
        QVERIFY(worse < 0.005);
        QCOMPARE(cutsOf(screened.mask), cutsOf(exact.mask));
        const double full = fullLoss(*c.model, screened.mask, c.sequences, {});
        QVERIFY(std::abs(full - screened.history->cuts.back().value) < nearly);
    }

    void budgetsOfAPathAreNested() {
        const TextCase c = caseOf("llama-gqa");
        OpenSearch open(c, "loss_greedy:units=heads/mlps");
        for (const char* budget : {"3", "6", "1", "50%", "0", "layers:30%"}) {
            const Savings savings(c.model->card(), PruningMask(c.model->spec()), 1024);
            const PruneResult shared = spend(*open.path, parseBudget(budget), savings, {});
            const PruneResult alone =
                prune(*c.model, requestOf("loss_greedy:units=heads/mlps", budget), c.inputs(), {});
            QCOMPARE(cutsOf(shared.mask), cutsOf(alone.mask));
            QVERIFY(shared.order == alone.order && shared.history == alone.history);
        }
    }

    void protectedUnitsStay() {
        const TextCase c = caseOf("gemma3");
        const QString strategy = "loss_greedy:units=heads/blocks/mlps";
        // Of the layer in the middle two heads and the MLP can be cut. A protected head keeps its block.
        const PruneResult result = prune(*c.model, requestOf(strategy, "3", "0,2,1.0"), c.inputs(), {});
        std::set<std::pair<CutUnit, int>> cut;
        for (const OrderedCut& one : result.order) {
            QCOMPARE(one.layer, 1);
            cut.insert({one.unit, one.index});
        }
        QVERIFY((cut == std::set<std::pair<CutUnit, int>>{{CutUnit::head, 1}, {CutUnit::head, 2}, {CutUnit::mlp, 0}}));
        const QString more = told([&] { prune(*c.model, requestOf(strategy, "4", "0,2,1.0"), c.inputs(), {}); });
        QVERIFY2(more.contains("at most 3 can"), qPrintable(more));
    }

    void everyUnitCanBeCut() {
        const TextCase c = caseOf("llama-mha");
        const PruneResult result = prune(*c.model, requestOf("loss_greedy:units=heads/mlps", "100%"), c.inputs(), {});
        QCOMPARE(result.order.size(), std::size_t{8});
        for (int layer = 0; layer < c.model->spec().layerCount(); ++layer)
            QVERIFY(result.mask.layer(layer).keptHeads() == 0 && dropsMlp(result.mask.layer(layer)));
        // Dropping a block takes its heads along, so that there are fewer steps than units.
        OpenSearch open(c, "loss_greedy:units=heads/blocks");
        const PruneResult all = open.path->after(open.path->steps(), {});
        QVERIFY(all.order.size() <= open.path->steps());
        const std::size_t blocks = static_cast<std::size_t>(std::ranges::count(all.order, CutUnit::block, &OrderedCut::unit));
        QCOMPARE(blocks, c.model->spec().layers.size());
        const Budget more{static_cast<double>(open.path->steps()), false};
        const QString message = told([&] { open.path->spend(more, {}); });
        QVERIFY2(message == "accepted" ? all.order.size() == open.path->steps()
                                       : message.contains(QString("at most %1 can").arg(all.order.size())),
                 qPrintable(message));
    }

    void historiesOfAllUnitsAreKeptInTheMask() {
        const TextCase c = caseOf("gpt2");
        const PruneRequest request = requestOf("loss_greedy:units=heads/attention/mlps", "4");
        const PruneResult result = prune(*c.model, request, c.inputs(), {});
        MaskRecord record;
        record.mask = result.mask;
        record.provenance = provenanceOf(request, {}, result);
        const MaskRecord back = parseMask(maskJson(record), "it", c.model->spec(), {}).record;
        QVERIFY(back == record);
        QVERIFY(back.provenance->history->cuts == result.history->cuts);
        PruneHistory words = *result.history;
        words.cuts = {{1, {0, 2}, 0, 2}, {2, {1, 0}, 0, 3, CutUnit::mlp}, {3, {0, 1}, 0, 4}};
        words.before = 1;
        words.steps = 3;
        QVERIFY2(sentence(words).starts_with("2 heads, 1 MLP in 3 steps: loss "), sentence(words).c_str());
    }

    // --- harp --------------------------------------------------------------------------------------------------------

    void alphasAreThoseOfAPlainSearch_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("options");
        QTest::addColumn<QString>("budget");
        for (const char* folder : {"gemma3", "gpt2", "phi", "bert", "albert", "qwen3"})
            QTest::addRow("%s top", folder) << folder << "" << (QString(folder) == "albert" ? "1" : "2");
        QTest::newRow("middle") << "gemma3-gguf" << ":position=middle" << "50%";
        QTest::newRow("bottom") << "gemma3-gguf" << ":position=bottom" << "4";
        QTest::newRow("metric") << "gemma3-gguf" << ":position=by_metric:metric=gate_norm" << "3";
        QTest::newRow("stories260K") << "stories260K" << "" << "4";
    }
    void alphasAreThoseOfAPlainSearch() {
        QFETCH(QString, folder);
        QFETCH(QString, options);
        QFETCH(QString, budget);
        if (folder == "stories260K" && !hasStories())
            QSKIP("stories260K is not there");
        const TextCase c = folder == "stories260K" ? storyCase(8, 40) : caseOf(folder);
        const SplitText split = withLastQuarterHeldOut(*c.inputs().text);
        for (const std::int64_t streamBytes : {std::int64_t{1} << 30, std::int64_t{5000}, std::int64_t{0}}) {
            PruneInputs inputs = c.inputs();
            inputs.text->streamBytes = streamBytes;
            inputs.text->batchTokens = 20;
            const PruneResult result = prune(*c.model, requestOf("harp" + options, budget), inputs, {});
            PruningMask mask(c.model->spec());
            double worst = 0;
            for (const AlphaCurve& curve : result.alphaCurves) {
                std::vector<double> losses;
                double lowest = std::numeric_limits<double>::infinity();
                double best = 0;
                for (int step = 0; step <= 10; ++step) {
                    PruningMask tried = mask;
                    bypassAttention(tried, curve.layer, step / 10.0);
                    losses.push_back(fullLoss(*c.model, tried, split.heldOut.sequences, split.heldOut.labels));
                    if (std::round(losses.back() * 1e6) < std::round(lowest * 1e6)) {
                        lowest = losses.back();
                        best = step / 10.0;
                    }
                }
                worst = std::max(worst, apart(curve.losses, losses));
                QCOMPARE(curve.alpha, best);
                bypassAttention(mask, curve.layer, best);
            }
            QCOMPARE(cutsOf(result.mask), cutsOf(mask));
            if (streamBytes == 0)
                qInfo("%s: %zu layers, %.1e nats apart", qPrintable(folder), result.alphaCurves.size(), worst);
            QVERIFY(worst < nearly);
            QVERIFY(std::ranges::is_sorted(result.alphaCurves, std::greater(), &AlphaCurve::layer));
        }
    }

    void theSearchRunsOnlyTheLayersAbove() {
        auto counting = std::make_shared<test::CountingModel>(opened("gemma3-gguf"));
        TextCase c{counting, sequencesOf(QJsonArray{QJsonArray{3, 1, 4, 1, 5, 9}, QJsonArray{2, 6, 5, 3, 5}}), {}};
        c.batchTokens = 1;
        PruneInputs inputs = c.inputs();
        const PruneResult result = prune(*counting, requestOf("harp", "3"), inputs, {});
        QCOMPARE(result.alphaCurves.size(), std::size_t{3});
        // The stream goes up to the last layer once. The layers above the searched one run for each alpha.
        QCOMPARE(std::ssize(counting->counted.layers), std::ptrdiff_t{5 + 11 * (0 + 1 + 2)});
        QCOMPARE(counting->counted.scored, 3 * 11);
    }

    void furtherLayersReuseTheSearch() {
        const TextCase c = caseOf("gemma3");
        OpenSearch open(c, "harp");
        const PruneResult two = open.path->spend({2, false}, {});
        const PruneResult three = open.path->spend({3, false}, {});
        QVERIFY(std::equal(two.alphaCurves.begin(), two.alphaCurves.end(), three.alphaCurves.begin()));
        const PruneResult one = open.path->spend({1, false}, {});
        QCOMPARE(one.alphaCurves.size(), std::size_t{1});
        QVERIFY(one.alphaCurves.front() == three.alphaCurves.front());
        QCOMPARE(cutsOf(three.mask), cutsOf(prune(*c.model, requestOf("harp", "3"), c.inputs(), {}).mask));
        for (const char* budget : {"kv:60%", "params:3%"}) {
            const Savings savings(c.model->card(), PruningMask(c.model->spec()), 1024);
            const PruneResult saved = spend(*open.path, parseBudget(budget), savings, {});
            QVERIFY(savings.percentage(saved.mask, parseBudget(budget).of) >= parseBudget(budget).amount);
            const std::size_t layers = saved.alphaCurves.size();
            const PruneResult fewer = open.path->after(layers - 1, {});
            QVERIFY(savings.percentage(fewer.mask, parseBudget(budget).of) < parseBudget(budget).amount);
        }
    }

    void aQuarterOfTheTextIsHeldOut() {
        const auto heldOut = [](const std::vector<std::size_t>& lengths) {
            std::vector<TokenSequence> sequences;
            std::size_t all = 0;
            for (const std::size_t length : lengths) {
                sequences.push_back({std::vector<int>(length, 1), {}, sequences.size()});
                all += length;
            }
            CalibrationText text;
            text.sequences = sequences;
            const SplitText split = withLastQuarterHeldOut(text);
            std::size_t held = 0;
            std::size_t fitted = 0;
            for (const TokenSequence& sequence : split.heldOut.sequences)
                held += sequence.ids.size();
            for (const TokenSequence& sequence : split.fitted.sequences)
                fitted += sequence.ids.size();
            return fitted + held == all ? held : 0;
        };
        QCOMPARE(heldOut({600}), std::size_t{150});
        QCOMPARE(heldOut({452, 148}), std::size_t{150});
        QCOMPARE(heldOut({512, 8}), std::size_t{130});
        QCOMPARE(heldOut({449, 149}), std::size_t{149}); // a piece of one token predicts nothing
        QCOMPARE(heldOut({100, 100, 100, 100}), std::size_t{100});
        QCOMPARE(heldOut({60, 10, 30, 20}), std::size_t{50});
        QVERIFY(told([&] { heldOut({3}); }).contains("too short to hold out"));
    }

    void fixedAlphasNeedNoText() {
        const TextCase c = caseOf("gemma2");
        const PruneResult fixed = prune(*c.model, requestOf("harp:alpha=fixed:value=0.4", "2"), {}, {});
        QCOMPARE(cutsOf(fixed.mask), QString("L1: alpha 0.4; L2: alpha 0.4"));
        const PruneResult list = prune(*c.model, requestOf("harp:alpha=list:values=0.8/0.2/0", "3", "none"), {}, {});
        QCOMPARE(cutsOf(list.mask), QString("L0: no attention; L1: alpha 0.2; L2: alpha 0.8"));
        const QString short_ = told([&] { prune(*c.model, requestOf("harp:alpha=list:values=0.8", "3"), {}, {}); });
        QVERIFY2(short_.contains("3 layers cannot be bypassed: values names 1 alpha"), qPrintable(short_));
        const QString search = told([&] { prune(*c.model, requestOf("harp", "1"), {}, {}); });
        QVERIFY2(search.contains("needs a calibration text"), qPrintable(search));
    }

    void curvesAreKeptInTheMask() {
        const TextCase c = caseOf("gemma2");
        const PruneRequest request = requestOf("harp", "2");
        const PruneResult result = prune(*c.model, request, c.inputs(), {});
        MaskRecord record;
        record.mask = result.mask;
        record.provenance = provenanceOf(request, {}, result);
        QCOMPARE(record.provenance->alphaCurves.size(), std::size_t{2});
        QVERIFY(parseMask(maskJson(record), "it", c.model->spec(), {}).record == record);
    }

    void theLastQuarterIsHeldOut() {
        std::vector<TokenSequence> sequences(5);
        for (std::size_t i = 0; i < sequences.size(); ++i)
            sequences[i].ids.assign(i == 4 ? 4 : 8, static_cast<int>(i)); // 36 tokens
        const std::vector<int> labels{5, 6, 7, 8, 9};
        const SplitText two = withLastQuarterHeldOut({.sequences = sequences, .labels = labels});
        QCOMPARE(two.fitted.sequences.size(), std::size_t{3});
        QCOMPARE(two.heldOut.sequences.size(), std::size_t{2});
        QCOMPARE(two.heldOut.labels, (std::vector<int>{8, 9}));
        const SplitText one = withLastQuarterHeldOut({.sequences = std::span(sequences).first(1)});
        QCOMPARE(one.fitted.sequences.front().ids.size(), std::size_t{6});
        QCOMPARE(one.heldOut.sequences.front().ids.size(), std::size_t{2});
        QVERIFY(told([&] { withLastQuarterHeldOut({.sequences = std::span(sequences).last(1)}); }).contains("too short"));
    }

    // --- two_stage ---------------------------------------------------------------------------------------------------

    void countsAreThoseOfThePaper() {
        // A block of LLaMA-2-7B: r = 135,266,304 / 67,108,864 = 2.0156; K = round(32 s^1.3438).
        constexpr double attention = 4.0 * 4096 * 4096;
        constexpr double mlp = 3.0 * 4096 * 11008;
        const TwoStageSizes sizes{32 * (attention + mlp), attention, mlp, 32 * 3.0 * 4096, 32};
        QVERIFY((twoStageCounts(sizes, 0.25) == TwoStageCounts{5, 3264}));
        QVERIFY((twoStageCounts(sizes, 0.5) == TwoStageCounts{13, 6016}));
        QVERIFY((twoStageCounts(sizes, 0) == TwoStageCounts{0, 0}));
        QVERIFY((twoStageCounts(sizes, 1) == TwoStageCounts{32, 11008}));
    }

    void theFewestStepsSaveEnough_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("budget");
        for (const char* folder : {"llama-gqa", "gemma3-gguf"}) // one with layers of two kinds: with and without a window
            for (const char* budget : {"layers:20%", "layers:35%", "params:10%", "kv:40%", "flops:25%"})
                QTest::addRow("%s %s", folder, budget) << folder << budget;
    }
    void theFewestStepsSaveEnough() {
        QFETCH(QString, folder);
        QFETCH(QString, budget);
        const TextCase c{opened(folder), sequencesOf(QJsonArray{QJsonArray{3, 1, 4, 1, 5, 9}}), {}};
        OpenSearch open(c, "two_stage");
        const Savings savings(c.model->card(), PruningMask(c.model->spec()), 1024);
        const Budget wanted = parseBudget(budget.toStdString());
        const PruneResult result = spend(*open.path, wanted, savings, {});
        std::size_t step = 0;
        while (savings.percentage(open.path->after(step, {}).mask, wanted.of) < wanted.amount - 1e-9)
            ++step;
        QCOMPARE(cutsOf(result.mask), cutsOf(open.path->after(step, {}).mask));
        for (const std::size_t at : {std::size_t{0}, step, open.path->steps()}) {
            const auto bounds = open.path->savingsBounds(at);
            QVERIFY(bounds.has_value());
            const double saved = savings.percentage(open.path->after(at, {}).mask, wanted.of);
            QVERIFY(savings.percentage(bounds->least, wanted.of) <= saved + 1e-9);
            QVERIFY(savings.percentage(bounds->most, wanted.of) >= saved - 1e-9);
        }
    }

    // --- all ---------------------------------------------------------------------------------------------------------

    void anInterruptedSearchGoesOn() {
        for (const auto& [strategy, budget] : {std::pair("loss_greedy:units=heads/mlps", "4"), std::pair("harp", "2"),
                                               std::pair("two_stage", "40%")}) {
            TextCase c = caseOf("llama-gqa");
            c.batchTokens = 20;
            const PruneResult whole = prune(*c.model, requestOf(strategy, budget), c.inputs(), {});
            OpenSearch open(c, strategy);
            std::optional<PruneResult> found;
            const int stops = stopped([&](const Progress& progress) {
                found = open.path->spend(parseBudget(budget), progress);
            });
            const int fresh = stopped([&](const Progress& progress) {
                prune(*c.model, requestOf(strategy, budget), c.inputs(), progress);
            });
            qInfo("%s: stopped %d times, from the beginning %d times", strategy, stops, fresh);
            QVERIFY(stops > 0 && fresh > 0);
            QVERIFY(found->mask == whole.mask && found->history == whole.history &&
                    found->alphaCurves == whole.alphaCurves && found->order == whole.order);
        }
    }

    void whatCannotBeIsRefused_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("strategy");
        QTest::addColumn<QString>("budget");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* folder, const char* strategy, const char* budget, const char* message) {
            QTest::addRow("%s %s %s", folder, strategy, budget) << folder << strategy << budget << message;
        };
        row("llama-gqa", "loss_greedy:units=neurons", "1", "must be one or more of heads, attention, mlps, blocks");
        row("llama-gqa", "loss_greedy:units=heads/heads", "1", "must be one or more of");
        row("llama-gqa", "loss_greedy", "9", "9 of 8 heads cannot be cut: at most 8 can");
        row("llama-gqa", "loss_greedy", "1.5", "no whole number of units");
        row("bert-bare", "loss_greedy", "1", "is an encoder without a classifier and has no loss");
        row("bert-bare", "harp", "1", "is an encoder without a classifier and has no loss");
        row("llama-gqa", "harp", "3", "3 of 2 attention sublayers cannot be cut: at most 2 can");
        row("llama-gqa", "harp:position=side", "1", "must be one of top, middle, bottom, by_metric");
        row("llama-gqa", "harp:alpha=any", "1", "must be one of search, fixed, list");
        row("llama-gqa", "harp:alpha=fixed:value=3", "1", "value=3 must be a number from 0 to 2");
        row("llama-gqa", "harp:alpha=list", "1", "must be a number from 0 to 2");
        row("llama-gqa", "harp:alpha=list:values=1/x", "1", "values=x must be a number");
        row("llama-gqa", "harp:value=0.5", "1", "value has an effect only with alpha=fixed");
        row("llama-gqa", "harp:position=by_metric", "1", "needs metric=ID");
        row("llama-gqa", "harp:position=by_metric:metric=sink_head", "1", "must be a metric of layers");
        row("llama-gqa", "harp:mlp=random_head", "1", "must be none, or a strategy with the option components");
        row("llama-gqa", "harp:corpus=/none", "1", "was not read");
        row("llama-gqa", "two_stage", "3", "takes a share of the parameters");
        row("llama-gqa", "two_stage", "101%", "no share from 0 to 100");
        row("llama-gqa", "two_stage", "100%", "cannot be cut: at most");
        row("bert", "two_stage", "20%", "an encoder has none");
    }
    void whatCannotBeIsRefused() {
        QFETCH(QString, folder);
        QFETCH(QString, strategy);
        QFETCH(QString, budget);
        QFETCH(QString, message);
        const TextCase c = folder == "bert-bare"
                               ? TextCase{opened(folder), sequencesOf(QJsonArray{QJsonArray{3, 4, 5, 6, 7, 8, 9, 10}}), {}}
                               : caseOf(folder);
        const QString found = told([&] { prune(*c.model, requestOf(strategy, budget), c.inputs(), {}); });
        QVERIFY2(found.contains(message), qPrintable(found));
    }

    void costsAreKnownBefore() {
        const auto passes = [](const QString& folder, const QString& strategy, const QString& budget) {
            return calibrationPasses(opened(folder)->spec(), requestOf(strategy, budget));
        };
        QVERIFY(passes("gemma3", "loss_greedy", "3") > passes("gemma3", "loss_greedy", "2"));
        QVERIFY(passes("gemma3-gguf", "harp", "3") > passes("gemma3-gguf", "harp", "2"));
        QCOMPARE(passes("gemma3-gguf", "harp:alpha=fixed:value=0.5", "3"), 0.0);
        QVERIFY(passes("gemma3-gguf", "two_stage", "40%") > passes("gemma3-gguf", "two_stage", "20%"));
    }
};

SECATEUR_SUITE(TestSearchStrategies)
#include "tst_search_strategies.moc"
