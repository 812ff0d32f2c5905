// `secateur-cli recover`, started as a program: what it writes, stops and continues, and errors. tst_training tests the
// numbers.

#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QProcess>
#include <QtTest>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/";

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// The accuracy of the only task of an evaluation.
double accuracyIn(const Outcome& evaluated) {
    return evaluated.json().at("tasks").front().at("metrics").at("acc").at("value").get<double>();
}

/// JSON that is written with single quotes.
QByteArray quoted(QByteArray json) {
    return json.replace('\'', '"');
}

} // namespace

class TestRecover : public QObject {
    Q_OBJECT

private:
    Scratch m_folder;
    QString m_model;
    QString m_mask;

    QStringList command(const QString& out, const QStringList& more = {}) const {
        return QStringList{"recover",   m_model, "--mask",       m_mask, "--data", sources + "perplexity/articles.raw",
                           "--length",  "24",    "--accumulate", "4",    "--out",  m_folder.path(out),
                           "--threads", "1"} +
               more;
    }
    QByteArray weightsIn(const QString& out) const {
        return contentOf(m_folder.path(out + "/last/adapter_model.safetensors"));
    }

private slots:
    void initTestCase() {
        for (const char* file : {"forward/llama-gqa/config.json", "forward/llama-gqa/model.safetensors",
                                 "perplexity/adds-bos/tokenizer.json", "perplexity/adds-bos/tokenizer_config.json"})
            QFile::copy(sources + file, m_folder.path(QFileInfo(file).fileName()));
        m_model = m_folder.path();
        const std::string structure = run({"inspect", m_model, "--json"}).json().at("structure").get<std::string>();
        const Json mask{{"secateur_mask", 1},
                        {"model", {{"architecture", "llama"}, {"structure", structure}}},
                        {"layers", {{{"layer", 1}, {"attention", "drop"}}}}};
        m_mask = QString::fromStdString(m_folder.write("cut.mask.json", QByteArray::fromStdString(mask.dump())));
    }

    void trainsAndIsEvaluated() {
        const Outcome outcome = run(command("whole", {"--steps", "12", "--lr", "0.01", "--json"}));
        QCOMPARE(outcome.status, 0);
        const Json json = outcome.json();
        QCOMPARE(json.at("steps").get<int>(), 12);
        QCOMPARE(json.at("losses").size(), std::size_t{12});
        QVERIFY(json.at("recovered").at("loss_nats").get<double>() < json.at("pruned").at("loss_nats").get<double>());
        for (const char* file : {"adapter_config.json", "adapter_model.safetensors", "checkpoint.safetensors",
                                 "training.csv", "mask.json", "last/adapter_model.safetensors"})
            QVERIFY2(QFile::exists(m_folder.path("whole/") + file), file);
        const QStringList evaluate{"evaluate", m_model, "--mask", m_mask, "--text", sources + "perplexity/articles.raw",
                                   "--window", "24",    "--json"};
        const Outcome without = run(evaluate);
        const Outcome with = run(evaluate + QStringList{"--adapter", m_folder.path("whole")});
        QCOMPARE(with.status, 0);
        const Json plain = without.json();
        const Json adapted = with.json();
        QVERIFY(!plain.contains("adapter"));
        QCOMPARE(adapted.at("adapter").at("name"), "whole");
        QVERIFY(adapted.at("text").at("loss_nats") != plain.at("text").at("loss_nats"));
        QCOMPARE(adapted.at("text").at("reference").at("loss_nats"), plain.at("text").at("reference").at("loss_nats"));

        // A session of the model holds both, and neither is taken for the other. A run whose reference is read from a
        // session goes another way through the layers than one beside it, so the last digits may differ.
        const auto isNear = [](const Json& one, const Json& other) {
            return std::abs(one.get<double>() - other.get<double>()) < 1e-6;
        };
        const auto lossOf = [](const Json& document) { return document.at("text").at("loss_nats"); };
        const QStringList out{"--out", m_folder.path("both.h5")};
        const Outcome kept = run(evaluate + QStringList{"--adapter", m_folder.path("whole/")} + out);
        QVERIFY2(kept.status == 0, qPrintable(kept.error));
        QVERIFY(isNear(lossOf(run(evaluate + out).json()), lossOf(plain)));
        const Outcome again = run(evaluate + QStringList{"--adapter", m_folder.path("whole")} + out);
        QVERIFY(isNear(lossOf(again.json()), lossOf(adapted)));
        QVERIFY2(again.out.contains("cut.mask.json + whole's losses were read from"), again.out.constData());
        const Json session = run({"session", "show", m_folder.path("both.h5"), "--json"}).json();
        QCOMPARE(session.at("model").at("fingerprint"), plain.at("model").at("fingerprint"));
        QCOMPARE(session.at("evaluations").size(), std::size_t{3});
        QCOMPARE(session.at("evaluations").at(1).at("adapter"), adapted.at("adapter"));
        QVERIFY(
            isNear(session.at("evaluations").at(1).at("text").at("delta_nats"), adapted.at("text").at("delta_nats")));
        const Outcome shown = run({"session", "show", m_folder.path("both.h5")});
        QVERIFY2(shown.out.contains("cut.mask.json + whole"), shown.out.constData());

        // Compared with the mask without the adapter, and without a mask.
        const Outcome regained = run(evaluate + QStringList{"--adapter", m_folder.path("whole"), "--against", m_mask});
        QVERIFY(isNear(regained.json().at("text").at("reference").at("loss_nats"), lossOf(plain)));
        QStringList dense = evaluate;
        dense.remove(dense.indexOf("--mask"), 2);
        const Json changed = run(dense + QStringList{"--adapter", m_folder.path("whole")}).json();
        QVERIFY(isNear(changed.at("text").at("reference").at("loss_nats"),
                       plain.at("text").at("reference").at("loss_nats")));
        const Json several = run(evaluate + QStringList{"--mask", m_mask, "--adapter", m_folder.path("whole")}).json();
        QVERIFY(isNear(several.at("runs").at(1).at("text").at("reference").at("loss_nats"),
                       plain.at("text").at("reference").at("loss_nats")));
        QCOMPARE(several.at("runs").at(1).at("adapter"), adapted.at("adapter"));
    }

