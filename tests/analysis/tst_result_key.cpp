#include "analysis/gallery/figure_table.h"
#include "analysis/session/result_key.h"
#include "tests/support/suite.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

MetricResult sinks(const char* source, const char* mask, std::initializer_list<double> values) {
    MetricResult result;
    result.request = parseMetricRequests("sink_layer").front();
    result.values = Matrix(values.size(), 1);
    std::ranges::copy(values, result.values.values().begin());
    result.measurement.maskDigest = mask;
    result.measurement.dataDigest = source;
    result.data = MeasuredData{source, 1, 1024, 1024, 512, "document", "tokenizer_default"};
    return result;
}

/// A session with results on two texts, one of them also under a mask, and a reference result on a third text.
Session session() {
    Session session;
    session.model.name = "model";
    session.model.spec.layers.resize(3);
    add(session, sinks("built-in", "dense", {1, 2, missing}));
    add(session, sinks("/texts/wiki.txt", "dense", {0.5, 4, 1}));
    add(session, sinks("/texts/wiki.txt", "sha256:0123456789", {0, 1, 2}));
    auto reference = std::make_shared<Session>();
    reference->model.name = "other";
    add(*reference, sinks("/texts/c4.jsonl", "dense", {1, 1, 1}));
    session.reference = std::move(reference);
    return session;
}

std::string keyOf(const Session& session, std::size_t place) {
    return measurementKey(session.results[place].measurement);
}

std::vector<double> values(const std::optional<MetricResult>& result) {
    return {result->values.values().begin(), result->values.values().end()};
}

} // namespace

