// Compares ablation metrics (the increase of the loss when one unit is cut) with values computed by transformers, and
// with full evaluations of the model with that unit cut.
#ifndef Q_MOC_RUN
#include "analysis/metrics/ablation.h"
#include "analysis/metrics/ablation_walk.h"
#include "analysis/running/runner.h"
#include "analysis/metrics/screened_ablation.h"
#include "analysis/base/statistics.h"
#include "analysis/base/usage_error.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <ATen/ATen.h>

#include <random>

using namespace secateur;
using test::apart;
using test::GradientCase;

namespace {

constexpr const char* all = "ablation_head,ablation_attention,ablation_mlp,ablation_block";

QJsonObject judgedAblation() {
    QFile file(test::data().filePath("ablation.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no ablation.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

/// Converts a JSON list with one item per layer into rows for natsApart(). An item that is an array is one row; a
/// single number or null is a row of one cell. null stands for NaN.
QJsonArray rowsOf(const QJsonArray& values) {
    QJsonArray rows;
    for (const auto& value : values)
        rows.append(value.isArray() ? value : QJsonValue(QJsonArray{value}));
    return rows;
}

/// The largest difference of two cells in nats; infinite if a cell has a value in only one of the two tables.
double natsApart(const Matrix& found, const QJsonArray& rows) {
    double worst = 0;
    for (std::size_t row = 0; row < found.rows(); ++row)
        for (std::size_t column = 0; column < found.columns(); ++column) {
            const QJsonValue wanted = rows[static_cast<qsizetype>(row)].toArray()[static_cast<qsizetype>(column)];
            if (std::isnan(found(row, column)) != wanted.isNull())
                return std::numeric_limits<double>::infinity();
            if (!wanted.isNull())
                worst = std::max(worst, std::abs(found(row, column) - wanted.toDouble()));
        }
    return worst;
}

/// Whether two lists of results are equal bit by bit, where any NaN equals any other NaN.
bool areSame(const std::vector<MetricResult>& one, const std::vector<MetricResult>& other) {
    const auto same = [](const Matrix& a, const Matrix& b) {
        return std::ranges::equal(a.values(), b.values(), [](double x, double y) {
            return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) ||
                   (std::isnan(x) && std::isnan(y));
        });
    };
    return std::ranges::equal(one, other, [&](const MetricResult& a, const MetricResult& b) {
        return same(a.values, b.values) && same(a.features.front().values, b.features.front().values);
    });
}

/// A Progress that accepts `reports` reports and throws Cancelled at the next one.
Progress stoppingAfter(int reports) {
    return Progress([left = std::make_shared<int>(reports)](double, std::string_view) {
        if ((*left)-- <= 0)
            throw Cancelled();
    });
}

std::vector<TokenSequence> drawnSequences(const ModelSpec& spec, const std::vector<int>& lengths) {
    std::mt19937 random(7);
    std::vector<TokenSequence> sequences;
    for (const int length : lengths) {
        TokenSequence& sequence = sequences.emplace_back();
        for (int i = 0; i < length; ++i)
            sequence.ids.push_back(3 + static_cast<int>(random() % static_cast<unsigned>(spec.vocab - 3)));
        sequence.types.assign(sequence.ids.size(), 0);
    }
    return sequences;
}

std::vector<MetricResult> measured(const Model& model, const AblationRun& run, const std::string& requests,
                                   const Progress& progress = {}) {
    return measureAblation(model, run, parseMetricRequests(requests), progress);
}

/// The losses of the sequences. Each sequence is a batch of its own and runs through all layers.
std::vector<WindowLoss> fullLosses(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                                   std::span<const int> labels) {
    const SequenceLosses losses(model, sequences, labels);
    const PaddedBatches batches = paddedBatches(sequences, 1);
    std::vector<WindowLoss> whole(sequences.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const auto found = losses.of(plan, x, batches.batches[batch], batches.sequences[batch], {});
        whole[found.front().index] = found.front();
    };
    forEachLayer(model.runner(), plan, batches.batches, walk);
    return whole;
}

} // namespace

class TestAblation : public QObject {
    Q_OBJECT

private:
    /// Measures all ablation metrics, prints the largest error of each and returns the largest of all, in nats per
    /// token.
    static double worstOf(const GradientCase& c, const QJsonObject& expected) {
        double worst = 0;
        QStringList line;
        for (const MetricResult& result : measured(*c.model, {*c.plan, c.sequences, c.labels}, all)) {
            const QString id = QString::fromStdString(result.request.resultId());
            const double error = natsApart(result.values, rowsOf(expected[id].toArray()));
            line << QString("%1 %2").arg(id).arg(error, 0, 'e', 1);
            worst = std::max(worst, error);
        }
        qInfo("%s: nats apart at most: %s", qPrintable(c.folder), qPrintable(line.join(", ")));
        return worst;
    }

private slots:
    void valuesAreTheJudges_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("plain");
        for (const QString& folder : judgedAblation().keys())
            for (const bool plain : {false, true})
                QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
    }
    void valuesAreTheJudges() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        GradientCase c(folder, plain);
        const QJsonObject own = judgedAblation()[folder].toObject();
        QVERIFY(worstOf(c, own["metrics"].toObject()) < 3e-6);
        c.plan = c.model->runner().plan(c.cutMask(), ComputeType::float32);
        QVERIFY(worstOf(c, own["masked"].toObject()) < 3e-6);
    }

