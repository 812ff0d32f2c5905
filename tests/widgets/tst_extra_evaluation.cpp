// Evaluations of a mask other than the loss on a text (tasks, speed, continuation of a prompt) with a small model, and
// their display in the window.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include <ATen/ATen.h>

#include "analysis/running/runner.h"
#include "backends/text/task_file.h"
#include "backends/session/mask_json.h"
#include "backends/engine/open_model.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/engine/adapted_model.h"
#include "backends/engine/plan_memory.h"
#include "tests/support/drawn_text.h"
#include "tests/support/files.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/evaluations/evaluation_table.h"
#include "widgets/evaluations/extra_choice_dialog.h"
#include "widgets/evaluations/adapter_evaluation.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/generation_view.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/theme.h"

#include <QAction>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QTextEdit>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <random>

using namespace secateur;
using test::Scratch;
using State = LiveEvaluation::State;
using ExtraState = ExtraEvaluation::State;

namespace {

template <typename Widget>
Widget* named(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

/// Copies a small model of tests/data/forward and a tokenizer whose tokens are single characters to `scratch`.
QString writeModel(const Scratch& scratch) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    for (const QString& file : {source + "config.json", source + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

/// Writes a classifier of three classes, with a tokenizer of the words w0 to w29.
QString writeClassifier(const Scratch& scratch) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/bert/";
    for (const char* file : {"config.json", "model.safetensors"})
        QFile::copy(source + file, scratch.path(file));
    QByteArrayList words{R"("[CLS]":30,"[SEP]":31,"[UNK]":32)"};
    for (int i = 0; i < 30; ++i)
        words << "\"w" + QByteArray::number(i) + "\":" + QByteArray::number(i);
    scratch.write("tokenizer_config.json", R"({"cls_token":"[CLS]","sep_token":"[SEP]"})");
    scratch.write("tokenizer.json", R"({"added_tokens":[],"normalizer":null,"decoder":null,
        "pre_tokenizer":{"type":"WhitespaceSplit"},
        "post_processor":{"type":"BertProcessing","sep":["[SEP]",31],"cls":["[CLS]",30]},
        "model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{)" +
                                        words.join(",") + "}}}");
    return scratch.path();
}

/// The label of a text of labelledTexts(). Labels differ in frequency, so that the accuracy shows which is predicted.
std::size_t labelOf(std::size_t text) {
    return text % 5 < 3 ? 0 : text % 5 - 2;
}

/// A task file of `count` labelled texts.
QByteArray labelledTexts(int count) {
    QByteArray rows;
    for (int i = 0; i < count; ++i) {
        QByteArrayList words;
        for (int j = 0; j <= i % 9; ++j)
            words << "w" + QByteArray::number((7 * i + 3 * j) % 30);
        rows += "{\"text\":\"" + words.join(' ') + "\",\"label\":" +
                QByteArray::number(static_cast<int>(labelOf(static_cast<std::size_t>(i)))) + "}\n";
    }
    return rows;
}

/// A task file of `count` multiple-choice questions, written with characters that the tokenizer knows.
QByteArray questions(int count) {
    const QByteArrayList words{"sand", "a tin", "hotel 1", "a", "he - robots", "21"};
    QByteArray rows;
    for (int i = 0; i < count; ++i)
        rows += "{\"query\":\"the " + words[i % 6] + " " + words[i / 6 % 6] + "\",\"choices\":[\"" +
                words[(i + 1) % 6] + "\",\"" + words[(i + 3) % 6] + "\",\"" + words[2 * i % 5] +
                "\"],\"gold\":" + QByteArray::number(i % 3) + "}\n";
    return rows;
}

/// An adapter that changes the values of all layers by random numbers.
Adapter drawnAdapter(const Model& model) {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    const auto numbers = [&](std::int64_t count) {
        std::vector<float> drawn(static_cast<std::size_t>(count));
        std::ranges::generate(drawn, [&] { return normal(random); });
        return drawn;
    };
    Adapter adapter;
    for (int layer = 0; layer < model.spec().layerCount(); ++layer) {
        const auto shape = expectedShape(model.spec(), layer, WeightName::value);
        adapter.updates[{layer, WeightName::value}] = {2, 0.5, numbers(2 * shape[1]), numbers(shape[0] * 2)};
    }
    return adapter;
}

Services services() {
    Services services;
    services.isSession = [](const std::string&) { return false; };
    services.openModel = [](const std::string& path, const Progress& progress) { return openModel(path, progress); };
    services.availableMemory = [] { return std::int64_t{1} << 32; };
    services.maskDigest = maskDigest;
    services.readText = [](const Model& model, const TextRequest& request, const Progress&) {
        if (request.path == "missing.txt")
            throw Error("is not there", request.path);
        test::DrawnText drawn(model.spec().vocab, 3);
        EvaluationText text{request.path, "sha256:drawn", drawn.fixedWindows(16, 14), {}};
        text.scored.rules.window = request.rules.window;
        text.scored.rules.mostTokens = request.rules.mostTokens;
        return text;
    };
    services.readTask = [](const Model& model, const TaskRequest& request, const Progress& progress) {
        AskedTask asked = readAskedTask(request, progress);
        nameClasses(asked, model.card());
        return asked;
    };
    services.openTokenizer = [](const Model& model) { return openTokenizer(model.card()); };
    services.openAdapter = [](const std::shared_ptr<const Model>& model, const std::string&) {
        const auto adapter = std::make_shared<const Adapter>(drawnAdapter(*model));
        return OpenedAdapter{withAdapter(model, adapter, {}), {"drawn", adapterDigest(*adapter)}, {}, {}};
    };
    services.stayTogether = stayTogether;
    services.overwrittenFiles = overwrittenFiles;
    return services;
}

struct Bench {
    /// Opens a session in place of a model.
    explicit Bench(const Session& session)
        : opened(session) {
        QObject::connect(&jobs, &JobRunner::started, &jobs, [this](quint64, const QString& title) { titles << title; });
        opened.model.path = writeModel(folder).toStdString();
        opened.model.fingerprint = openModel(opened.model.path, {})->fingerprint();
        document.files()->open("kept.h5");
        if (!QTest::qWaitFor([this] { return document.isOpen(); }))
            qFatal("the session did not open");
    }
    explicit Bench(const QString& text = "drawn.txt", QString (*write)(const Scratch&) = writeModel) {
        QObject::connect(&jobs, &JobRunner::started, &jobs, [this](quint64, const QString& title) { titles << title; });
        EvaluationChoice choice = live.choice();
        choice.text.path = text.toStdString();
        live.choose(choice);
        document.files()->open(write(folder));
        if (!QTest::qWaitFor([this] { return document.isOpen(); }))
            qFatal("the model did not open");
    }

    QString file(const char* name, int count) { return QString::fromStdString(folder.write(name, questions(count))); }
    void choose(const ExtraChoice& wanted) {
        EvaluationChoice choice = live.choice();
        choice.extra = wanted;
        live.choose(choice);
    }
    void cut(HeadId head) { document.masks()->setHeadsCut({head}, true); }
    bool isMeasured() const { return live.state() == State::complete && extra.state() == ExtraState::complete; }
    /// The evaluation of the current mask in the session; nullptr if there is none.
    const Evaluation* kept() {
        const std::string digest = maskDigest(document.masks()->mask());
        const auto& all = document.session().evaluations;
        const auto found = std::ranges::find_if(all, [&](const Evaluation& one) { return one.mask.digest == digest; });
        return found == all.end() ? nullptr : &*found;
    }

    Services openedServices() {
        Services made = services();
        made.isSession = [](const std::string& path) { return path == "kept.h5"; };
        made.readSession = [this](const std::string&) { return opened; };
        return made;
    }

    Scratch folder;
    Session opened;
    JobRunner jobs;
    Document document{openedServices(), &jobs};
    LiveEvaluation live{&document, &jobs};
    ExtraEvaluation& extra = *live.extra();
    QStringList titles; ///< titles of all jobs, in the order in which they were started
};

TaskRequest request(const QString& path, std::size_t limit = 0) {
    TaskRequest request;
    request.path = path.toStdString();
    request.limit = limit;
    return request;
}

PromptRequest prompt(const char* text, int tokens) {
    PromptRequest request;
    request.text = text;
    request.newTokens = tokens;
    return request;
}

constexpr SpeedRequest quick{3, 4, 1, 3};

} // namespace

class TestExtraEvaluation : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { QSettings().clear(); }
    void nothingChosenRunsNothing();
    void tasksFollowTheText();
    void theDenseModelIsAskedOnce();
    void anAddedTaskIsAskedOfTheDenseModelOnce();
    void whatASessionHasIsNotMeasuredAgain();
    void tasksAreNamedAfterTheirFormat();
    void anEditGivesUpWhatRuns();
    void whatWasStoppedGoesOn();
    void promptAndSpeedAreMeasured();
    void whatCannotBeMeasuredIsSaidAndTheRestGoesOn();
    void aTextThatCannotBeReadDoesNotStopTasks();
    void withoutAutomaticNothingRunsByItself();
    void secondsAreAnnouncedBeforeAnythingRuns();
    void anotherModelBeginsAnew();
    void theBoxChooses();
    void figuresAreShownBesideTheDenseModels();
    void aClassifierIsAskedForItsAccuracy();
    void anAdapterOfAClassifierIsEvaluated();
    void aFileThatWasOverwrittenIsSaid();
    void textsStandSideBySide();
    void picturesForAPerson();

private:
    QTemporaryDir m_settings;
};

void TestExtraEvaluation::initTestCase() {
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_settings.path());
    QCoreApplication::setOrganizationName("secateur");
    QCoreApplication::setApplicationName("secateur");
}