class TestResultKey : public QObject {
    Q_OBJECT

private slots:
    void keysReadAsTheyAreWritten_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("resultId");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("subtracted"); // key of the result that is subtracted; "-" if there is none
        QTest::newRow("latest") << "sink_head:key=-1"
                                << "sink_head:key=-1"
                                << ""
                                << "-";
        QTest::newRow("one") << "sink_head@0badcafe"
                             << "sink_head"
                             << "0badcafe"
                             << "-";
        QTest::newRow("difference") << "sink_head@0badcafe-reference"
                                    << "sink_head"
                                    << "0badcafe"
                                    << "reference";
        QTest::newRow("of the latest") << "sink_head@-0badcafe"
                                       << "sink_head"
                                       << ""
                                       << "0badcafe";
    }
    void keysReadAsTheyAreWritten() {
        QFETCH(QString, text);
        QFETCH(QString, resultId);
        QFETCH(QString, key);
        QFETCH(QString, subtracted);
        const ResultKey read = parseResultKey(text.toStdString());
        QCOMPARE(QString::fromStdString(read.resultId), resultId);
        QCOMPARE(QString::fromStdString(read.key), key);
        QCOMPARE(QString::fromStdString(read.subtracted.value_or("-")), subtracted);
        QCOMPARE(QString::fromStdString(read.text()), text);
    }

    void keyIsOfHowItWasMeasured() {
        Measurement measurement;
        const std::string key = measurementKey(measurement);
        QCOMPARE(key.size(), 8U);
        measurement.created = "later";
        measurement.fingerprint = "another model";
        QCOMPARE(measurementKey(measurement), key);
        measurement.dtype = "bfloat16";
        QVERIFY(measurementKey(measurement) != key);
    }

    void findsWhatIsMeant() {
        const Session all = session();
        QCOMPARE(findResult(all, parseResultKey("sink_layer")), &all.results[2]);
        QCOMPARE(findResult(all, {"sink_layer", keyOf(all, 0), {}}), &all.results[0]);
        QCOMPARE(findResult(all, parseResultKey("sink_layer@reference")), &all.reference->results[0]);
        QVERIFY(!findResult(all, parseResultKey("sink_layer@00000000")));
        QVERIFY(!findResult(all, parseResultKey("sink_head")));
        QVERIFY(!findResult(Session(), parseResultKey("sink_layer@reference")));
    }

    void differencesAreOfEachCell() {
        const Session all = session();
        const auto made = resolveResult(all, {"sink_layer", keyOf(all, 1), keyOf(all, 0)});
        QVERIFY(made);
        QCOMPARE(values(made)[0], -0.5);
        QCOMPARE(values(made)[1], 2.0);
        QVERIFY(std::isnan(values(made)[2]));
        QCOMPARE(made->label, "wiki.txt, dense model − built-in text");
        const auto toReference = resolveResult(all, parseResultKey("sink_layer@-reference"));
        QCOMPARE(values(toReference), (std::vector<double>{-1, 0, 1}));
        QCOMPARE(toReference->label, "wiki.txt, mask 01234567 − other");
    }

    void errorsOfADifferenceAddInSquares() {
        Session all = session();
        for (std::size_t i = 0; i < 2; ++i)
            all.results[i].standardError = all.results[i].values;
        const auto made = resolveResult(all, {"sink_layer", keyOf(all, 1), keyOf(all, 0)});
        QCOMPARE(made->errorAt(0, 0), std::hypot(0.5, 1.0));
        QCOMPARE(made->errorAt(1, 0), std::hypot(4.0, 2.0));
    }

    void otherShapesHaveNoDifference() {
        Session all = session();
        auto reference = std::make_shared<Session>(*all.reference);
        reference->results[0].values = Matrix(4, 1);
        all.reference = reference;
        QVERIFY(!resolveResult(all, parseResultKey("sink_layer@-reference")));
        QVERIFY(resolveResult(all, parseResultKey("sink_layer@reference")));
    }

    void measurementsAreToldApartByWhatDiffers() {
        Session all = session();
        QCOMPARE(distinction(all, all.results[0]), "built-in text");
        QCOMPARE(distinction(all, all.results[1]), "wiki.txt, dense model");
        all.results.pop_back();
        QCOMPARE(distinction(all, all.results[0]), "built-in text");
        all.results.pop_back();
        QCOMPARE(distinction(all, all.results[0]), "");
        QCOMPARE(measuredOn(all, all.results[0]), "built-in text, 1,024 tokens · dense model");
        MetricResult unlike = all.results[0];
        unlike.measurement.dataDigest = "without BOS";
        unlike.data->bos = "never";
        add(all, unlike);
        QCOMPARE(distinction(all, unlike), "BOS never");
        all.masks.push_back({"mild", "sha256:0123456789", {}});
        QCOMPARE(measuredOn(all, sinks("/a.txt", "sha256:0123456789", {1})), "a.txt, 1,024 tokens · mild");
    }

    void figuresUnderstandKeys() {
        const Session all = session();
        const std::string a = keyOf(all, 1);
        const std::string b = keyOf(all, 0);
        const Figure figure =
            makeFigure(all, "layers:metrics=sink_layer@" + a + "/sink_layer@" + b + "/sink_layer@" + a + "-" + b);
        QCOMPARE(figure.series.size(), 3U);
        QCOMPARE(figure.series[0].values[1], 4.0);
        QCOMPARE(figure.series[1].values[1], 2.0);
        QCOMPARE(figure.series[2].values[1], 2.0);
        QCOMPARE(figure.series[1].label, "sink score per layer, built-in text");
    }

    void lengthsAreLines() {
        Session all;
        all.model.spec.layers.resize(3);
        MetricResult result = sinks("built-in", "dense", {1, 2, 3});
        result.lengths = {64, 128};
        result.overLengths = {Matrix(3, 1), result.values};
        add(all, result);
        const Figure figure = makeFigure(all, "layers:metrics=sink_layer");
        QCOMPARE(figure.series.size(), 2U);
        QCOMPARE(figure.series[0].label, "sink score per layer, 64 tokens");
        QCOMPARE(figure.series[1].values[2], 3.0);
    }
};

SECATEUR_SUITE(TestResultKey)
#include "tst_result_key.moc"