    // An adapter that is not merged has the shapes of the export, and works with it as with the masked model.
    void anAdapterIsExportedApart() {
        const Outcome trained = run(command("apart", {"--steps", "3", "--lr", "0.01", "--json"}));
        QVERIFY2(trained.status == 0, qPrintable(trained.error));
        const QStringList text{"--text", sources + "perplexity/articles.raw", "--window", "24", "--json"};
        const QStringList whole{"--mask", m_mask, "--adapter", m_folder.path("apart")};
        const QString smaller = m_folder.path("smaller");
        const QStringList exporting{"export", m_model, "--as",          "structural",
                                    "--out",  smaller, "--adapter-out", m_folder.path("sliced")};
        const Outcome exported = run(exporting + whole + QStringList{"--json"});
        QVERIFY2(exported.status == 0, qPrintable(exported.error));
        QCOMPARE(exported.json().at("adapter"), m_folder.path("sliced").toStdString());
        const Json config = Json::parse(contentOf(m_folder.path("sliced/adapter_config.json")).toStdString());
        QCOMPARE(config.at("base_model_name_or_path"), smaller.toStdString());
        for (const Json& module : config.at("target_modules"))
            QVERIFY(module.get<std::string>().find("layers.1.self_attn") == std::string::npos);
        const Outcome masked = run(QStringList{"evaluate", m_model} + whole + text);
        const Outcome apart = run(QStringList{"evaluate", smaller, "--adapter", m_folder.path("sliced")} + text);
        QVERIFY2(apart.status == 0, qPrintable(apart.error));
        const auto loss = [](const Outcome& outcome) {
            return outcome.json().at("text").at("loss_nats").get<double>();
        };
        QVERIFY2(std::abs(loss(masked) - loss(apart)) < 1e-6, qPrintable(QString::number(loss(masked) - loss(apart))));
        QVERIFY2(apart.json().at("warnings").empty(), apart.out.constData());

        QVERIFY(QDir(smaller).removeRecursively());
        const Outcome again = run(exporting + whole);
        QCOMPARE(again.status, 1);
        QVERIFY2(again.error.contains("has an adapter already"), qPrintable(again.error));
        const Outcome gguf = run(QStringList{"export", m_model, "--as", "gguf", "--out", m_folder.path("x.gguf"),
                                             "--adapter-out", m_folder.path("x")} + whole);
        QCOMPARE(gguf.status, 2);
        QVERIFY2(gguf.error.contains("--adapter-out") && gguf.error.contains("PEFT"), qPrintable(gguf.error));
    }