    void valuesAreThoseOfFullEvaluations_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<qint64>("budget");
        for (const char* folder : {"llama-gqa", "gpt2", "gemma2", "gemma3", "phi", "qwen2-window", "qwen3", "deci",
                                   "llama-linear", "bert", "roberta", "albert"})
            for (const qint64 budget : {0, 1})
                QTest::addRow("%s%s", folder, budget ? " from file" : "") << folder << budget;
    }
    void valuesAreThoseOfFullEvaluations() {
        QFETCH(QString, folder);
        QFETCH(qint64, budget);
        const auto model = openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(),
                                     {}, {.memoryBudget = budget});
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        QCOMPARE(plan->isResident(), budget == 0);
        const auto sequences = drawnSequences(model->spec(), {11, 6, 9, 2, 7});
        const bool isEncoder = model->spec().family == Family::encoder;
        const std::vector<int> labels = isEncoder ? std::vector{0, 1, 1, 0, 1} : std::vector<int>();
        AblationRun run{*plan, sequences, labels, 40};
        // Small, so that a model that is read from the file layer by layer needs several walks through its layers.
        run.waitingBytes = 5000;
        const auto results = measured(*model, run, all);
        const auto whole = fullLosses(*model, *plan, sequences, labels);
        double worst = 0;
        int count = 0;
        for (std::size_t request = 0; request < results.size(); ++request)
            for (int layer = 0; layer < model->spec().layerCount(); ++layer)
                for (const AblationPart& part :
                     partsOf(model->spec(), plan->mask(), layer, request, results[request].request)) {
                    PruningMask mask(model->spec());
                    mask.setLayer(layer, part.without);
                    const auto own = model->runner().plan(mask, ComputeType::float32);
                    const double rise = riseOf(fullLosses(*model, *own, sequences, labels), whole).value;
                    for (const int tied : mask.tiedTo(layer))
                        worst = std::max(worst, std::abs(rise - results[request].values(static_cast<std::size_t>(tied),
                                                                                        part.column)));
                    ++count;
                }
        qInfo("%s: %d parts, %.1e nats per token apart at most", qPrintable(folder), count, worst);
        QVERIFY(count > 3);
        QVERIFY(worst < 3e-6);
    }

    void batchesDoNotMatter() {
        const GradientCase c("gemma3");
        const auto one = measured(*c.model, {*c.plan, c.sequences, {}, 1}, all);
        const auto other = measured(*c.model, {*c.plan, c.sequences, {}, 4096}, all);
        for (std::size_t i = 0; i < one.size(); ++i)
            QVERIFY(apart(one[i].values, other[i].values) < 1e-5);
    }

    void screeningFindsTheLowest_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"deci", "gemma2", "qwen2-window"})
            QTest::addRow("%s", folder) << folder;
    }
    void screeningFindsTheLowest() {
        QFETCH(QString, folder);
        const auto model =
            openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {}, {});
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const auto sequences = drawnSequences(model->spec(), {24, 17, 31, 22});
        AblationRun run{*plan, sequences};
        const Matrix exact = measured(*model, run, "ablation_head").front().values;
        const auto screened = measured(*model, run, "ablation_head:screen=3:exact=100").front();
        QVERIFY(screened.isWhole && screened.standardError);
        QCOMPARE(screened.warnings.size(), std::size_t{1});
        int known = 0;
        for (std::size_t i = 0; i < exact.values().size(); ++i) {
            const double error = screened.standardError->values()[i];
            QCOMPARE(std::isnan(exact.values()[i]), std::isnan(screened.values.values()[i]));
            known += error == 0;
            if (error == 0)
                QVERIFY(std::abs(exact.values()[i] - screened.values.values()[i]) < 3e-6);
        }
        qInfo("%s: %d of %zu exact", qPrintable(folder), known, exact.values().size());
        const auto lowFirst = ranks(screened.values.values(), true);
        for (std::size_t i = 0; i < lowFirst.size(); ++i)
            QVERIFY(lowFirst[i] == 0 || lowFirst[i] > 3 || screened.standardError->values()[i] == 0 ||
                    !reachesCutOff(screened.values.values(), screened.standardError->values(), 3)[i]);

        // Cancel the run again and again, a little later each time, and continue it from what is known. The result has
        // the same bits as that of an uninterrupted run.
        run.memory.known = {};
        std::vector<MetricResult> part;
        for (int most = 3; most < 10'000; most += 12)
            try {
                run.memory.known = part;
                auto found = measured(*model, run, "ablation_head:screen=3:exact=100", stoppingAfter(most));
                part = std::move(found);
                if (part.front().isWhole)
                    break;
            } catch (const Cancelled&) {
            }
        QVERIFY(!part.empty() && part.front().isWhole);
        QVERIFY(areSame(part, {screened}));
    }

    void screeningSpendsNoMoreThanItMay() {
        const auto model = openModel(test::data().filePath("forward/gemma2/model.safetensors").toStdString(), {}, {});
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const auto sequences = drawnSequences(model->spec(), {24, 17, 31, 22});
        const AblationRun run{*plan, sequences};
        const auto exactOf = [&](const std::string& id) {
            const MetricResult result = measured(*model, run, id).front();
            const auto errors = result.standardError->values();
            return std::pair(std::ranges::count(errors, 0.0), result.warnings.front());
        };
        const auto [few, doubt] = exactOf("ablation_head:screen=3:exact=1");
        const auto [all, sure] = exactOf("ablation_head:screen=3:exact=100");
        QVERIFY2(few <= all, qPrintable(QString("%1 %2").arg(few).arg(all)));
        QVERIFY2(few == all || doubt.find("in doubt") != std::string::npos, doubt.c_str());
        QVERIFY2(sure.find("in doubt") == std::string::npos, sure.c_str());
    }

    void cutOffsAreReachedByWhatIsInDoubt() {
        const std::vector<double> values{1, 2, 3, 4, 5, std::numeric_limits<double>::quiet_NaN()};
        const std::vector<double> errors{1, 0.1, 0.3, 0, 1.2, 0};
        QCOMPARE(reachesCutOff(values, errors, 2), (std::vector<bool>{true, false, true, false, false, false}));
        QCOMPARE(reachesCutOff(values, errors, 5), std::vector<bool>(6));
        QCOMPARE(reachesCutOff(values, errors, 0), std::vector<bool>(6));
    }

    void goingOnGivesTheLastBit_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "gemma3", "bert", "albert"})
            QTest::addRow("%s", folder) << folder;
    }
    void goingOnGivesTheLastBit() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        AblationRun run{*c.plan, c.sequences, c.labels, 64};
        const auto whole = measured(*c.model, run, all);
        QVERIFY(std::ranges::all_of(whole, &MetricResult::isWhole));
        std::vector<MetricResult> known;
        int stops = 0;
        for (int most = 1; most < 10'000; most += 9) {
            run.memory.known = known;
            try {
                auto found = measured(*c.model, run, all, stoppingAfter(most));
                known = std::move(found);
            } catch (const Cancelled&) {
                ++stops;
                continue; // cancelled before the first partial result
            }
            if (std::ranges::all_of(known, &MetricResult::isWhole))
                break;
            QVERIFY(!known.front().warnings.empty());
            ++stops;
        }
        qInfo("%s: stopped %d times", qPrintable(folder), stops);
        QVERIFY(stops > 0);
        QVERIFY(areSame(known, whole));
        // A metric that is measured alone has the same values as among all four.
        run.memory = {};
        QVERIFY(areSame(measured(*c.model, run, "ablation_mlp"), {whole[2]}));
    }

    void whatIsKnownIsNotMeasuredAgain() {
        const GradientCase c("llama-gqa");
        AblationRun run{*c.plan, c.sequences};
        const auto whole = measured(*c.model, run, all);
        run.memory.known = whole;
        QCOMPARE(ablationPasses(*c.model, run, parseMetricRequests(all)).parts, std::int64_t{0});
        QVERIFY(areSame(measured(*c.model, run, all, stoppingAfter(0)), whole));
        run.memory = {};
        const auto parts = ablationPasses(*c.model, run, parseMetricRequests("ablation_head")).parts;
        QCOMPARE(parts, std::int64_t{8});
    }

    void layersAreToldAsTheyAreDone() {
        const GradientCase c("llama-gqa");
        std::vector<std::pair<std::size_t, int>> told;
        const auto results = measureAblation(*c.model, {*c.plan, c.sequences}, parseMetricRequests(all), {},
                                             [&](const LayerCells& cells) {
                                                 QVERIFY(std::isfinite(cells.values[0]));
                                                 told.emplace_back(cells.request, cells.layer);
                                             });
        QCOMPARE(told.size(), results.size() * c.model->spec().layers.size());
        QVERIFY(std::ranges::is_sorted(told, {}, &std::pair<std::size_t, int>::second));
        for (const MetricResult& result : results) {
            QVERIFY(result.isWhole);
            QCOMPARE(result.data->tokens, std::int64_t{40});
        }
    }

    void triesOfEachPartGoOnToo() {
        const GradientCase c("llama-gqa");
        const auto requests = parseMetricRequests("ablation_head:of=accuracy");
        QCOMPARE(std::string(requests.front().info->unit), std::string());
        int tries = 0;
        const AblationTrial trial = [&](const PruningMask& mask, const Progress& progress) {
            progress.report(0, "");
            ++tries;
            for (int layer = 0; layer < mask.layerCount(); ++layer)
                for (std::size_t head = 0; head < mask.layer(layer).heads.size(); ++head)
                    if (!mask.layer(layer).heads[head])
                        return AblationEffect{layer + 0.1 * static_cast<double>(head), 1};
            return AblationEffect{};
        };
        const auto some = ablateEach(c.model->spec(), c.plan->mask(), requests, trial, {}, stoppingAfter(5));
        QVERIFY(!some.front().isWhole);
        QCOMPARE(tries, 5);
        QCOMPARE(partsToTry(c.model->spec(), c.plan->mask(), requests, some), std::int64_t{3});
        const auto whole = ablateEach(c.model->spec(), c.plan->mask(), requests, trial, {some, {}}, {});
        QCOMPARE(tries, 8);
        QVERIFY(whole.front().isWhole);
        QCOMPARE(whole.front().values(1, 3), 1.3);
    }

    void whatHasNoLossIsRefused_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("request");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("bare") << "bert-bare"
                              << "ablation_head"
                              << "without a classifier";
        QTest::newRow("labels") << "bert"
                                << "ablation_head"
                                << "needs the label of every text";
        QTest::newRow("accuracy") << "llama-mha"
                                  << "ablation_mlp:of=accuracy"
                                  << "the verb ablate";
        QTest::newRow("of") << "llama-mha"
                            << "ablation_mlp:of=loss"
                            << "";
        QTest::newRow("option") << "llama-mha"
                                << "ablation_mlp:of=f1"
                                << "of=f1 must be one of loss, accuracy";
    }
    void whatHasNoLossIsRefused() {
        QFETCH(QString, folder);
        QFETCH(QString, request);
        QFETCH(QString, sentence);
        const auto model =
            openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {}, {});
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const std::vector<TokenSequence> sequences{{{5, 6, 7}, {0, 0, 0}}};
        try {
            measured(*model, {*plan, sequences}, request.toStdString());
            QVERIFY2(sentence.isEmpty(), "was accepted");
        } catch (const UsageError& error) {
            QVERIFY2(!sentence.isEmpty() && QString(error.what()).contains(sentence), error.what());
        }
    }
};

SECATEUR_SUITE(TestAblation)
#include "tst_ablation.moc"
