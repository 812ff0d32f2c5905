// Each strategy is defined by one row of a table. These tests add a strategy with a single row, run all rows, and check
// that no other source file mentions a strategy's id.
#ifndef Q_MOC_RUN
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/measure.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/ranking_path.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QDirIterator>
#include <QRegularExpression>
#include <QtTest>

#include <array>
#include <charconv>
#include <type_traits>

using namespace secateur;
using test::GradientCase;

// StrategyInfo::begin is a reference, so a row of the strategy table without it does not compile.
static_assert(std::is_reference_v<decltype(StrategyInfo::begin)>);

namespace {

constexpr const char* tableFile = "analysis/strategies/strategy.cpp";
constexpr const char* presetFile = "analysis/campaigns/presets.cpp";
constexpr const char* recipeFile = "analysis/training/training_settings.cpp";

// --- An example of a new strategy: it cuts heads in order of their index, beginning with the layer given by `from`.

constexpr OptionInfo firstLayer{"from", "integer", "0", "first layer in which to cut"};
constexpr std::array inOrderOptions{firstLayer};

std::unique_ptr<PrunePath> beginInOrder(const PruneContext& context, const Progress& /*progress*/) {
    const std::string text = context.request.strategy.option("from");
    int from = 0;
    std::from_chars(text.data(), text.data() + text.size(), from);
    const ModelSpec& spec = context.model.spec();
    Matrix order(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()));
    double place = 0;
    for (std::size_t layer = 0; layer < order.rows(); ++layer)
        for (double& value : order.row(layer))
            value = static_cast<int>(layer) < from ? std::nan("") : ++place;
    return std::make_unique<RankingPath>(context, std::move(order));
}

constexpr std::array extended{StrategyInfo{.id = "in_order",
                                           .summary = "Heads in their order",
                                           .removes = "heads",
                                           .budget = "heads; per cent of all in the model",
                                           .source = "a test",
                                           .begin = beginInOrder,
                                           .end = CutEnd::lowest,
                                           .options = inOrderOptions,
                                           .unit = CutUnit::head}};

// --- End of the example.

std::vector<HeadId> cutHeads(const PruningMask& mask) {
    std::vector<HeadId> heads;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        for (std::size_t head = 0; head < mask.layer(layer).heads.size(); ++head)
            if (!mask.layer(layer).heads[head])
                heads.push_back({layer, static_cast<int>(head)});
    return heads;
}

PruneRequest requestOf(const std::string& strategy, double units, std::span<const StrategyInfo> table) {
    return {parseStrategyRequest(strategy, table), {units, false}, "none", 5, {}};
}

/// Whether a strategy ranks units of one kind, so that a budget of 1 cuts one of them.
bool ranksUnits(const StrategyInfo& info) {
    return info.unit || info.needsMetricOption || !info.metric.empty();
}

/// Lines that match `pattern` in the product's sources, except in three files: that of the strategy table, that of the
/// table of presets, whose rows name strategies as a user does, and that of the table of training recipes, which are
/// named after papers, not after strategies.
QStringList linesWith(const QRegularExpression& pattern) {
    const QDir root(SECATEUR_SOURCE_DIR);
    QStringList found;
    for (const char* room : {"analysis", "backends", "widgets", "app"}) {
        QDirIterator sources(root.filePath(room), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
        while (sources.hasNext()) {
            QFile file(sources.next());
            const QString path = root.relativeFilePath(file.fileName());
            // The figures and recipes of papers name the strategies that the papers compare, and papers have their names.
            if (path.startsWith("analysis/gallery/"))
                continue;
            if (path == tableFile || path == presetFile || path == recipeFile || !file.open(QIODevice::ReadOnly))
                continue;
            for (const QString& line : QString::fromUtf8(file.readAll()).split('\n'))
                if (line.contains(pattern))
                    found << path + ": " + line.trimmed();
        }
    }
    return found;
}

} // namespace

class TestStrategyRows : public QObject {
    Q_OBJECT

private slots:
    void masksOfStrategiesThatMeasureOnATextAreCalibrated() {
        for (const char* id : {"amp", "wanda_sp", "flap", "loss_greedy", "gnorm_greedy", "attention_importance",
                               "by_metric:metric=amp_head"})
            QVERIFY2(isCalibrated(parseStrategyRequest(id)), id);
        for (const char* id : {"gate_norm", "mag_sp", "random_head", "amp:order=random", "bottom_up"})
            QVERIFY2(!isCalibrated(parseStrategyRequest(id)), id);
    }

