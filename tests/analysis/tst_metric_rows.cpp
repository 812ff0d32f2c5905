// Each metric is defined by one row of a table. These tests add a metric with a single row, check that every row of the
// table can be measured, and that no source file outside the table compares metric ids.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/metrics/layer_sums.h"
#include "analysis/metrics/measure.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QDirIterator>
#include <QRegularExpression>

using namespace secateur;

namespace {

// --- An example of a new metric: the mean norm of a head's context vectors, accumulated from an activation (tap)

constexpr std::array contextTaps{Tap::context};
constexpr std::array contextOptions{OptionInfo{"exclude_first", "bool", "false", "leave out position 0"}};

/// Adds one batch to the sums: sums[0] is the number of tokens, sums[1 + head] the sum of the norms of the head's
/// context vectors.
void addNorms(const TappedBatch& batch, std::vector<double>& sums) {
    const at::Tensor norms = batch.values.to(at::kCPU, at::kDouble).norm(2, -1); // [rows, positions, heads]
    sums.resize(1 + static_cast<std::size_t>(norms.size(2)));
    for (std::size_t row = 0; row < batch.lengths.size(); ++row)
        for (int t = batch.request.flag("exclude_first") ? 1 : 0; t < batch.lengths[row]; ++t) {
            sums[0] += 1;
            for (std::int64_t head = 0; head < norms.size(2); ++head)
                sums[1 + static_cast<std::size_t>(head)] +=
                    norms[static_cast<std::int64_t>(row)][t][head].item<double>();
        }
}

std::vector<double> meanNorms(const ForwardLayer& layer) {
    std::vector<double> values;
    for (std::size_t head = 0; head < layer.kept.heads.size(); ++head)
        values.push_back(layer.own[1 + head] / layer.own[0]);
    return values;
}

const MetricInfo contextNorm{.id = "context_norm",
                             .title = "context norm",
                             .summary = "Mean norm of a head's context",
                             .formula = "mean_t ‖c_t⁽ʰ⁾‖₂",
                             .unit = "",
                             .source = "this test",
                             .scope = Scope::head,
                             .needs = Needs::forward,
                             .pruneFirst = PruneFirst::low,
                             .ranks = CutUnit::head,
                             .options = contextOptions,
                             .computation =
                                 ForwardMetric{.finish = meanNorms, .taps = contextTaps, .accumulate = addNorms}};

class ContextKeeper : public LayerObserver {
public:
    bool wants(int, Tap tap) const override { return tap == Tap::context; }
    void see(int, Tap, const at::Tensor& values) override { context = values.clone(); }
    at::Tensor context;
};

/// The expected values of this metric, computed sequence by sequence: [layers, heads].
at::Tensor directNorms(const test::GradientCase& c, int firstToken) {
    const ModelSpec& spec = c.model->spec();
    at::Tensor sums = at::zeros({spec.layerCount(), spec.maxHeads()}, at::kDouble);
    double tokens = 0;
    for (const TokenSequence& sequence : c.sequences) {
        const auto length = static_cast<int>(sequence.ids.size());
        const Batch batch{1, length, sequence.ids, {}, {}, {}};
        at::Tensor x = c.model->runner().embed(*c.plan, batch);
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            ContextKeeper keeper;
            x = c.model->runner().runLayer(*c.plan, layer, x, batch, nullptr, &keeper);
            sums[layer] +=
                keeper.context.to(at::kCPU, at::kDouble)[0].norm(2, -1).narrow(0, firstToken, length - firstToken).sum(0);
        }
        tokens += length - firstToken;
    }
    return sums / tokens;
}

std::vector<MetricResult> measured(const test::GradientCase& c, const std::vector<MetricRequest>& requests) {
    const auto readInput = [&](const Progress&) {
        MeasureInput input;
        input.plan = c.plan;
        input.text.set.sequences = c.sequences;
        input.text.labels = c.labels;
        input.text.data.source = "fixture";
        input.measurement.dataDigest = "sha256:feed";
        return input;
    };
    return measure(*c.model, requests, readInput, {});
}

/// Why a row of the metric table cannot be measured; empty if it can.
QString missingIn(const MetricInfo& row) {
    if (row.computation.index() != static_cast<std::size_t>(row.needs) + 1)
        return "its computation is not that of its needs";
    if (row.scope != Scope::layer && row.ranks != unitOfColumns(row.scope))
        return "it ranks another unit than that of its columns";
    if (const auto* weights = std::get_if<WeightMetric>(&row.computation))
        return weights->compute && weights->applies ? "" : "a function of its computation is missing";
    if (const auto* forward = std::get_if<ForwardMetric>(&row.computation)) {
        const bool hasSums = forward->reads != SharedSums::none || (forward->accumulate && !forward->taps.empty());
        return forward->attention || (forward->finish && hasSums) ? "" : "nothing gives it values";
    }
    if (const auto* gradient = std::get_if<GradientMetric>(&row.computation))
        return (gradient->sums && gradient->finish) || (gradient->work && gradient->passes) ? ""
                                                                                            : "nothing gives it values";
    const bool isUnit = row.ranks == CutUnit::head || row.ranks == CutUnit::attention || row.ranks == CutUnit::mlp ||
                        row.ranks == CutUnit::block;
    return isUnit && std::get<AblationMetric>(row.computation).ofAccuracy ? "" : "its unit cannot be ablated";
}

