// A session with everything in it, saved, opened again and saved again, in the real window with the real services.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "app/window/window_services.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/files.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/main_window.h"

#include <QFile>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace secateur;
using test::Scratch;

namespace {

/// The program, as a person starts it.
struct Program {
    JobRunner jobs;
    Document document{windowServices(), &jobs};
    MainWindow window{&document, &jobs};
    LiveEvaluation& live = *window.findChild<LiveEvaluation*>();
    QStringList titles; ///< of all jobs, in the order of their start
    QStringList failures;

    Program() {
        QObject::connect(&jobs, &JobRunner::started, &jobs, [this](quint64, const QString& title) { titles << title; });
        QObject::connect(&document, &Document::failed, &jobs, [this](const QString& text) { failures << text; });
        window.show();
    }
    bool isMeasured() const {
        return document.model() && jobs.isIdle() && live.state() == LiveEvaluation::State::complete &&
               live.extra()->state() == ExtraEvaluation::State::complete;
    }
    void save(const QString& path) {
        QSignalSpy saved(document.files(), &DocumentFiles::saved);
        document.files()->saveSession(path);
        QVERIFY(saved.wait());
    }
};

/// A small model with a tokenizer of single characters.
QString writeModel(const Scratch& scratch) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    for (const QString& file : {source + "config.json", source + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

QByteArray text() {
    QByteArray text;
    for (int i = 0; i < 60; ++i)
        text += QByteArrayList{"the sand ", "a tin hotel ", "he - robots ", "21 "}[i % 4] + "\n\n";
    return text;
}

QByteArray questions() {
    QByteArray rows;
    for (int i = 0; i < 12; ++i)
        rows += "{\"query\":\"the " + QByteArray(i % 2 ? "sand" : "tin") +
                "\",\"choices\":[\"hotel\",\"a\",\"robots\"],\"gold\":" + QByteArray::number(i % 3) + "}\n";
    return rows;
}

QByteArray contentOf(const std::string& path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Whether sessions give equal files, to the byte. HDF5 notes the second in which it wrote, so there are several tries.
bool areEqualAsFiles(const Session& one, const Session& two, const Scratch& folder) {
    const std::string first = folder.path("one.h5").toStdString();
    const std::string second = folder.path("two.h5").toStdString();
    for (int i = 0; i < 5; ++i) {
        writeSession(one, first);
        writeSession(two, second);
        if (!contentOf(first).isEmpty() && contentOf(first) == contentOf(second))
            return true;
    }
    return false;
}

} // namespace

class TestReopenedSession : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void aSessionComesBackAsItWas();
    void theSameModelIsOpenedAgain();

private:
    void fill(Program& program, const Scratch& folder);

    QTemporaryDir m_settings;
};

void TestReopenedSession::initTestCase() {
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_settings.path());
    QCoreApplication::setOrganizationName("secateur");
    qputenv("XDG_STATE_HOME", m_settings.path().toUtf8());
    qputenv("HF_HOME", m_settings.path().toUtf8());
}

void TestReopenedSession::fill(Program& program, const Scratch& folder) {
    const std::string textFile = folder.write("words.txt", text());
    EvaluationChoice choice = program.live.choice();
    choice.text.path = textFile;
    choice.text.rules.window = 16;
    choice.tokens = 256;
    choice.extra.prompt.emplace().text = "the sand";
    choice.extra.prompt->newTokens = 4;
    TaskRequest task;
    task.path = folder.write("words.jsonl", questions());
    task.limit = 9;
    choice.extra.tasks = {task};
    program.live.choose(choice);
    program.window.open(writeModel(folder));
    QTRY_VERIFY(program.isMeasured());
    choice = program.live.choice();
    choice.extra.speed = SpeedRequest{3, 4, 1, 3}; // chosen later than the others
    program.live.choose(choice);
    QTRY_VERIFY(program.isMeasured());

    MeasureChoice measuring;
    measuring.text = textFile;
    measuring.tokens = 128;
    program.document.measurements()->chooseMeasuring(measuring, false);
    program.document.measurements()->measure(parseMetricRequests("sink_head,attention_pattern,gnorm"));
    MaskEditor& masks = *program.document.masks();
    Protection units;
    units.protectHead(masks.spec(), {1, 1});
    masks.setProtected(units, "Protect");
    masks.setHeadsCut({{0, 1}}, true);
    masks.renameMask("first");
    QTRY_VERIFY(program.isMeasured());
    masks.duplicateMask();
    masks.setHeadsCut({{1, 0}}, true);
    masks.setNote("two heads");
    QTRY_VERIFY(program.isMeasured());
    masks.duplicateMask();
    masks.clearMask();
    masks.setCurrent(0);
    program.window.showResult("sink_head");
    program.document.setView("layers.metrics", "gate_norm,attention_ratio");
    QTRY_VERIFY(program.isMeasured());
}

void TestReopenedSession::aSessionComesBackAsItWas() {
    const Scratch folder;
    const QString first = folder.path("first.h5");
    const QString second = folder.path("second.h5");
    MaskState before;
    ExtraChoice extra;
    {
        Program program;
        fill(program, folder);
        before = program.document.masks()->state();
        extra = program.live.choice().extra;
        program.save(first);
        QVERIFY2(program.failures.isEmpty(), qPrintable(program.failures.join('\n')));
    }
    Program program;
    program.window.open(first);
    QTRY_VERIFY(program.document.model() && program.jobs.isIdle());
    QTest::qWait(1500);                                        // evaluations begin a moment after a model is open
    QCOMPARE(program.titles, QStringList{"Opening first.h5"}); // nothing is measured anew
    QCOMPARE(program.live.state(), LiveEvaluation::State::complete);
    QCOMPARE(program.live.extra()->state(), ExtraEvaluation::State::complete);
    QVERIFY(!program.document.isModified());
    const MaskState& after = program.document.masks()->state();
    QCOMPARE(after.masks.size(), before.masks.size());
    QCOMPARE(after.current, before.current);
    QVERIFY(*after.isProtected == *before.isProtected);
    QVERIFY(program.live.choice().extra == extra);
    QCOMPARE(program.live.extra()->result(extra.tasks[0])->task->run.scores.count, 9U);
    QVERIFY(program.live.prediction()->state() == MaskPrediction::State::ready);
    program.save(second);

    const Session one = readSession(first.toStdString());
    const Session two = readSession(second.toStdString());
    QVERIFY(one.results.size() >= parseMetricRequests("weights").size() + 3);
    QCOMPARE(two.results.size(), one.results.size());
    QCOMPARE(two.masks.size(), one.masks.size());
    QCOMPARE(two.evaluations.size(), one.evaluations.size());
    for (const auto& [name, value] : one.view)
        QCOMPARE(name + "=" + (two.view.contains(name) ? two.view.at(name) : "missing"), name + "=" + value);
    QCOMPARE(two.view.size(), one.view.size());
    QVERIFY(areEqualAsFiles(one, two, folder));
}

void TestReopenedSession::theSameModelIsOpenedAgain() {
    const Scratch folder;
    Program program;
    fill(program, folder);
    program.document.masks()->clearMask(); // as the new model's mask
    QTRY_VERIFY(program.isMeasured());
    program.document.files()->open(folder.path());
    QTRY_VERIFY(!program.document.files()->isOpening());
    QTRY_VERIFY(program.isMeasured());
    QCOMPARE(program.document.session().evaluations.size(), 1U);
    QVERIFY2(program.failures.isEmpty(), qPrintable(program.failures.join('\n')));
}

SECATEUR_SUITE(TestReopenedSession)
#include "tst_reopened_session.moc"