    // The program is killed again and again, and starts again until it is done.
    void aKilledRunEndsWithTheSameNumbers() {
        const QStringList options{"--steps", "12", "--lr", "0.01", "--save-every", "0"};
        QVERIFY(!weightsIn("whole").isEmpty());
        int kills = 0;
        for (int i = 0; i < 40; ++i) {
            QProcess process;
            process.start(SECATEUR_CLI, command("killed", options));
            QVERIFY(process.waitForStarted());
            if (process.waitForFinished(150 + 25 * i))
                break;
            process.kill();
            process.waitForFinished();
            ++kills;
        }
        QCOMPARE(run(command("killed", options)).status, 0);
        qInfo("%d kills", kills);
        QCOMPARE(weightsIn("killed"), weightsIn("whole"));
    }

    void trainsACompensationWithATeacher() {
        const QStringList options{"--steps",   "12",    "--lr",          "0.01", "--train", "compensation",
                                  "--teacher", "dense", "--teacher-top", "8",    "--json"};
        const Outcome outcome = run(command("compensated", options));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json json = outcome.json();
        QVERIFY(json.at("adapter").is_null());
        const QString mask = m_folder.path("compensated/mask.json");
        QCOMPARE(QString::fromStdString(json.at("mask").get<std::string>()), mask);
        QVERIFY(json.at("recovered").at("loss_nats").get<double>() < json.at("pruned").at("loss_nats").get<double>());
        QVERIFY(QFile::exists(m_folder.path("compensated/last/mask.json")));
        for (const char* file : {"adapter_config.json", "teacher"})
            QVERIFY2(!QFile::exists(m_folder.path("compensated/") + file), file);
        const QStringList evaluate{"evaluate", m_model, "--text", sources + "perplexity/articles.raw",
                                   "--window", "24",    "--json", "--mask"};
        const Outcome with = run(evaluate + QStringList{mask});
        QVERIFY2(with.status == 0, qPrintable(with.error));
        QVERIFY(with.out != run(evaluate + QStringList{m_mask}).out);
        const QByteArray trained = contentOf(mask);
        QVERIFY(trained.contains("\"compensate\": \"trained\"") || trained.contains("\"compensate\":\"trained\""));
        QCOMPARE(run(command("compensated", options)).status, 0); // there is nothing left to do
        QCOMPARE(contentOf(mask), trained);
    }

    // A run that leaves a mask replaces one that left an adapter.
    void aReplacedAdapterIsRemoved() {
        QCOMPARE(run(command("replaced", {"--steps", "2"})).status, 0);
        QVERIFY(QFile::exists(m_folder.path("replaced/adapter_config.json")));
        const QStringList options{"--steps", "2", "--train", "compensation", "--force"};
        QCOMPARE(run(command("replaced", options)).status, 0);
        QVERIFY(!QFile::exists(m_folder.path("replaced/adapter_config.json")));
        QVERIFY(!QFile::exists(m_folder.path("replaced/last/adapter_model.safetensors")));
        QVERIFY(QFile::exists(m_folder.path("replaced/mask.json")));
        const QStringList both{"--steps", "2", "--train", "compensation,lora", "--force"};
        QCOMPARE(run(command("replaced", both)).status, 0);
        QVERIFY(QFile::exists(m_folder.path("replaced/adapter_config.json")));
        const Outcome evaluated =
            run({"evaluate", m_model, "--mask", m_folder.path("replaced/mask.json"), "--adapter",
                 m_folder.path("replaced"), "--text", sources + "perplexity/articles.raw", "--window", "24"});
        QVERIFY2(evaluated.status == 0, qPrintable(evaluated.error));
    }

    void anotherRunIsNotReplaced() {
        const Outcome other = run(command("whole", {"--steps", "13"}));
        QCOMPARE(other.status, 1);
        QVERIFY2(other.error.contains("is a training run with another model, mask, data or settings"),
                 qPrintable(other.error));
        QCOMPARE(run(command("whole", {"--steps", "2", "--force"})).status, 0);
    }