void TestExtraEvaluation::nothingChosenRunsNothing() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.extra.state(), ExtraState::off);
    bench.cut({0, 0});
    QTRY_COMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.extra.state(), ExtraState::off);
    QVERIFY2(bench.titles.filter("Timing").isEmpty(), qPrintable(bench.titles.join('\n')));
}

void TestExtraEvaluation::tasksFollowTheText() {
    Bench bench;
    const QString file = bench.file("words.jsonl", 36);
    ExtraChoice choice;
    choice.tasks = {request(file, 24)};
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    bench.cut({0, 1});
    bench.cut({1, 0});
    QCOMPARE(bench.extra.state(), ExtraState::waiting);
    QVERIFY(!bench.extra.result(choice.tasks[0]));
    QTRY_VERIFY(bench.isMeasured());
    const qsizetype text = bench.titles.lastIndexOf("Evaluating L0.H1, L1.H0");
    QVERIFY2(text >= 0 && text < bench.titles.lastIndexOf("Running words on L0.H1, L1.H0"),
             qPrintable(bench.titles.join('\n')));

    // The expected scores: the same task run directly with the engine, for the dense and for the masked model.
    const Model& model = *bench.document.model();
    AskedTask asked = readAskedTask(choice.tasks[0]);
    const auto tokenizer = openTokenizer(model.card());
    const auto dense = model.runner().plan(PruningMask(model.spec()), ComputeType::automatic);
    const auto cut = model.runner().plan(bench.document.masks()->mask(), ComputeType::automatic);
    const TaskRun before = askTask(model, *dense, *tokenizer, asked);
    const TaskRun after = askTask(model, *cut, *tokenizer, asked);
    const TaskEvaluation& found = bench.extra.result(choice.tasks[0])->task.value();
    QCOMPARE(found.name, "words");
    QCOMPARE(found.questions, 36U);
    QCOMPARE(found.run.scores.count, 24U);
    const std::vector<MetricDifference> expected = taskDifferences(before, after);
    QCOMPARE(found.reference->differences.size(), expected.size());
    double most = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        QCOMPARE(found.reference->differences[i].id, expected[i].id);
        QCOMPARE(found.reference->differences[i].value, expected[i].value);
        QCOMPARE(found.reference->differences[i].standardError, expected[i].standardError);
        most = std::max(most, std::abs(expected[i].value));
    }
    for (std::size_t i = 0; i < after.questions.size(); ++i)
        QCOMPARE(found.run.questions[i].scores.front().logProbability,
                 after.questions[i].scores.front().logProbability);
    qInfo() << "the largest of" << expected.size() << "differences is" << most;

    const Evaluation* kept = bench.kept();
    // The mask's loss and its task result are in the same evaluation.
    QVERIFY(kept && kept->text && kept->tasks.size() == 1);
    QVERIFY(!kept->tasks[0].reference);
    QCOMPARE(compared(bench.document.session(), *kept).tasks[0].reference->differences[0].value, expected[0].value);
}

