// secateur-cli on files, texts and limits that nobody wants: pipes, texts that are not UTF-8, weights that are not
// finite or change during a run, little memory. Each is refused or said in one sentence, and no run hangs.

#ifndef Q_MOC_RUN
#include "backends/engine/open_model.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/formats.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>
#endif

#include <QDir>
#include <QtTest>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <limits>
#include <thread>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;

namespace {

QString writeModel(const Scratch& scratch, const QString& folder) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    QDir(scratch.path()).mkpath(folder);
    for (const QString& file : {source + "config.json", source + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        if (!QFile::copy(file, scratch.path(folder + "/" + QFileInfo(file).fileName())))
            qFatal("cannot copy %s", qPrintable(file));
    return scratch.path(folder);
}

/// Writes a number over the first of a tensor, without a change of the file's size.
void putNumber(const QString& model, const std::string& tensor, float number) {
    const auto checkpoint = formatOf(model.toStdString()).open(model.toStdString(), {});
    const TensorEntry* entry = checkpoint->find(tensor);
    if (!entry || entry->type->name != "F32")
        qFatal("no F32 tensor %s", tensor.c_str());
    QFile file(QString::fromStdString(entry->file->path()));
    if (!file.open(QIODevice::ReadWrite) || !file.seek(entry->data.data() - entry->file->bytes().data()))
        qFatal("cannot write %s", qPrintable(file.fileName()));
    file.write(test::little(number));
}

/// Runs a shell command in which $CLI is the program. Status -1: it did not end within 20 seconds.
Outcome shell(const QString& command, const QStringList& arguments = {}) {
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("CLI", SECATEUR_CLI);
    program.setProcessEnvironment(environment);
    program.start("/bin/sh", QStringList{"-c", command, "sh"} + arguments);
    const bool hasEnded = program.waitForFinished(20'000);
    if (!hasEnded)
        program.kill(), program.waitForFinished();
    return {hasEnded && program.exitStatus() == QProcess::NormalExit ? program.exitCode() : -1,
            program.readAllStandardOutput(), QString::fromUtf8(program.readAllStandardError())};
}

bool isOneLine(const QString& text) {
    return text.endsWith('\n') && text.count('\n') == 1;
}

const QString nanSentence = "the output of layer 0 is the first that is not finite: ";

} // namespace

class TestOddInputs : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        m_model = writeModel(m_folder, "model");
        m_folder.write("bad.txt", QByteArray("it is\xff", 6) + QByteArray(2000, 'a'));
        m_folder.write("bad.jsonl", "{\"text\":\"good\"}\n{\"text\":\"\xff\"}\n");
        QDir(m_folder.path()).mkdir("texts");
        m_folder.write("texts/one.txt", "good");
        m_folder.write("texts/two.txt", "ba\xe4");
        ::mkfifo(m_folder.path("pipe").toUtf8().constData(), 0600);
        ::mkfifo(m_folder.path("pipe.h5").toUtf8().constData(), 0600);
        for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
            const QString odd = writeModel(m_folder, QString("piped-") + file);
            QFile::remove(odd + "/" + file);
            ::mkfifo((odd + "/" + file).toUtf8().constData(), 0600);
        }
    }

    void textThatIsNotUtf8IsRefusedByItsOffset_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("place");
        const auto row = [&](const char* name, const QStringList& arguments, const char* place) {
            QTest::newRow(name) << arguments << QString(place);
        };
        const auto file = [&](const char* name) { return m_folder.path(name); };
        const QString bad = file("bad.txt");
        row("measure", {"measure", m_model, "--metric", "block_influence", "--text", bad}, "bad.txt: 5");
        row("ablate", {"ablate", m_model, "--units", "attention", "--text", bad}, "bad.txt: 5");
        row("prune by a metric",
            {"prune", m_model, "--strategy", "by_metric:metric=block_influence", "--budget", "1", "--text", bad,
             "--out", file("new.mask.json")},
            "bad.txt: 5");
        row("evaluate", {"evaluate", m_model, "--text", bad}, "bad.txt: 5");
        row("evaluate a folder", {"evaluate", m_model, "--text", file("texts")}, "two.txt: 2");
        row("measure a folder", {"measure", m_model, "--metric", "block_influence", "--text", file("texts")},
            "two.txt: 2");
        row("rows", {"measure", m_model, "--metric", "block_influence", "--text", file("bad.jsonl")}, "bad.jsonl: 25");
        row("a task", {"evaluate", m_model, "--task", file("bad.jsonl"), "--format", "generic"}, "bad.jsonl: 25");
        row("prompts of a task",
            {"measure", m_model, "--metric", "block_influence", "--task", file("bad.jsonl"), "--format", "generic"},
            "bad.jsonl: 25");
    }
    void textThatIsNotUtf8IsRefusedByItsOffset() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, place);
        const QStringList parts = place.split(": ");
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 1);
        const QString sentence =
            QString("%1: is not UTF-8: invalid byte at offset %2 (from 0)\n").arg(parts[0], parts[1]);
        QVERIFY2(outcome.error.endsWith(sentence) && isOneLine(outcome.error), qPrintable(outcome.error));
        QVERIFY(!QFile::exists(m_folder.path("new.mask.json")));
    }

    void promptsThatAreNotUtf8AreWrongUsage() {
        const char* const prompt = "\"$(printf 'a\\303\\244\\377')\"";
        const auto said = [&](const char* verb) {
            return shell(QString("exec \"$CLI\" %1 %2").arg(verb, prompt), {m_model});
        };
        for (const auto& [verb, option] :
             {std::pair{"generate \"$1\" --prompt", "--prompt"},
              {"inspect \"$1\" --tokens", "--tokens"},
              {"plot \"$1\" --figure attention:layer=0:head=0 --out a.pdf --prompt", "--prompt"}}) {
            const Outcome outcome = said(verb);
            QCOMPARE(outcome.status, 2);
            QVERIFY2(outcome.error.contains(QString(option) + ": is not UTF-8: invalid byte at offset 3 (from 0)"),
                     qPrintable(outcome.error));
        }
    }

    void onlyRegularFilesAreRead_data() {
        QTest::addColumn<QStringList>("arguments");
        const auto row = [](const char* name, const QStringList& arguments) { QTest::newRow(name) << arguments; };
        const QString pipe = m_folder.path("pipe");
        row("a model", {"inspect", pipe});
        row("a model to measure", {"measure", pipe, "--metric", "gate_norm"});
        row("a configuration", {"inspect", m_folder.path("piped-config.json")});
        row("a tokenizer", {"inspect", m_folder.path("piped-tokenizer.json"), "--tokens", "a"});
        row("weights", {"inspect", m_folder.path("piped-model.safetensors/model.safetensors")});
        row("a text", {"measure", m_model, "--metric", "block_influence", "--text", pipe});
        row("a text to score", {"evaluate", m_model, "--text", pipe});
        row("a task", {"evaluate", m_model, "--task", pipe});
        row("a mask",
            {"evaluate", m_model, "--text", SECATEUR_TEST_SOURCES "/perplexity/articles.raw", "--mask", pipe});
        row("a mask to show", {"mask", "show", pipe});
        row("a session", {"session", "show", m_folder.path("pipe.h5")});
        row("a session of any name", {"session", "show", pipe});
        row("a figure's session", {"plot", pipe, "--figure", "heads:metric=gate_norm_head", "--out", "a.csv"});
        row("a device", {"inspect", "/dev/zero"});
        row("a device as text", {"evaluate", m_model, "--text", "/dev/zero"});
    }
    void onlyRegularFilesAreRead() {
        QFETCH(QStringList, arguments);
        const Outcome outcome = shell("exec \"$CLI\" \"$@\"", arguments);
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.contains("is not a regular file") && isOneLine(outcome.error),
                 qPrintable(outcome.error));
    }

    void aSocketIsRefused() {
        const QByteArray path = m_folder.path("socket").toUtf8();
        const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(path.begin(), path.end(), static_cast<char*>(address.sun_path));
        QCOMPARE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const Outcome outcome = shell("exec \"$CLI\" inspect \"$1\"", {QString::fromUtf8(path)});
        ::close(socket);
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.endsWith("socket: is not a regular file\n"), qPrintable(outcome.error));
    }

    void threadsAreAtMostFourPerCore() {
        const unsigned most = 4 * std::max(1U, std::thread::hardware_concurrency());
        QCOMPARE(run({"inspect", m_model, "--threads", QString::number(most)}).status, 0);
        const Outcome outcome = run({"inspect", m_model, "--threads", QString::number(most + 1)});
        QCOMPARE(outcome.status, 2);
        QVERIFY2(outcome.error.contains("--threads"), qPrintable(outcome.error));
    }

    void theFirstLayerAndTensorThatAreNotFiniteAreNamed_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        const QStringList text{"--text", SECATEUR_TEST_SOURCES "/perplexity/articles.raw", "--max-tokens", "100"};
        QTest::newRow("forward") << QStringList{"measure", "--metric", "forward", "--json"} + text << 0;
        QTest::newRow("gradient") << QStringList{"measure", "--metric", "head_gate_gradient", "--json"} + text << 0;
        QTest::newRow("loss") << QStringList{"evaluate"} + text << 1;
        QTest::newRow("ablation") << QStringList{"ablate", "--units", "attention"} + text << 1;
        QTest::newRow("generation") << QStringList{"generate", "--prompt", "a"} << 1;
    }
    void theFirstLayerAndTensorThatAreNotFiniteAreNamed() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        const Scratch scratch;
        const QString model = writeModel(scratch, "model");
        const std::string tensor = "model.layers.0.mlp.up_proj.weight";
        putNumber(model, tensor, std::numeric_limits<float>::quiet_NaN());
        arguments.insert(1, model);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, status);
        const QString sentence = nanSentence + model + "/model.safetensors: " + QString::fromStdString(tensor) +
                                 " holds 1 NaN and 0 infinite numbers";
        QVERIFY2(QString::fromUtf8(outcome.out + outcome.error.toUtf8()).contains(sentence),
                 qPrintable(outcome.out + outcome.error.toUtf8()));
        QVERIFY(!outcome.out.contains("length 0"));
        if (status != 0)
            return;
        const nlohmann::json document = outcome.json();
        QVERIFY(!document.at("metrics").empty());
        for (const auto& [id, metric] : document.at("metrics").items()) {
            const std::string behind = metric.at("values").at(1).dump();
            QVERIFY2(behind.find_first_of("0123456789") == std::string::npos, (id + ": " + behind).c_str());
        }
    }

    void weightsThatAreFiniteAndOverflowAreSaid() {
        const Scratch scratch;
        const QString model = writeModel(scratch, "model");
        putNumber(model, "model.layers.0.mlp.down_proj.weight", std::numeric_limits<float>::max());
        putNumber(model, "model.layers.0.mlp.up_proj.weight", std::numeric_limits<float>::max());
        const Outcome outcome = run({"measure", model, "--metric", "block_influence", "--text",
                                     SECATEUR_TEST_SOURCES "/perplexity/articles.raw", "--max-tokens", "100"});
        QVERIFY2(outcome.error.contains("the output of layer 0 is the first that is not finite, although its weights "
                                        "are: the numbers become too large"),
                 qPrintable(outcome.error));
    }

    void weightsWrittenDuringARunAreSaid() {
        const Scratch scratch;
        const QString model = writeModel(scratch, "model");
        const auto open = openModel(model.toStdString());
        QVERIFY(overwrittenFiles(*open).empty());
        QTest::qWait(20); // so that the time of the change differs
        putNumber(model, "model.layers.0.mlp.up_proj.weight", 1);
        const std::string warning = (model + "/model.safetensors").toStdString() +
                                    " was written to while it was open: the results may mix old and new weights";
        QCOMPARE(overwrittenFiles(*open), std::vector{warning});
    }

    void theCommandLineSaysThatWeightsWereWritten() {
        const Scratch scratch;
        const QString model = writeModel(scratch, "model");
        QProcess program;
        program.setReadChannel(QProcess::StandardError);
        program.start(SECATEUR_CLI, {"ablate", model, "--units", "heads", "--max-tokens", "600", "--progress", "json"});
        QByteArray said;
        while (!said.contains("expected_seconds") && program.waitForReadyRead(60'000)) // the model is open
            said += program.readAllStandardError();
        putNumber(model, "model.layers.0.mlp.up_proj.weight", 1);
        QVERIFY(program.waitForFinished(240'000));
        said += program.readAllStandardError();
        QCOMPARE(program.exitCode(), 0);
        QVERIFY2(said.contains("note: ") && said.contains("was written to while it was open"), said.constData());
    }

    void aPlotSaysThatWeightsWereWritten_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("metric") << QStringList{"heads:metric=sink_head"};
        QTest::newRow("text") << QStringList{"gradient_change:cut=0.1"};
    }
    void aPlotSaysThatWeightsWereWritten() {
        QFETCH(QStringList, arguments);
        const Scratch scratch;
        const QString model = writeModel(scratch, "model");
        QProcess program;
        program.setReadChannel(QProcess::StandardError);
        program.start(SECATEUR_CLI, QStringList{"plot", model, "--max-tokens", "20000", "--progress", "json", "--out",
                                                scratch.path("out.csv"), "--figure"} +
                                        arguments);
        QByteArray said;
        while (!said.contains("expected_seconds") && program.waitForReadyRead(60'000)) // the model is open
            said += program.readAllStandardError();
        putNumber(model, "model.layers.0.mlp.up_proj.weight", 1);
        QVERIFY(program.waitForFinished(240'000));
        said += program.readAllStandardError();
        QVERIFY2(program.exitCode() == 0, said.constData());
        QVERIFY2(said.contains("note: ") && said.contains("was written to while it was open"), said.constData());
    }

    /// From a limit that the loader refuses up to one that suffices: the program starts, or says in a sentence why not.
    void aSmallAddressSpaceIsSaid() {
        int own = 0;
        int started = 0;
        for (int megabytes = 200; megabytes <= 40'000 && started == 0; megabytes += 64) {
            const Outcome outcome = shell(QString("ulimit -v %1; exec \"$CLI\" --version").arg(megabytes * 1024));
            QVERIFY2(outcome.status == 0 || outcome.status == 1 || outcome.status == 127,
                     qPrintable(QString("%1 MB: %2 %3").arg(megabytes).arg(outcome.status).arg(outcome.error)));
            started += outcome.status == 0 ? 1 : 0;
            if (outcome.status != 1)
                continue;
            ++own;
            QVERIFY2(outcome.error.contains("the address space is limited to " + QString::number(megabytes) + " MB") &&
                         isOneLine(outcome.error),
                     qPrintable(outcome.error));
        }
        QVERIFY(own > 0);
        QCOMPARE(started, 1);
    }

    /// With ever more address space, a run says what it needs until it has it. It never crashes or hangs.
    void tooLittleMemoryForARunIsSaid() {
        int said = 0;
        bool isDone = false;
        for (int megabytes = 600; megabytes <= 40'000 && !isDone; megabytes += 64) {
            const Outcome outcome =
                shell(QString("ulimit -v %1; exec \"$CLI\" measure \"$1\" --metric block_influence --max-tokens 100")
                          .arg(megabytes * 1024),
                      {m_model});
            isDone = outcome.status == 0;
            if (isDone || outcome.status == 127 || outcome.error.contains("the address space is limited"))
                continue;
            QVERIFY2(outcome.status == 1 && isOneLine(outcome.error),
                     qPrintable(QString("%1 MB: %2 %3").arg(megabytes).arg(outcome.status).arg(outcome.error)));
            said += outcome.error.contains("of memory to run, but") ? 1 : 0;
        }
        QVERIFY(isDone);
        QVERIFY(said > 0);
    }

private:
    Scratch m_folder;
    QString m_model;
};

SECATEUR_SUITE(TestOddInputs)
#include "tst_odd_inputs.moc"