    void aStrategyIsAddedByARow() {
        const GradientCase c("llama-gqa");
        PruneRequest request = requestOf("in_order:from=1", 3, extended);
        QCOMPARE(request.strategy.resultId(), std::string("in_order:from=1"));
        const PruneResult result = prune(*c.model, request, {}, {});
        QCOMPARE(cutHeads(result.mask), (std::vector<HeadId>{{1, 0}, {1, 1}, {1, 2}}));
        request.protect = "1.1";
        const PruneResult spared = prune(*c.model, request, {}, {});
        QCOMPARE(cutHeads(spared.mask), (std::vector<HeadId>{{1, 0}, {1, 2}, {1, 3}}));
        QCOMPARE(provenanceOf(request, {}, spared).strategy, std::string("in_order"));
        QVERIFY(strategyTable(extended).find("| `in_order` | Heads in their order | heads |") != std::string::npos);
        QVERIFY(!findStrategy("in_order"));
    }

    void everyStrategyRuns_data() {
        QTest::addColumn<QString>("strategy");
        for (const StrategyInfo& strategy : allStrategies())
            QTest::newRow(std::string(strategy.id).c_str())
                << QString::fromStdString(std::string(strategy.id)) +
                       (strategy.needsMetricOption ? ":metric=gate_norm_head" : "");
    }
    void everyStrategyRuns() {
        QFETCH(QString, strategy);
        const GradientCase c("gemma3"); // with three layers, because some strategies keep the outer ones
        const ModelSpec& spec = c.model->spec();
        PruneRequest request = requestOf(strategy.toStdString(), 1, allStrategies());
        const StrategyInfo& info = *request.strategy.info;
        if (!ranksUnits(info))
            request.budget = {40, true}; // some of them take shares only
        PruneInputs inputs;
        inputs.measure = [&](const MetricRequest& metric, const Progress& progress) {
            const auto readInput = [&](const Progress&) {
                MeasureInput input;
                input.plan = c.model->runner().plan(PruningMask(spec), ComputeType::float32);
                input.text.set.sequences = c.sequences;
                return input;
            };
            return measure(*c.model, std::array{metric}, readInput, progress).front();
        };
        if (info.readsText)
            inputs.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
        const PruneResult result = prune(*c.model, request, inputs, {});
        QVERIFY(!result.mask.keepsAll());
        if (ranksUnits(info))
            QCOMPARE(newlyCut(spec, request.strategy.unit(), PruningMask(spec), result.mask), std::size_t{1});
        QVERIFY(result.history.has_value() || !info.steps);
        QCOMPARE(calibrationPasses(spec, request) > 0, info.readsText);
        QCOMPARE(provenanceOf(request, {}, result).seed.has_value(), info.needsSeed);
        QCOMPARE(request.strategy.metric.has_value(), info.needsMetricOption || !info.metric.empty());
    }

    void everyStrategyDescribesItself() {
        std::set<std::string_view> ids;
        for (const StrategyInfo& strategy : allStrategies()) {
            QVERIFY(ids.insert(strategy.id).second);
            for (const std::string_view text : {strategy.summary, strategy.removes, strategy.budget, strategy.source})
                QVERIFY2(!text.empty(), std::string(strategy.id).c_str());
            // A strategy that ranks units by a metric states from which end of the ranking it cuts. The metric states
            // the unit.
            const bool ranks = strategy.needsMetricOption || !strategy.metric.empty();
            QVERIFY(!ranks || (strategy.end != CutEnd::none && !strategy.unit));
            QVERIFY(strategy.metric.empty() || findMetric(strategy.metric));
            QCOMPARE(strategy.passes != nullptr, strategy.readsText);
            QVERIFY(strategy.readsText || !strategy.steps);
        }
    }

    void eitherEndOfGnormIsCutInSteps() {
        const StrategyInfo* const lowest = stepwiseStrategy("gnorm", false);
        const StrategyInfo* const highest = stepwiseStrategy("gnorm", true);
        QVERIFY(lowest && highest && lowest != highest);
        QVERIFY(!parseStrategyRequest(lowest->id).highestFirst() && parseStrategyRequest(highest->id).highestFirst());
        QVERIFY(!stepwiseStrategy("gate_norm", false));
    }

    void noOtherFileKnowsTheirIds() {
        for (const StrategyInfo& strategy : allStrategies()) {
            const QString id = QString::fromStdString(std::string(strategy.id));
            // A strategy's id that is also the id of a metric, of a feature of one ("entropy") or the value of an
            // option ("by_metric", "search"), may appear in other files, but no other file may compare with it.
            const bool isOther = findMetric(strategy.id) || strategy.id == "entropy" || strategy.id == "by_metric" ||
                                 strategy.id == "search";
            const QString pattern = isOther ? QString("[!=]= *\"%1\"|\"%1\" *[!=]=") : QString("\"%1[:\"]");
            const QStringList lines = linesWith(QRegularExpression(pattern.arg(id)));
            for (const QString& line : lines)
                QVERIFY2(line.contains("///") || line.contains("verb->footer"), qPrintable(line));
        }
    }
};

SECATEUR_SUITE(TestStrategyRows)
#include "tst_strategy_rows.moc"