void TestExtraEvaluation::theDenseModelIsAskedOnce() {
    Bench bench;
    ExtraChoice choice;
    choice.tasks = {request(bench.file("words.jsonl", 12)), request(bench.file("more.jsonl", 6))};
    choice.prompt = prompt("the", 3);
    bench.choose(choice);
    bench.cut({0, 0});
    QTRY_VERIFY(bench.isMeasured());
    bench.cut({1, 1});
    QTRY_VERIFY(bench.isMeasured());
    bench.document.masks()->undoStack()->undo();
    QTRY_VERIFY(bench.isMeasured()); // its results are known, so no job starts
    bench.document.masks()->clearMask();
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY(!bench.extra.result(choice.tasks[0])->task->reference);
    for (const char* title : {"Running words on the dense model", "Running more on the dense model",
                              "Continuing the prompt with the dense model"})
        QCOMPARE(bench.titles.count(title), 1);
    QCOMPARE(bench.titles.count("Running words on L0.H0"), 1);
    QCOMPARE(bench.titles.count("Running words on L0.H0, L1.H1"), 1);
    QCOMPARE(bench.titles.count("Reading words"), 1);
    // When a task is added, only that task runs.
    choice.tasks.push_back(request(bench.file("third.jsonl", 6)));
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    QCOMPARE(bench.titles.count("Running words on the dense model"), 1);
    QCOMPARE(bench.titles.count("Running third on the dense model"), 1);
}

