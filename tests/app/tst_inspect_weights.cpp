// secateur-cli inspect --statistics and --compare, and the figures of weights: text, JSON, CSV, and what is refused.

#ifndef Q_MOC_RUN
#include "tests/support/command_line.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QDir>
#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace secateur::test;
using nlohmann::json;

namespace {

QString fixturePath(const QString& name) {
    return data().filePath(name);
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

json namedIn(const json& list, const std::string& name) {
    for (const json& item : list)
        if (item.at("name") == name)
            return item;
    return nullptr;
}

} // namespace

class TestInspectWeights : public QObject {
    Q_OBJECT

private slots:
    void statisticsOfAllTensors() {
        const Scratch scratch;
        const QString csv = scratch.path("numbers");
        const Outcome outcome = run({"inspect", fixturePath("weights/plain/model.safetensors"), "--statistics",
                                     "--json", "--csv", csv, "--progress", "none"});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const json document = outcome.json();
        const json expected = readJson(fixturePath("weights/types.json"));
        for (const char* name : {"F16.matrix", "BF16.cube", "special.mixed"}) {
            const json found = namedIn(document.at("tensors"), name).at("statistics");
            const json& wanted = expected.at(name).at("statistics");
            QVERIFY(std::abs(found.at("sd").get<double>() / wanted.at("sd").get<double>() - 1) < 1e-12);
            QCOMPARE(found.at("nan").get<int>(), wanted.at("nan").get<int>());
            QCOMPARE(found.at("histogram").at("counts"), wanted.at("counts"));
        }
        QVERIFY(namedIn(document.at("tensors"), "special.nan").at("statistics").at("mean").is_null());
        const json unreadable = namedIn(document.at("tensors"), "F8.unreadable");
        QVERIFY(unreadable.at("statistics").is_null());
        QCOMPARE(unreadable.at("note"), json("is stored as F8_E4M3, which is not supported"));
        const QList<QByteArray> lines = contentOf(csv + "/statistics.csv").split('\n');
        QCOMPARE(static_cast<std::size_t>(lines.size()), document.at("tensors").size() + 2); // a title; an empty end
        QVERIFY(contentOf(csv + "/histograms.csv").startsWith("tensor,lower,upper,count\r\n"));
    }

    void notesSayWhatIsUnusual() {
        const Outcome outcome = run({"inspect", fixturePath("weights/plain/model.safetensors"), "--statistics"});
        QCOMPARE(outcome.status, 0);
        for (const char* note : {"F8.unreadable is stored as F8_E4M3, which is not supported",
                                 "special.empty has no numbers", "special.mixed contains 4 NaN and 2 infinite numbers",
                                 "special.nan contains 24 NaN and 0 infinite numbers"})
            QVERIFY2(outcome.error.contains(note), qPrintable(outcome.error));
        QVERIFY(outcome.out.contains("beyond 6 sd"));
    }

    void twoFormatsAreCompared() {
        const Scratch scratch;
        const QString csv = scratch.path("numbers");
        const Outcome outcome = run({"inspect", fixturePath("gqa-f32"), "--compare",
                                     fixturePath("gqa-q4_0-gguf/model.gguf"), "--json", "--csv", csv});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const json document = outcome.json();
        const json wanted = readJson(fixturePath("weights/comparisons.json")).at("gqa-q4_0-gguf").at("1.query");
        const json pair = namedIn(document.at("pairs"), "model.layers.1.self_attn.q_proj.weight");
        QCOMPARE(pair.at("second"), json("blk.1.attn_q.weight"));
        const double ratio = pair.at("difference").at("snr_db").get<double>();
        QVERIFY(std::abs(ratio - wanted.at("snr_db").get<double>()) < 1e-9);
        QVERIFY(document.at("only_first").empty());
        QVERIFY(contentOf(csv + "/comparison.csv").startsWith("tensor,first_shape,second_shape,relative_error,snr_db"));
        // In the table, the largest error comes first and equal tensors are named.
        const Outcome text =
            run({"inspect", fixturePath("gqa-f32"), "--compare", fixturePath("gqa-q4_0-gguf/model.gguf")});
        QVERIFY(text.out.contains("SNR (dB)") && text.out.contains("equal"));
    }

