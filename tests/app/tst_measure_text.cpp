// `secateur-cli measure --text`, started as a program: arguments, output and files. tst_forward_metrics tests the
// values.

#include "analysis/base/text.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QtTest>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/perplexity/";

QString writeModel(const Scratch& scratch, const QString& name) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name + "/";
    for (const QString& file : {source + "config.json", source + "model.safetensors",
                                sources + "adds-bos/tokenizer.json", sources + "adds-bos/tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

/// Replaces single quotes in JSON by double quotes. Raw string literals are not used, because moc cannot parse them.
QByteArray quoted(QByteArray json) {
    return json.replace('\'', '"');
}

} // namespace

class TestMeasureText : public QObject {
    Q_OBJECT

private:
    Scratch m_folder;
    QString m_model;

    Outcome measured(const char* metrics, const QStringList& more = {}) const {
        return run(QStringList{"measure", m_model, "--metric", metrics, "--text", sources + "articles.raw", "--seq-len",
                               "24", "--max-tokens", "100", "--dtype", "float32"} +
                   more);
    }
    QString writeMask() const {
        const std::string structure = run({"inspect", m_model, "--json"}).json().at("structure").get<std::string>();
        return QString::fromStdString(
            m_folder.write("cut.mask.json", quoted("{'secateur_mask':1,'model':{'architecture':'llama','structure':'" +
                                                   QByteArray::fromStdString(structure) +
                                                   "'},'layers':[{'layer':1,'heads_cut':[2]}]}")));
    }

private slots:
    void initTestCase() { m_model = writeModel(m_folder, "llama-gqa"); }

    void aDocumentTellsWhatWasMeasuredOnWhat() {
        const Outcome outcome = measured("forward,mag_sp_head", {"--json"});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        QCOMPARE(document["metrics"].size(), std::size_t{18});
        QCOMPARE(document["data"]["tokens"].get<int>(), 100);
        QCOMPARE(document["data"]["sequence_length"].get<int>(), 24);
        QCOMPARE(document["data"]["split"], Json("document"));
        QCOMPARE(document["dtype"], Json("float32"));
        QVERIFY(document["data"]["digest"].get<std::string>().starts_with("sha256:"));
        QVERIFY(document["mask"].is_null());
        const Json& pattern = document["metrics"]["attention_pattern"];
        QCOMPARE(pattern["classes"].size(), std::size_t{2});
        QVERIFY(pattern["classes"][0][0].is_string());
        for (const char* feature : {"sink", "diagonal", "entropy", "agreement"})
            QCOMPARE(pattern["features"][feature][1].size(), std::size_t{4});
        QCOMPARE(document["metrics"]["amp_neuron"]["values"][0].size(), std::size_t{29});
        QCOMPARE(document["metrics"]["block_influence"]["is_complete"], Json(true));
    }

    void lengthsAreALeadingAxis() {
        const Json document = measured("sink_head:lengths=4/8", {"--json"}).json();
        const Json& metric = document["metrics"]["sink_head:lengths=4/8"];
        QCOMPARE(metric["lengths"].dump(), "[4,8]");
        QCOMPARE(metric["values"].size(), std::size_t{2});
        QCOMPARE(metric["values"][1].size(), std::size_t{2});
        QCOMPARE(metric["values"][1][0].size(), std::size_t{4});
    }

    void sessionsHoldMeasurementsSideBySide() {
        const QString session = m_folder.path("s.h5");
        QFile::remove(session);
        const QString metrics = "attention_pattern,sink_layer:lengths=4/8,amp_head";
        const QStringList out{"--out", session};
        QVERIFY(measured(qPrintable(metrics), out).status == 0);
        QVERIFY(measured(qPrintable(metrics), out + QStringList{"--mask", writeMask()}).status == 0);
        // Repeats the first measurement and replaces its results.
        QVERIFY(measured(qPrintable(metrics), out).status == 0);
        const Session read = readSession(session.toStdString());
        QCOMPARE(read.results.size(), std::size_t{6});
        QCOMPARE(read.masks.size(), std::size_t{1});
        const auto find = [&](const char* id, bool dense) {
            const auto found = std::ranges::find_if(read.results, [&](const MetricResult& result) {
                return result.request.resultId() == id && (result.measurement.maskDigest == "dense") == dense;
            });
            return found == read.results.end() ? nullptr : &*found;
        };
        const MetricResult* cut = find("amp_head", false);
        const MetricResult* dense = find("amp_head", true);
        QVERIFY(cut && dense);
        QVERIFY(std::isnan(cut->values(1, 2)) && std::isfinite(dense->values(1, 2)));
        QCOMPARE(cut->data->tokens, std::int64_t{100});
        QVERIFY(cut->isWhole);
        QCOMPARE(cut->measurement.dataDigest, dense->measurement.dataDigest);
        const MetricResult* sinks = find("sink_layer:lengths=4/8", true);
        QVERIFY(sinks && sinks->lengths == (std::vector<std::int64_t>{4, 8}));
        QCOMPARE(sinks->values(1, 0), sinks->overLengths[1](1, 0));
        QVERIFY(sinks->overLengths[0](0, 0) != sinks->overLengths[1](0, 0));
        const MetricResult* pattern = find("attention_pattern", true);
        QVERIFY(pattern && pattern->features.size() == 6);
        QCOMPARE(pattern->features[0].name, std::string("sink"));
        QVERIFY(std::isfinite(pattern->features[0].values(1, 3)));
    }

    void csvHasAColumnForEachFeature() {
        const QString folder = m_folder.path("csv");
        QVERIFY(measured("attention_pattern,sink_head:lengths=4/8", {"--csv", folder}).status == 0);
        QFile pattern(folder + "/attention_pattern.csv");
        QVERIFY(pattern.open(QIODevice::ReadOnly));
        QCOMPARE(pattern.readLine(),
                 QByteArray("layer,head,value,class,sink,diagonal,previous,entropy,agreement,margin\r\n"));
        QVERIFY(pattern.readLine().startsWith("0,0,"));
        QFile lengths(folder + "/sink_head.lengths-4_8.csv");
        QVERIFY(lengths.open(QIODevice::ReadOnly));
        QCOMPARE(lengths.readLine(), QByteArray("length,layer,head,value\r\n"));
        QVERIFY(lengths.readLine().startsWith("4,0,0,"));
    }

    void promptsOfATaskAreSequences() {
        const QString task = QString::fromStdString(
            m_folder.write("boolq.jsonl", quoted("{'passage':'he read it','question':'did he','answer':true}\n"
                                                 "{'passage':'so did he','question':'is it','answer':false}\n")));
        const Outcome outcome =
            run({"measure", m_model, "--metric", "block_influence", "--task", task, "--seq-len", "64", "--json"});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        QCOMPARE(outcome.json()["data"]["sequences"].get<int>(), 2);
        QCOMPARE(outcome.json()["data"]["source"].get<std::string>(), task.toStdString());
    }

    void gradientsAreMeasuredBesideForwardMetrics() {
        const Outcome outcome =
            measured("head_mask_gradient,amp_head,gnorm:scalarisation=logit_norm,gate_norm", {"--json"});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        QCOMPARE(document["metrics"].size(), std::size_t{4});
        QCOMPARE(document["data"]["tokens"].get<int>(), 100);
        for (const auto& cells : document["metrics"]["gnorm:scalarisation=logit_norm"]["values"])
            for (const auto& cell : cells)
                QVERIFY(cell.get<double>() > 0);
        const Outcome slow = measured("self_attribution:sequences=1:steps=2", {"--json"});
        QVERIFY2(slow.status == 0, qPrintable(slow.error));
        QVERIFY(slow.json().dump().find("on the first 1 of") != std::string::npos);
    }

    void textsOfAClassifierComeWithTheirLabels() {
        const Scratch folder;
        for (const char* file : {"config.json", "model.safetensors"})
            QFile::copy(SECATEUR_TEST_SOURCES "/forward/bert/" + QString(file), folder.path(file));
        QByteArray words;
        for (int i = 0; i < 30; ++i)
            words += ",'w" + QByteArray::number(i) + "':" + QByteArray::number(i);
        folder.write("tokenizer_config.json", quoted("{'cls_token':'[CLS]','sep_token':'[SEP]'}"));
        folder.write("tokenizer.json",
                     quoted("{'added_tokens':[],'normalizer':null,'decoder':null,'pre_tokenizer':{'type':"
                            "'WhitespaceSplit'},'post_processor':{'type':'BertProcessing','sep':['[SEP]',31],'cls':"
                            "['[CLS]',30]},'model':{'type':'WordLevel','unk_token':'[UNK]','vocab':{'[CLS]':30,"
                            "'[SEP]':31,'[UNK]':32" +
                            words + "}}}"));
        const auto task = [&](const char* name, const char* label) {
            return QString::fromStdString(folder.write(
                name, quoted("{'text':'w1 w2 w3','label':1}\n{'text':'w4 w5','label':" + QByteArray(label) + "}\n")));
        };
        const auto values = [&](const QString& file) {
            return run({"measure", folder.path(), "--metric", "head_mask_gradient,gnorm", "--task", file, "--format",
                        "classification", "--json"});
        };
        const Outcome some = values(task("some.jsonl", "0"));
        const Outcome others = values(task("others.jsonl", "2"));
        QVERIFY2(some.status == 0, qPrintable(some.error));
        QCOMPARE(some.json()["data"]["tokens"].get<int>(), 9);
        QVERIFY(some.json()["metrics"]["gnorm"]["values"] == others.json()["metrics"]["gnorm"]["values"]);
        QVERIFY(some.json()["metrics"]["head_mask_gradient"]["values"] !=
                others.json()["metrics"]["head_mask_gradient"]["values"]);
        QVERIFY(some.json()["data"]["digest"] != others.json()["data"]["digest"]);
        QVERIFY(values(task("none.jsonl", "9")).out.contains("not one of the model's 3 classes"));
        const QString text = QString::fromStdString(folder.write("text.txt", "w1 w2 w3 w4"));
        const Outcome unlabelled =
            run({"measure", folder.path(), "--metric", "head_mask_gradient:scalarisation=task_loss", "--text", text});
        QCOMPARE(unlabelled.status, 2);
        QVERIFY2(unlabelled.error.contains("needs the label of every text"), qPrintable(unlabelled.error));
    }

    void theTimeIsSaidBefore() {
        const Outcome outcome = measured("block_influence", {"--progress", "plain"});
        QVERIFY2(outcome.error.contains("\nabout ") && outcome.error.contains("100 tokens, dense"),
                 qPrintable(outcome.error));
    }

    void wrongUsageIsSaid_data() {
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<QString>("part");
        QTest::newRow("split") << QStringList{"--split", "page"} << "document, line, stream, windows";
        QTest::newRow("bos") << QStringList{"--bos", "sometimes"} << "first_only";
        QTest::newRow("task and text") << QStringList{"--task", "x.jsonl"} << "excludes";
    }
    void wrongUsageIsSaid() {
        QFETCH(QStringList, more);
        QFETCH(QString, part);
        const Outcome outcome = measured("block_influence", more);
        QCOMPARE(outcome.status, 2);
        QVERIFY2(outcome.error.contains(part), qPrintable(outcome.error));
    }
};

SECATEUR_SUITE(TestMeasureText)
#include "tst_measure_text.moc"