void TestExtraEvaluation::anAddedTaskIsAskedOfTheDenseModelOnce() {
    Bench bench;
    ExtraChoice choice;
    choice.tasks = {request(bench.file("first.jsonl", 6))};
    bench.choose(choice);
    bench.cut({0, 0});
    QTRY_VERIFY(bench.isMeasured());
    bench.document.masks()->clearMask();
    QTRY_VERIFY(bench.isMeasured());
    // The text's results under the dense model are known. A task that is added then has to be read and asked.
    choice.tasks.push_back(request(bench.file("third.jsonl", 6)));
    bench.titles.clear();
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    QCOMPARE(bench.titles, (QStringList{"Reading third", "Running third on the dense model"}));
    bench.document.masks()->undoStack()->undo();
    QTRY_VERIFY(bench.isMeasured());
    QCOMPARE(bench.titles.count("Running third on the dense model"), 1);
    QCOMPARE(bench.titles.count("Running third on L0.H0"), 1);
    QVERIFY(bench.extra.result(choice.tasks[1])->task->reference);
}

void TestExtraEvaluation::whatASessionHasIsNotMeasuredAgain() {
    Session session;
    ExtraChoice choice;
    Scratch files;
    const QString file = QString::fromStdString(files.write("words.jsonl", questions(12)));
    choice.tasks = {request(file, 6)};
    choice.prompt = prompt("the", 3);
    choice.speed = quick;
    {
        Bench bench;
        bench.choose(choice);
        bench.cut({0, 0});
        QTRY_VERIFY(bench.isMeasured());
        QTRY_VERIFY(bench.jobs.isIdle());
        session = bench.document.snapshot();
    }
    Bench bench(session);
    bench.choose(choice);
    QTRY_VERIFY(bench.jobs.isIdle());
    for (const char* work : {"Evaluating", "Running", "Timing the", "Timing L", "Continuing", "Reading"})
        QVERIFY2(bench.titles.filter(work).isEmpty(), qPrintable(bench.titles.join('\n')));
    QCOMPARE(bench.extra.state(), ExtraState::complete);
    const TaskEvaluation& task = bench.extra.result(choice.tasks[0])->task.value();
    QCOMPARE(task.run.scores.count, 6U);
    QVERIFY(task.reference && !task.reference->differences.empty());
    QVERIFY(bench.extra.result(*choice.prompt)->written && bench.extra.denseResult(*choice.prompt));
    QCOMPARE(bench.extra.result(quick)->latency->run.seconds.size(), 3U);
    bench.cut({1, 1}); // another mask is measured, and compared with the stored results of the dense model
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY(bench.titles.filter("on the dense model").isEmpty());
    QVERIFY(bench.extra.result(choice.tasks[0])->task->reference);
}

void TestExtraEvaluation::tasksAreNamedAfterTheirFormat() {
    QCOMPARE(shownTask("piqa", "valid"), QString("piqa"));
    QCOMPARE(shownTask("generic", "words"), QString("words"));
    QCOMPARE(shownTask("", "valid"), QString("valid"));
}

void TestExtraEvaluation::anEditGivesUpWhatRuns() {
    Bench bench;
    ExtraChoice choice;
    choice.tasks = {request(bench.file("many.jsonl", 4000))};
    QTRY_COMPARE(bench.live.state(), State::complete);
    bench.choose(choice);
    QTRY_COMPARE(bench.extra.state(), ExtraState::running);
    bench.cut({0, 0});
    QVERIFY(bench.extra.state() != ExtraState::running);
    QTRY_COMPARE(bench.live.state(), State::complete); // the text is always evaluated before tasks
    QTRY_COMPARE(bench.extra.state(), ExtraState::running);
    bench.cut({1, 1});
    choice.tasks = {request(bench.file("few.jsonl", 6))};
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    for (const Evaluation& evaluation : bench.document.session().evaluations)
        QVERIFY(std::ranges::find(evaluation.tasks, "many", &TaskEvaluation::name) == evaluation.tasks.end());
    QCOMPARE(bench.kept()->tasks.size(), 1U);
}

void TestExtraEvaluation::whatWasStoppedGoesOn() {
    Bench bench;
    ExtraChoice choice;
    choice.tasks = {request(bench.file("few.jsonl", 6)), request(bench.file("many.jsonl", 4000))};
    QTRY_COMPARE(bench.live.state(), State::complete);
    bench.choose(choice);
    QTRY_VERIFY(bench.extra.result(choice.tasks[0]));
    QTRY_VERIFY(bench.extra.isRunning(choice.tasks[1]));
    bench.live.stopHere();
    QCOMPARE(bench.extra.state(), ExtraState::stopped);
    QVERIFY(bench.extra.result(choice.tasks[0]) && !bench.extra.result(choice.tasks[1]));
    QCOMPARE(bench.kept()->tasks.size(), 1U);
    QCOMPARE(bench.live.state(), State::complete); // the loss on the text was already complete
    bench.live.evaluate();
    QCOMPARE(bench.extra.state(), ExtraState::running);
    QVERIFY(bench.extra.isRunning(choice.tasks[1]));
    QCOMPARE(bench.titles.count("Running few on the dense model"), 1);
}