    void mistakesAreNamed_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<QString>("message");
        QTest::newRow("recipe") << QStringList{"--recipe", "no"} << "The known ones are amp, gate_norm, quick";
        QTest::newRow("targets") << QStringList{"--targets", "x"} << "The known ones are q, k, v, o";
        QTest::newRow("train") << QStringList{"--train", "all"} << "The known ones are lora, norms, head, compensation";
        QTest::newRow("teacher") << QStringList{"--teacher", "x"} << "The known ones are dense";
        QTest::newRow("weight") << QStringList{"--teacher-weight", "0.3"} << "give --teacher dense too";
        QTest::newRow("share") << QStringList{"--teacher", "dense", "--teacher-weight", "2"} << "between 0 and 1";
        QTest::newRow("rank") << QStringList{"--rank", "0"} << "rank must be between 1 and 4096";
        QTest::newRow("head") << QStringList{"--train", "head"} << "has no classifier to train";
        QTest::newRow("adapter") << QStringList{"--adapter", "x"} << "cannot be trained on top of another one";
        QTest::newRow("dtype") << QStringList{"--dtype", "bfloat16"} << "Training is in float32 only";
        QTest::newRow("schedule") << QStringList{"--schedule", "x"} << "The known ones are linear, cosine, none";
    }
    void mistakesAreNamed() {
        QFETCH(QStringList, options);
        QFETCH(QString, message);
        const Outcome outcome = run(command("none", QStringList{"--steps", "2"} + options));
        QVERIFY(outcome.status != 0);
        QVERIFY2(outcome.error.contains(message), qPrintable(outcome.error));
    }

    /// A classifier that an adapter brings keeps the names of its classes, also in exports that can hold it.
    void trainedClassesKeepTheirNames() {
        const Scratch folder;
        for (const char* file : {"config.json", "model.safetensors"})
            QFile::copy(sources + "forward/bert-bare/" + file, folder.path(file));
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
        const QString texts = QString::fromStdString(folder.write(
            "texts.jsonl", quoted("{'text':'w1 w2 w3','label':'warm'}\n{'text':'w4 w5','label':'cold'}\n"
                                  "{'text':'w7 w8','label':'mild'}\n{'text':'w2 w9 w4','label':'cold'}\n")));
        const QStringList train{"recover", folder.path(), "--data",    texts, "--train", "head", "--held-out", "0",
                                "--out",   folder.path("head"), "--threads", "1",   "--steps"};
        const Outcome trained = run(train + QStringList{"40", "--lr", "0.1"});
        QVERIFY2(trained.status == 0, qPrintable(trained.error));
        const Outcome again = run(train + QStringList{"50", "--lr", "0.1", "--force"}); // replaces the names too
        QVERIFY2(again.status == 0, qPrintable(again.error));
        const Outcome answered = run({"evaluate", folder.path(), "--adapter", folder.path("head"), "--task", texts,
                                      "--format", "classification", "--json"});
        QVERIFY2(answered.status == 0, qPrintable(answered.error));
        QVERIFY2(answered.out.contains("\"mild\""), qPrintable(answered.out));
        const Outcome exported = run({"export", folder.path(), "--adapter", folder.path("head"), "--as", "masked", "--out",
                                      folder.path("export")});
        QCOMPARE(exported.status, 1);
        QVERIFY2(exported.error.contains("brings a classifier of 3 classes"), qPrintable(exported.error));
        for (const char* target : {"structural", "onnx"}) {
            const Outcome whole = run({"export", folder.path(), "--adapter", folder.path("head"), "--as", target, "--out",
                                       folder.path(target), "--json"});
            QVERIFY2(whole.status == 0, qPrintable(whole.error));
            const Json config = Json::parse(contentOf(folder.path(target + QString("/config.json"))).toStdString());
            QCOMPARE(config.at("id2label"), (Json{{"0", "cold"}, {"1", "mild"}, {"2", "warm"}}));
            if (QString(target) == "onnx")
                continue;
            QCOMPARE(config.at("architectures"), Json{"BertForSequenceClassification"});
            const QByteArray weights = contentOf(folder.path(target + QString("/model.safetensors")));
            for (const char* name : {"bert.pooler.dense.weight", "classifier.weight", "classifier.bias"})
                QVERIFY2(weights.contains(QByteArray("\"") + name + '"'), name);
            const Outcome merged =
                run({"evaluate", folder.path(target), "--task", texts, "--format", "classification", "--json"});
            QVERIFY2(merged.status == 0, qPrintable(merged.error));
            QCOMPARE(accuracyIn(merged), accuracyIn(answered));
        }
    }

    void brokenRowsAreNamed() {
        m_folder.write("rows.jsonl", "{\"instruction\": \"Say one\", \"output\": \"one\"}\n{\"instruction\": 3}\n"
                                     "{\"instruction\": \"Say two\", \"output\": \"two\"}\n");
        QStringList words = command("rows", {"--steps", "2"});
        words[words.indexOf("--data") + 1] = m_folder.path("rows.jsonl");
        words[words.indexOf("--length") + 1] = "1000";
        const Outcome refused = run(words);
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.error.contains("rows.jsonl") && refused.error.contains("2"), qPrintable(refused.error));
        const Outcome skipped = run(words + QStringList{"--skip-broken"});
        QVERIFY2(skipped.status == 0, qPrintable(skipped.error));
    }
};

SECATEUR_SUITE(TestRecover)
#include "tst_recover.moc"