QStringList productSources() {
    QStringList files;
    for (const char* room : {"analysis", "backends", "widgets", "app"}) {
        QDirIterator all(QString(SECATEUR_SOURCE_DIR "/") + room, {"*.cpp", "*.h"}, QDir::Files,
                         QDirIterator::Subdirectories);
        while (all.hasNext())
            files.push_back(all.next());
    }
    return files;
}

} // namespace

class TestMetricRows : public QObject {
    Q_OBJECT

private slots:
    void aNewMetricIsOneRow_data() {
        QTest::addColumn<QString>("request");
        QTest::addColumn<int>("firstToken");
        QTest::newRow("all tokens") << "context_norm" << 0;
        QTest::newRow("without the first") << "context_norm:exclude_first=true" << 1;
    }
    void aNewMetricIsOneRow() {
        QFETCH(QString, request);
        QFETCH(int, firstToken);
        std::vector<const MetricInfo*> table(allMetrics().begin(), allMetrics().end());
        table.push_back(&contextNorm);
        QCOMPARE(findMetric("context_norm", table), &contextNorm);
        QVERIFY(!findMetric("context_norm"));
        QVERIFY(markdownTable(table).find("| `context_norm` | context norm | head | low | forward | "
                                          "`exclude_first=false` |\n") != std::string::npos);

        const test::GradientCase c("llama-gqa");
        const auto found = measured(c, parseMetricRequests(request.toStdString() + ",amp_head,gate_norm", table));
        QCOMPARE(found.size(), std::size_t{3});
        QCOMPARE(QString::fromStdString(found[0].request.resultId()), request);
        QCOMPARE(found[0].measurement.dataDigest, std::string("sha256:feed"));
        const at::Tensor expected = directNorms(c, firstToken);
        const Matrix& values = found[0].values;
        QCOMPARE(values.rows(), static_cast<std::size_t>(expected.size(0)));
        for (std::size_t layer = 0; layer < values.rows(); ++layer)
            for (std::size_t head = 0; head < values.columns(); ++head) {
                const double wanted =
                    expected[static_cast<std::int64_t>(layer)][static_cast<std::int64_t>(head)].item<double>();
                QVERIFY(std::abs(values(layer, head) - wanted) < 1e-5 * wanted);
            }
    }

    void everyRowCanBeMeasured_data() {
        QTest::addColumn<QString>("id");
        for (const MetricInfo* row : allMetrics())
            QTest::newRow(std::string(row->id).c_str()) << QString::fromUtf8(row->id.data(), std::ssize(row->id));
    }
    void everyRowCanBeMeasured() {
        QFETCH(QString, id);
        const MetricInfo& row = *findMetric(id.toStdString());
        QCOMPARE(missingIn(row), QString());
        const test::GradientCase c("llama-gqa");
        const auto found = measured(c, parseMetricRequests(id.toStdString()));
        QCOMPARE(found.size(), std::size_t{1});
        QVERIFY(found[0].isWhole);
        QCOMPARE(found[0].data.has_value(), row.needs != Needs::weights);
        QCOMPARE(found[0].measurement.dataDigest, std::string(row.needs == Needs::weights ? "" : "sha256:feed"));
        for (std::size_t layer = 0; layer < found[0].values.rows(); ++layer)
            for (std::size_t cell = 0; cell < cellsInLayer(row.scope, c.model->spec().layers[layer]); ++cell)
                QVERIFY2(std::isfinite(found[0].values(layer, cell)) || !found[0].warnings.empty(),
                         qPrintable(QString("%1 has no value at %2.%3").arg(id).arg(layer).arg(cell)));
    }

    void unknownMetricsAreRefused() {
        const test::GradientCase c("llama-gqa");
        MetricInfo foreign = contextNorm; // a metric without a computation, as read from a session of another version
        foreign.computation = {};
        QVERIFY_EXCEPTION_THROWN(measured(c, {{&foreign, {}}}), Error);
    }

    /// Searches the product's sources for comparisons with a metric's id or a prefix of it, as in `id == "gnorm"` or
    /// `starts_with("sink")`.
    void nobodyComparesIds() {
        QStringList ids;
        for (const MetricInfo* row : allMetrics()) {
            const QString id = QString::fromUtf8(row->id.data(), std::ssize(row->id));
            ids.push_back(id);
        }
        const QString literal = "\"(" + ids.join("|") + "|sink|gate_norm|gnorm|ablation)_?\"";
        const QRegularExpression comparison("((==|!=)\\s*" + literal + ")|(" + literal +
                                            "\\s*(==|!=))|([iI]d(\\(\\))?\\.(starts_with|ends_with|contains|find)\\(" +
                                            literal + ")");
        QVERIFY(comparison.match("request.info->id == \"gnorm\"").hasMatch());
        QVERIFY(comparison.match("info->id.starts_with(\"sink\")").hasMatch());
        for (const QString& path : productSources()) {
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            const auto found = comparison.match(text);
            QVERIFY2(!found.hasMatch(), qPrintable(path + ": " + found.captured()));
        }
    }
};

SECATEUR_SUITE(TestMetricRows)
#include "tst_metric_rows.moc"