void TestExtraEvaluation::promptAndSpeedAreMeasured() {
    Bench bench;
    ExtraChoice choice;
    choice.prompt = prompt("the sand", 6);
    choice.speed = quick;
    bench.choose(choice);
    bench.cut({0, 1});
    QTRY_VERIFY(bench.isMeasured());
    const Model& model = *bench.document.model();
    const auto tokenizer = openTokenizer(model.card());
    const auto plan = model.runner().plan(bench.document.masks()->mask(), ComputeType::automatic);
    const PromptContinuation expected = continuePrompt(model, *plan, *tokenizer, *choice.prompt);
    const PromptContinuation& written = bench.extra.result(*choice.prompt)->written.value();
    QCOMPARE(written.text, expected.text);
    QCOMPARE(written.continuation.tokens, expected.continuation.tokens);
    const Latency& latency = bench.extra.result(quick)->latency.value();
    QCOMPARE(latency.run.seconds.size(), 3U);
    QCOMPARE(latency.reference->seconds.size(), 3U);
    QVERIFY(latency.speedup->ratio > 0);
    const Evaluation* kept = bench.kept();
    QVERIFY(kept->text && kept->latency && kept->continuations.size() == 1);
    QVERIFY(kept->latency->reference);
    bench.document.masks()->clearMask();
    // The times of the dense model, which were measured alternately with those of the mask.
    QCOMPARE(bench.kept()->latency->run.seconds, latency.reference->seconds);
    QTRY_VERIFY(bench.isMeasured());
    QCOMPARE(bench.titles.count("Timing the dense model"), 0);

    EvaluationTable table(&bench.document);
    QCOMPARE(table.headerData(9, Qt::Horizontal, Qt::DisplayRole).toString(), "tokens/s");
    for (int row = 0; row < table.rowCount(); ++row)
        QVERIFY(table.data(table.index(row, 9), EvaluationTable::numberRole).toDouble() > 0);
}

void TestExtraEvaluation::whatCannotBeMeasuredIsSaidAndTheRestGoesOn() {
    Bench bench;
    ExtraChoice choice;
    choice.prompt = prompt("the", 100'000);
    choice.tasks = {request(bench.folder.path("absent.jsonl")), request(bench.file("few.jsonl", 6))};
    choice.tasks[1].shots = 7;     // more examples than the task's 6 questions allow
    choice.speed = SpeedRequest{}; // the default numbers of tokens exceed the model's context of 64
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY2(bench.extra.problem(choice.tasks[0]).contains("absent.jsonl: "),
             qPrintable(bench.extra.problem(choice.tasks[0])));
    QVERIFY2(bench.extra.problem(choice.tasks[1]).contains("7 are needed"),
             qPrintable(bench.extra.problem(choice.tasks[1])));
    QVERIFY2(bench.extra.problem(*choice.speed).contains("do not fit the model's context of 64"),
             qPrintable(bench.extra.problem(*choice.speed)));
    QVERIFY(bench.extra.result(*choice.prompt)); // the continuation ends where the context is full
    QCOMPARE(bench.extra.result(*choice.prompt)->written->continuation.end, TextEnd::contextFull);
    // After the choices are corrected, everything is measured.
    choice.tasks[1].shots = 1;
    choice.tasks[0].path = bench.file("absent.jsonl", 6).toStdString();
    choice.speed = quick;
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    for (const ExtraItem& item : choice.items())
        QVERIFY(bench.extra.result(item) && bench.extra.problem(item).isEmpty());
}

void TestExtraEvaluation::aTextThatCannotBeReadDoesNotStopTasks() {
    Bench bench("missing.txt");
    ExtraChoice choice;
    choice.tasks = {request(bench.file("few.jsonl", 6))};
    bench.choose(choice);
    QTRY_COMPARE(bench.extra.state(), ExtraState::complete);
    QCOMPARE(bench.live.state(), State::failed);
    QVERIFY(bench.extra.result(choice.tasks[0]));
}

void TestExtraEvaluation::withoutAutomaticNothingRunsByItself() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    EvaluationChoice choice = bench.live.choice();
    choice.isAutomatic = false;
    choice.extra.tasks = {request(bench.file("few.jsonl", 6))};
    bench.live.choose(choice);
    QCOMPARE(bench.extra.state(), ExtraState::waiting);
    QTest::qWait(500);
    QCOMPARE(bench.extra.state(), ExtraState::waiting);
    bench.live.evaluate();
    QTRY_COMPARE(bench.extra.state(), ExtraState::complete);
}

