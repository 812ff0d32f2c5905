// Gradient metrics against gradients that PyTorch's autograd computed for the same model in transformers.
#ifndef Q_MOC_RUN
#include "analysis/metrics/gate_gradients.h"
#include "analysis/base/usage_error.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

using namespace secateur;
using test::apart;
using test::GradientCase;

namespace {

constexpr double tolerance = 1e-4; ///< relative to the largest expected value of the metric in the model

void addModels() {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<bool>("plain");
    for (const QString& folder : test::judgedGradients().keys())
        for (const bool plain : {false, true})
            QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
}

GradientCase fetched() {
    QFETCH(QString, folder);
    QFETCH(bool, plain);
    return GradientCase(folder, plain);
}

QString firstPart(const MetricResult& result) {
    return QString::fromStdString(std::string(result.request.info->id));
}

} // namespace

class TestGradientMetrics : public QObject {
    Q_OBJECT

private:
    /// Measures all metrics in one run, prints the largest error of each and returns the largest of all. Metrics whose
    /// id starts with an item of `leaveOut` are not measured.
    static double worstOf(const GradientCase& c, const QJsonObject& expected, QStringList leaveOut = {}) {
        QStringList ids = expected.keys();
        for (const QString& out : leaveOut)
            ids.removeIf([&](const QString& id) { return id.startsWith(out); });
        std::map<QString, double> worst;
        for (const MetricResult& result : c.measure(ids.join(',').toStdString())) {
            const QString id = QString::fromStdString(result.request.resultId());
            double& error = worst[firstPart(result)];
            error = std::max(error, apart(result.values, expected[id].toArray()));
        }
        double all = 0;
        QStringList line;
        for (const auto& [id, error] : worst) {
            line << QString("%1 %2").arg(id).arg(error, 0, 'e', 1);
            all = std::max(all, error);
        }
        qInfo("%s: %s", qPrintable(c.folder), qPrintable(line.join(", ")));
        return all;
    }

private slots:
    void valuesAreTheJudges_data() { addModels(); }
    void valuesAreTheJudges() {
        const GradientCase c = fetched();
        QVERIFY(worstOf(c, c.metrics, {"head_fisher"}) < tolerance);
    }

    void underAMaskTheyAreThoseOfClosedGates_data() { addModels(); }
    void underAMaskTheyAreThoseOfClosedGates() {
        GradientCase c = fetched();
        c.plan = c.model->runner().plan(c.cutMask(), ComputeType::float32);
        QVERIFY(worstOf(c, c.masked) < tolerance);
    }

    /// Compares random-sign estimates of the Fisher information with its exact value, which needs one backward pass for
    /// each target.
    void fisherInformationIsOfSingleTargets_data() { addModels(); }
    void fisherInformationIsOfSingleTargets() {
        const GradientCase c = fetched();
        const Gates gates(c.model->spec(), c.plan->mask(), {true, false, false, false});
        const PaddedBatches batches = paddedBatches(c.sequences, 4096);
        const GradientScalars scalars(*c.model, c.sequences, c.labels);
        const bool isDecoder = c.model->spec().family == Family::decoder;
        const auto oneByOne = [&](std::size_t batch) {
            std::vector<BackwardScalar> all;
            const BackwardScalar whole = scalars.scalar({}, batches.batches[batch], batches.sequences[batch]);
            for (int i = 0; i < (isDecoder ? batches.batches[batch].positions - 1 : 1); ++i) {
                all.push_back(whole);
                for (std::size_t at = 0; isDecoder && at < whole.weights.size(); ++at)
                    all.back().weights[at] =
                        static_cast<int>(at) % batches.batches[batch].positions == i && whole.weights[at] > 0;
            }
            return all;
        };
        std::vector<double> squares(gates.all().size());
        gateGradients(*c.model, *c.plan, batches.batches, gates, oneByOne,
                      [&](std::size_t, std::size_t, const Matrix& gradients) {
                          for (std::size_t row = 0; row < gradients.rows(); ++row)
                              for (std::size_t gate = 0; gate < squares.size(); ++gate)
                                  squares[gate] += gradients(row, gate) * gradients(row, gate);
                      },
                      {});
        double targets = 0;
        for (std::size_t i = 0; i < c.sequences.size(); ++i)
            targets += scalars.targets(i);
        Matrix exact(c.model->spec().layers.size(), columnsFor(Scope::head, c.model->spec()));
        for (int layer = 0; layer < c.model->spec().layerCount(); ++layer)
            for (std::size_t gate = 0; gate < squares.size(); ++gate)
                if (gates.all()[gate].layer == c.plan->mask().tiedTo(layer).front())
                    exact(static_cast<std::size_t>(layer), static_cast<std::size_t>(gates.all()[gate].head)) =
                        squares[gate] / targets;
        const double error = apart(exact, c.metrics["head_fisher"].toArray());
        const double drawn = apart(c.one("head_fisher:passes=300").values, c.metrics["head_fisher"].toArray());
        qInfo("%s: head_fisher %.1e, from 300 drawings %.1e", qPrintable(c.folder), error, drawn);
        QVERIFY(error < tolerance);
        QVERIFY(drawn < (isDecoder ? 0.25 : tolerance));
    }