    void prunedShapesAreNamed() {
        const Scratch scratch;
        const QString mask = scratch.path("cut.mask.json");
        const QString pruned = scratch.path("pruned");
        const QString byGroups = "by_metric:metric=gate_norm_group";
        QCOMPARE(
            run({"prune", fixturePath("gqa-f32"), "--strategy", byGroups, "--budget", "1", "--out", mask}).status, 0);
        const Outcome written =
            run({"export", fixturePath("gqa-f32"), "--mask", mask, "--as", "structural", "--out", pruned});
        QVERIFY2(written.status == 0, qPrintable(written.error));
        const Outcome outcome = run({"inspect", fixturePath("gqa-f32"), "--compare", pruned});
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.error.contains("pruned from 2 to 1 KV groups"), qPrintable(outcome.error));
    }

    void wrongRequestsAreRefused_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("message");
        const QString model = fixturePath("gqa-f32");
        const QStringList plot{"plot", model, "--out", "never-written.csv", "--figure"};
        QTest::newRow("csv alone") << QStringList{"inspect", model, "--csv", "x"} << 2
                                   << "--csv: is for the tables of --statistics and --compare";
        QTest::newRow("both") << QStringList{"inspect", model, "--statistics", "--compare", model} << 2 << "--compare";
        QTest::newRow("no model") << QStringList{"inspect", model, "--compare", "/nonexistent"} << 1 << "/nonexistent";
        QTest::newRow("head") << plot + QStringList{"circuit:layer=1:head=8"} << 2 << "layer 1 has heads 0 to 7";
        QTest::newRow("layer") << plot + QStringList{"circuit:layer=2"} << 2 << "the model has layers 0 to 1";
        QTest::newRow("kind") << plot + QStringList{"circuit:kind=kv"} << 2 << "must be both, qk or ov";
        QTest::newRow("tensor") << plot + QStringList{"tensor:name=none"} << 2 << "the checkpoint has no such tensor";
        QTest::newRow("plane") << plot + QStringList{"tensor:plane=scales"} << 1
                               << "is stored as F32, which has no scales";
        QTest::newRow("show") << plot + QStringList{"tensor:show=median"} << 2 << "must be largest or mean";
        QTest::newRow("reference") << plot + QStringList{"weight_difference"} << 2 << "needs a second checkpoint";
        QTest::newRow("equal") << plot + QStringList{"weight_difference", "--reference", model} << 1
                               << "has no weights of layers that differ";
        QTest::newRow("mask") << plot + QStringList{"circuit", "--mask", "m.json"} << 2 << "does not use --mask";
    }
    void wrongRequestsAreRefused() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        QFETCH(QString, message);
        const Outcome outcome = run(arguments);
        QVERIFY2(outcome.error.contains(message), qPrintable(outcome.error));
        QCOMPARE(outcome.status, status);
    }

    void figuresHaveNumbers() {
        const Scratch scratch;
        const QString out = scratch.path("figure.csv");
        const Outcome circuit =
            run({"plot", fixturePath("gqa-f32"), "--figure", "circuit:layer=1:head=3", "--out", out});
        QVERIFY2(circuit.status == 0, qPrintable(circuit.error));
        QVERIFY(contentOf(out).contains("query-key circuit"));
        const Outcome tensor = run({"plot", fixturePath("gqa-q4_0-gguf/model.gguf"), "--figure",
                                    "tensor:name=blk.0.ffn_up.weight:plane=scales", "--out", out, "--json"});
        QVERIFY2(tensor.status == 0, qPrintable(tensor.error));
        QVERIFY(tensor.out.contains("scales of blk.0.ffn_up.weight"));
        const Outcome difference = run({"plot", fixturePath("gqa-q4_0-gguf/model.gguf"), "--figure",
                                        "weight_difference:name=model.layers.0.mlp.up_proj.weight", "--reference",
                                        fixturePath("gqa-f32"), "--out", out, "--json"});
        QVERIFY2(difference.status == 0, qPrintable(difference.error));
        QVERIFY(difference.out.contains("signal to noise"));
    }
};

SECATEUR_SUITE(TestInspectWeights)
#include "tst_inspect_weights.moc"