void TestExtraEvaluation::secondsAreAnnouncedBeforeAnythingRuns() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    const ExtraItem task = request(bench.file("words.jsonl", 36), 10);
    bench.extra.announce({task, quick, prompt("the", 3)});
    QTRY_VERIFY(bench.jobs.isIdle() && bench.extra.forecast(prompt("the", 3)));
    const ExtraForecast& words = *bench.extra.forecast(task);
    QVERIFY(words.seconds > 0);
    QCOMPARE(words.formatId, "generic");
    QCOMPARE(words.asked, 10U);
    QCOMPARE(words.questions, 36U);
    QVERIFY(bench.extra.forecast(quick)->seconds > bench.extra.forecast(prompt("the", 3))->seconds);
    QCOMPARE(bench.extra.state(), ExtraState::off);
    QVERIFY(!bench.extra.result(task));
}

void TestExtraEvaluation::anotherModelBeginsAnew() {
    Bench bench;
    ExtraChoice choice;
    choice.tasks = {request(bench.file("few.jsonl", 6))};
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    bench.document.files()->open(bench.folder.path());
    QTRY_COMPARE(bench.titles.count("Running few on the dense model"), 2);
    QTRY_VERIFY(bench.isMeasured());
    QCOMPARE(bench.document.session().evaluations.size(), 1U);
}

void TestExtraEvaluation::theBoxChooses() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    ExtraChoiceDialog box(&bench.live);
    box.show();
    const QString file = bench.file("words.jsonl", 36);
    box.addTask(file);
    box.addTask(file); // a second task of the same name is not added, because results are stored by name
    QCOMPARE(bench.live.choice().extra.tasks.size(), 1U);
    QCOMPARE(bench.live.choice().extra.tasks[0].limit, 100U);
    QTRY_VERIFY(bench.isMeasured());
    const auto says = [&](const QString& text) {
        const auto labels = box.findChildren<QLabel*>();
        return std::ranges::any_of(labels, [&](const QLabel* label) { return label->text().contains(text); });
    };
    QTRY_VERIFY(says("generic, 36 of 36, less than 1 s"));
    auto* limit = named<QSpinBox>(box, "Questions of words");
    limit->setValue(12);
    emit limit->editingFinished();
    QCOMPARE(bench.live.choice().extra.tasks[0].limit, 12U);
    QTRY_VERIFY(says("generic, 12 of 36"));
    for (QCheckBox* check : box.findChildren<QCheckBox*>())
        check->click();
    QVERIFY(bench.live.choice().extra.speed);
    QVERIFY(!bench.live.choice().extra.prompt->text.empty()); // choosing the prompt fills in a default text
    auto* text = named<QLineEdit>(box, "Prompt to continue");
    text->setText("the tin");
    emit text->editingFinished();
    QCOMPARE(bench.live.choice().extra.prompt->text, "the tin");
    named<QToolButton>(box, "Remove words")->click();
    QVERIFY(bench.live.choice().extra.tasks.empty());
    // Opens the dialog again.
    ExtraChoiceDialog next(&bench.live);
    QCOMPARE(named<QLineEdit>(next, "Prompt to continue")->text(), "the tin");
    auto* recent = next.findChild<QMenu*>();
    emit recent->aboutToShow();
    QCOMPARE(recent->actions().front()->text(), "words.jsonl");
    recent->actions().front()->trigger();
    QCOMPARE(bench.live.choice().extra.tasks[0].path, file.toStdString());
}

void TestExtraEvaluation::figuresAreShownBesideTheDenseModels() {
    Bench bench;
    EffectBox effect(&bench.live);
    effect.show();
    ExtraChoice choice;
    choice.tasks = {request(bench.file("words.jsonl", 36))};
    choice.prompt = prompt("the sand", 6);
    choice.speed = quick;
    bench.choose(choice);
    bench.cut({0, 1});
    bench.cut({1, 0});
    QTRY_VERIFY(bench.isMeasured());
    const TaskEvaluation& task = bench.extra.result(choice.tasks[0])->task.value();
    const QString before = QString::number(100 * task.reference->run.scores.metric("acc").value, 'f', 1);
    const QString after = QString::number(100 * task.run.scores.metric("acc").value, 'f', 1);
    QCOMPARE(named<QLabel>(effect, "words")->text(), before + " % → " + after + " %");
    const QString change = named<QLabel>(effect, "Change of words")->text();
    QVERIFY2(change.endsWith(" points") || change == "no change", qPrintable(change));
    QVERIFY(named<QLabel>(effect, "tokens/s")->text().contains(" → "));
    QVERIFY(named<QLabel>(effect, "Change of tokens/s")->text().startsWith("× "));
    QVERIFY(!named<QLabel>(effect, "prompt")->text().isEmpty());
    // The button that starts missing measurements is hidden, because nothing is missing.
    QVERIFY(!effect.findChild<QToolButton*>()->isVisible());
    bench.choose({});
    const auto labels = effect.findChildren<QLabel*>();
    QVERIFY(std::ranges::none_of(labels, [](const QLabel* label) { return label->accessibleName() == "words"; }));
}