    void requestsThatMakeNoSenseAreRefused_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("request");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("scalarisation") << "bert"
                                       << "gnorm:scalarisation=loss"
                                       << "scalarisation=loss must be one of auto, task_loss, logit_norm";
        QTest::newRow("pooled") << "llama-mha"
                                << "gnorm:scalarisation=pooled_norm"
                                << "a decoder has no pooled output";
        QTest::newRow("labels") << "bert"
                                << "gnorm:scalarisation=task_loss"
                                << "needs the label of every text";
        QTest::newRow("classifier") << "bert-bare"
                                    << "gnorm:scalarisation=logit_norm"
                                    << "needs a classifier";
        QTest::newRow("abs") << "bert"
                             << "head_mask_gradient:abs=head"
                             << "abs=head must be one of sample, token, batch";
        QTest::newRow("both") << "bert"
                              << "head_mask_gradient:abs=token:tis_abs=true"
                              << "excludes abs";
        QTest::newRow("passes") << "bert"
                                << "head_fisher:passes=0"
                                << "passes=0 should be 1 or more";
        QTest::newRow("batch") << "bert"
                               << "gnorm:code_compat_batch=-1"
                               << "code_compat_batch=-1 should be 0 or more";
    }
    void requestsThatMakeNoSenseAreRefused() {
        QFETCH(QString, folder);
        QFETCH(QString, request);
        QFETCH(QString, sentence);
        const auto model =
            openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {}, {});
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const std::vector<TokenSequence> sequences{{{5, 6, 7}, {0, 0, 0}}};
        try {
            measureGradient(*model, {*plan, sequences}, parseMetricRequests(request.toStdString()), {});
            QFAIL("was accepted");
        } catch (const UsageError& error) {
            QVERIFY2(QString(error.what()).contains(sentence), error.what());
        }
    }

    void withoutLabelsANormStandsIn() {
        for (const char* folder : {"bert", "bert-bare"}) {
            const auto model = openModel(
                test::data().filePath(QString("forward/%1/model.safetensors").arg(folder)).toStdString(), {}, {});
            const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
            const std::vector<TokenSequence> sequences{{{5, 6, 7}, {0, 0, 0}}};
            const bool isBare = QString(folder) == "bert-bare";
            const auto results = measureGradient(
                *model, {*plan, sequences},
                parseMetricRequests(isBare ? "head_mask_gradient,head_mask_gradient:scalarisation=pooled_norm"
                                           : "head_mask_gradient,head_mask_gradient:scalarisation=logit_norm"),
                {});
            QCOMPARE(results[0].warnings.size(), std::size_t{1});
            QVERIFY(results[0].warnings[0].find(isBare ? "the pooled output" : "the logits") != std::string::npos);
            QVERIFY(results[1].warnings.empty());
            QCOMPARE(apart(results[0].values, results[1].values), 0.0);
        }
    }
};

SECATEUR_SUITE(TestGradientMetrics)
#include "tst_gradient_metrics.moc"