void TestExtraEvaluation::anAdapterOfAClassifierIsEvaluated() {
    Bench bench("drawn.txt", writeClassifier);
    AdapterEvaluation adapters(&bench.document, &bench.jobs, &bench.live);
    QVERIFY(!adapters.isPossible()); // no task is chosen
    ExtraChoice choice;
    choice.tasks = {request(QString::fromStdString(bench.folder.write("topics.jsonl", labelledTexts(45))))};
    bench.choose(choice);
    QVERIFY(adapters.isPossible());
    bench.document.masks()->setMlpCut({0}, true);
    adapters.evaluateFolder("/somewhere/drawn");
    QTRY_VERIFY(!adapters.isBusy() && bench.jobs.isIdle());

    const auto model = bench.document.model();
    AskedTask asked = readAskedTask(choice.tasks[0]);
    nameClasses(asked, model->card());
    const auto adapted = withAdapter(model, std::make_shared<const Adapter>(drawnAdapter(*model)), {});
    const auto accuracyOf = [&](const Model& own, const PruningMask& mask) {
        const auto plan = own.runner().plan(mask, ComputeType::automatic);
        const auto tokenizer = openTokenizer(model->card());
        const TaskRun run = askTask(own, *plan, *tokenizer, asked);
        return run.scores.metric("acc").value;
    };
    const PruningMask& mask = bench.document.masks()->mask();
    const auto& all = bench.document.session().evaluations;
    const auto found = std::ranges::find_if(all, [](const Evaluation& one) { return one.adapter.isPresent(); });
    QVERIFY(found != all.end());
    QCOMPARE(found->adapter.name, std::string("drawn"));
    QCOMPARE(found->mask.digest, maskDigest(mask));
    QCOMPARE(found->tasks.size(), std::size_t{1});
    const TaskEvaluation& task = found->tasks.front();
    QCOMPARE(task.run.scores.metric("acc").value, accuracyOf(*adapted, mask));
    const Evaluation shown = compared(bench.document.session(), *found); // with that of the dense model
    QVERIFY(shown.tasks.front().reference);
    QCOMPARE(shown.tasks.front().reference->run.scores.metric("acc").value,
             accuracyOf(*model, PruningMask(model->spec())));
    QVERIFY(task.run.scores.metric("acc").value != accuracyOf(*model, mask));
}

void TestExtraEvaluation::aClassifierIsAskedForItsAccuracy() {
    Bench bench("drawn.txt", writeClassifier);
    EffectBox effect(&bench.live);
    effect.show();
    QCOMPARE(bench.live.state(), State::noLoss);
    QVERIFY(named<QLabel>(effect, "State of the evaluation")->text().contains("accuracy needs a task"));
    ExtraChoice choice;
    choice.tasks = {request(QString::fromStdString(bench.folder.write("topics.jsonl", labelledTexts(45))))};
    bench.choose(choice);
    for (int layer = 0; layer < bench.document.spec().layerCount(); ++layer)
        bench.document.masks()->setMlpCut({layer}, true);
    QTRY_VERIFY(bench.extra.state() == ExtraState::complete && bench.extra.result(choice.tasks[0]));

    const Model& model = *bench.document.model();
    AskedTask asked = readAskedTask(choice.tasks[0]);
    nameClasses(asked, model.card());
    const auto tokenizer = openTokenizer(model.card());
    const auto shareOf = [&](const PruningMask& mask) {
        const auto plan = model.runner().plan(mask, ComputeType::automatic);
        const TaskRun run = askTask(model, *plan, *tokenizer, asked);
        int right = 0;
        for (std::size_t i = 0; i < run.questions.size(); ++i)
            right += run.questions[i].byTotal == labelOf(i) ? 1 : 0;
        return right / 45.0;
    };
    const double before = shareOf(PruningMask(model.spec()));
    const double after = shareOf(bench.document.masks()->mask());
    const TaskEvaluation& found = bench.extra.result(choice.tasks[0])->task.value();
    QCOMPARE(found.formatId, "classification");
    QCOMPARE(found.run.scores.metric("acc").value, after);
    QCOMPARE(found.reference->run.scores.metric("acc").value, before);
    QVERIFY(before > 0 && before < 1);
    const auto percent = [](double share) { return QString::number(100 * share, 'f', 1) + " %"; };
    QCOMPARE(named<QLabel>(effect, "topics")->text(), percent(before) + " → " + percent(after));
    qInfo("accuracy %s, %s", qPrintable(named<QLabel>(effect, "topics")->text()),
          qPrintable(named<QLabel>(effect, "Change of topics")->text()));
    // The table shows the same in the row of the mask.
    const EvaluationTable table(&bench.document);
    QStringList cells;
    for (int row = 0; row < table.rowCount(); ++row)
        for (int column = 0; column < table.columnCount(); ++column)
            cells << table.data(table.index(row, column), Qt::DisplayRole).toString();
    QVERIFY2(cells.filter(QString::number(100 * after, 'f', 1)).size() > 0, qPrintable(cells.join(" | ")));
    const Evaluation* kept = bench.kept();
    QVERIFY(kept && !kept->text && kept->tasks.size() == 1);
}

void TestExtraEvaluation::aFileThatWasOverwrittenIsSaid() {
    Bench bench;
    EffectBox effect(&bench.live);
    ExtraChoice choice;
    choice.tasks = {request(bench.file("words.jsonl", 6))};
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    const auto isSaid = [&] {
        return named<QLabel>(effect, "State of the evaluation")->text().contains("file was overwritten");
    };
    QVERIFY(!isSaid() && bench.live.warnings().empty());
    const QString path = bench.folder.path("model.safetensors");
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadWrite));
    const QByteArray whole = file.readAll();
    file.seek(0);
    QTest::qWait(20); // so that the time of the change differs
    file.write(whole);
    file.close();
    bench.cut({0, 0});
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY(isSaid());
    const std::string warning =
        path.toStdString() + " was written to while it was open: the results may mix old and new weights";
    QCOMPARE(bench.live.warnings(), std::vector{warning});
    QCOMPARE(bench.extra.result(choice.tasks[0])->warnings, std::vector{warning});
    const Evaluation* kept = bench.kept();
    QVERIFY(kept && kept->warnings == std::vector{warning});
    bench.document.files()->open(bench.folder.path());
    QTRY_VERIFY(bench.document.isOpen() && bench.isMeasured() && bench.live.warnings().empty());
    QVERIFY(!isSaid());
}

void TestExtraEvaluation::textsStandSideBySide() {
    Bench bench;
    GenerationView view(&bench.document, &bench.extra);
    view.show();
    auto* dense = named<QTextEdit>(view, "Text of the dense model");
    auto* mask = named<QTextEdit>(view, "Text under the mask");
    QVERIFY(!dense->isVisible());
    ExtraChoice choice;
    choice.prompt = prompt("the sand", 20);
    bench.choose(choice);
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY(dense->isVisible() && dense->toPlainText().startsWith("the sand"));
    QVERIFY(mask->toPlainText().isEmpty());
    for (int layer = 0; layer < bench.document.spec().layerCount(); ++layer)
        bench.document.masks()->setAttention({layer}, AttentionCut::drop);
    QTRY_VERIFY(bench.isMeasured());
    QVERIFY(mask->toPlainText().startsWith("the sand"));
    const QString left = dense->toPlainText();
    const QString right = mask->toPlainText();
    QVERIFY(left != right);
    QCOMPARE(mask->extraSelections().size(), 1);
    const int place = mask->extraSelections().front().cursor.selectionStart();
    QCOMPARE(left.left(place), right.left(place));
    QCOMPARE(dense->extraSelections().front().cursor.selectionStart(), place);
}

void TestExtraEvaluation::picturesForAPerson() {
    const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
    if (folder.isEmpty())
        QSKIP("SECATEUR_SCREENSHOTS names no folder");
    Bench bench;
    GenerationView view(&bench.document, &bench.extra);
    EffectBox effect(&bench.live);
    ExtraChoice choice;
    choice.tasks = {request(bench.file("arc_easy.jsonl", 36), 24), request(bench.folder.path("absent.jsonl"))};
    choice.prompt = prompt("the sand", 20);
    choice.speed = quick;
    bench.choose(choice);
    bench.cut({0, 1});
    ExtraChoiceDialog chosen(&bench.live);
    for (const char* theme : {"light", "dark"}) {
        applyTheme(theme);
        chosen.show();
        view.resize(900, 200);
        view.show();
        effect.resize(280, 320);
        effect.show();
        QTRY_VERIFY(bench.isMeasured() && bench.jobs.isIdle());
        QTest::qWait(100);
        QVERIFY(chosen.grab().save(QString("%1/extra_box_%2.png").arg(folder, theme)));
        QVERIFY(view.grab().save(QString("%1/extra_texts_%2.png").arg(folder, theme)));
        QVERIFY(effect.grab().save(QString("%1/extra_effect_%2.png").arg(folder, theme)));
    }
}

SECATEUR_SUITE(TestExtraEvaluation)
#include "tst_extra_evaluation.moc"
