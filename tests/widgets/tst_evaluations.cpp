// Evaluations of a session in the window: their fixed size, reopening without measuring anew, rows and names of masks.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include <ATen/ATen.h>

#include "analysis/running/runner.h"
#include "backends/engine/adapted_model.h"
#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "tests/support/drawn_text.h"
#include "tests/support/expected.h"
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_names.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/evaluations/adapter_evaluation.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/evaluations/evaluation_table.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/heads/gradient_view.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/window/main_window.h"
#include "widgets/window/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include <mutex>

using namespace secateur;
using State = LiveEvaluation::State;
using ExtraState = ExtraEvaluation::State;

namespace {

constexpr std::size_t windows = 24;
constexpr int window = 14;

template <typename Widget>
Widget* named(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

/// An adapter that changes the first layer of llama-gqa's queries by random numbers.
std::shared_ptr<const Adapter> drawnAdapter() {
    const auto model = openModel((test::data().filePath("forward/llama-gqa")).toStdString());
    const std::vector<std::int64_t> shape = model->tensor(0, WeightName::query).sizes().vec();
    at::manual_seed(7);
    const auto numbers = [](std::int64_t count) {
        const at::Tensor drawn = at::randn({count});
        return std::vector<float>(drawn.data_ptr<float>(), drawn.data_ptr<float>() + count);
    };
    Adapter adapter;
    adapter.updates[{0, WeightName::query}] = {2, 0.5, numbers(2 * shape[1]), numbers(shape[0] * 2)};
    return std::make_shared<const Adapter>(std::move(adapter));
}

/// A window's parts without the window, on a small model. It opens a model, or the session in `kept`.
struct Bench {
    explicit Bench(const QString& model = "llama-gqa") { open(test::data().filePath("forward/" + model)); }
    explicit Bench(const Session& session, bool hasCheckpoint = true)
        : kept(session)
        , isThere(hasCheckpoint) {
        open("kept.h5");
    }

    void open(const QString& path) {
        QObject::connect(&jobs, &JobRunner::started, &jobs, [this](quint64, const QString& title) { titles << title; });
        document.files()->open(path);
        if (!QTest::qWaitFor([this] { return document.isOpen(); }))
            qFatal("the document did not open");
    }
    Services services() {
        Services services;
        services.isSession = [](const std::string& path) { return path == "kept.h5"; };
        services.readSession = [this](const std::string&) { return kept; };
        services.openModel = [this](const std::string& path, const Progress& progress) {
            if (!isThere)
                throw Error("is not there", path);
            return openModel(path, progress);
        };
        services.availableMemory = [] { return std::int64_t{1} << 32; };
        services.maskDigest = maskDigest;
        services.readText = [this](const Model& model, const TextRequest& request, const Progress&) {
            const std::lock_guard lock(mutex);
            asked << static_cast<qint64>(request.rules.mostTokens);
            test::DrawnText drawn(model.spec().vocab, 3);
            EvaluationText text{"built-in", "sha256:drawn", drawn.fixedWindows(windows, window), {}};
            text.scored.rules.window = request.rules.window;
            text.scored.rules.mostTokens = request.rules.mostTokens;
            return text;
        };
        services.readTask = [](const Model&, const TaskRequest& request, const Progress&) -> AskedTask {
            throw Error("is no task", request.path);
        };
        services.readSequences = [](const Model& model, const std::string&, std::int64_t, const Progress&) {
            SequenceText text;
            text.set = test::DrawnText(model.spec().vocab, 5).fixedWindows(6, window).windows;
            text.data = MeasuredData{"built-in", 6, 6 * window, 6 * window, window, "document", "never"};
            text.digest = "sha256:sequences";
            return text;
        };
        services.openAdapter = [](const std::shared_ptr<const Model>& model, const std::string& folder) {
            const auto adapter = drawnAdapter();
            OpenedAdapter opened{withAdapter(model, adapter, {}, folder), {"lora", adapterDigest(*adapter)}, {}, {}};
            opened.warnings = {"was trained elsewhere"};
            return opened;
        };
        return services;
    }
    /// The session as it would be saved.
    Session saved() const {
        Session session = document.snapshot();
        session.model.fingerprint = document.model()->fingerprint();
        return session;
    }
    void cut(HeadId head) { document.masks()->setHeadsCut({head}, true); }
    void finish() {
        QTRY_COMPARE(live.state(), State::complete);
        QTRY_VERIFY(jobs.isIdle());
    }
    qsizetype evaluated() const { return titles.filter("Evaluating").size(); }

    Session kept;
    bool isThere = true;
    std::mutex mutex;
    QList<qint64> asked; ///< maximum numbers of tokens of the texts that were read
    QStringList titles;  ///< of all jobs
    JobRunner jobs;
    Document document{services(), &jobs};
    LiveEvaluation live{&document, &jobs};
};

QString usualKey(const Model& model) {
    return "evaluation/usualTokens/" + QString::fromStdString(model.fingerprint());
}

/// A session with the dense model and one mask scored.
Session scoredSession() {
    Bench bench;
    bench.finish();
    bench.cut({1, 0});
    bench.document.masks()->renameMask("first");
    bench.finish();
    return bench.saved();
}

} // namespace

class TestEvaluations : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { QSettings().clear(); }
    void theSizeIsDecidedOncePerModel();
    void aReopenedSessionIsNotScoredAgain();
    void aReopenedSessionTakesItsOwnSize();
    void storedValuesAreShownWithoutTheCheckpoint();
    void titlesTellWhatIsCut();
    void titlesFollowEditsAndNamesStay();
    void rowsAreRenamedWithTheirMasks();
    void rowsAreRemovedAndBroughtBack();
    void rowsAreCompared();
    void anAdapterIsARowOfItsOwn();
    void theListOffersEvaluatedMasks();
    void anEncoderShowsItsPooledDistance();
    void aClassifierAsksForATask();
    void thePanelKeepsItsRowsInPlace();
    void gradientsSayHowLongTheyTakeAndWhenTheyAreOld();
    void menusHoldMeasurementsAndExport();
    void picturesForAPerson();

private:
    QTemporaryDir m_settings;
};

void TestEvaluations::initTestCase() {
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_settings.path());
    QCoreApplication::setOrganizationName("secateur");
    QCoreApplication::setApplicationName("secateur");
}

void TestEvaluations::theSizeIsDecidedOncePerModel() {
    {
        Bench bench;
        bench.finish();
        QCOMPARE(bench.asked.first(), 8192);
        QCOMPARE(bench.live.usualTokens(), std::optional<std::int64_t>(8192));
        QCOMPARE(bench.document.session().view.at("evaluation.usual_tokens"), std::string("8192"));
        QCOMPARE(QSettings().value(usualKey(*bench.document.model())).toLongLong(), 8192);
        // A later run keeps what was decided, however fast or slow the machine is then.
        QSettings().setValue(usualKey(*bench.document.model()), 1024);
    }
    Bench later;
    later.finish();
    QCOMPARE(later.asked.first(), 1024);
    QCOMPARE(later.document.session().view.at("evaluation.usual_tokens"), std::string("1024"));
}

void TestEvaluations::aReopenedSessionIsNotScoredAgain() {
    const Session session = scoredSession();
    QCOMPARE(session.evaluations.size(), std::size_t(2));
    Bench bench(session);
    QVERIFY(bench.document.model());
    bench.finish();
    QTest::qWait(500); // longer than the pause after an edit
    QCOMPARE(bench.evaluated(), 0);
    QVERIFY(bench.asked.isEmpty());
    const TextEvaluation& stored = *session.evaluations[1].text;
    QCOMPARE(bench.live.shown()->run.lossNats, stored.perplexity.lossNats);
    QCOMPARE(bench.live.shown()->difference.nats,
             compared(session, session.evaluations[1]).text->reference->difference.nats);
    bench.document.masks()->clearMask();
    QCOMPARE(bench.live.state(), State::complete); // the dense model is stored too
    QVERIFY(bench.document.session().evaluations[0].created == session.evaluations[0].created);
    // Another mask is scored on the same windows; the dense model is not.
    bench.cut({0, 3});
    bench.finish();
    QCOMPARE(bench.evaluated(), 1);
    const auto& evaluations = bench.document.session().evaluations;
    QCOMPARE(evaluations.size(), std::size_t(3));
    QCOMPARE(evaluations[0].created, session.evaluations[0].created);
    QCOMPARE(compared(bench.document.session(), evaluations[2]).text->reference->perplexity.lossNats,
             session.evaluations[0].text->perplexity.lossNats);
    QCOMPARE(bench.live.shown()->dense.lossNats, session.evaluations[0].text->perplexity.lossNats);
}

void TestEvaluations::aReopenedSessionTakesItsOwnSize() {
    Session session = scoredSession();
    session.view.clear(); // as in sessions of the command line, and of earlier versions
    for (Evaluation& evaluation : session.evaluations) {
        evaluation.text->perplexity.rules.mostTokens = 3000;
        evaluation.text->perplexity.rules.window = 256;
    }
    QSettings().clear();
    Bench bench(session);
    bench.finish();
    QCOMPARE(bench.evaluated(), 0);
    QCOMPARE(bench.live.choice().text.rules.window, 256);
    bench.cut({0, 3});
    bench.finish();
    QVERIFY(bench.asked.contains(3000) && !bench.asked.contains(8192));
    // A model that is opened later has its own size again.
    bench.document.files()->open(test::data().filePath("forward/llama-mha"));
    QTRY_VERIFY(bench.asked.contains(8192));
    QCOMPARE(bench.live.choice().text.rules.window, 512);
}

void TestEvaluations::storedValuesAreShownWithoutTheCheckpoint() {
    Session session = scoredSession();
    Bench bench(session, false);
    QVERIFY(!bench.document.model());
    const EffectBox box(&bench.live);
    QCOMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.live.shown()->run.lossNats, session.evaluations[1].text->perplexity.lossNats);
    QVERIFY(named<QLabel>(box, "Perplexity")->text().contains("→"));
    QVERIFY(named<QLabel>(box, "State of the evaluation")->text().startsWith("24 windows"));
    bench.cut({0, 3});
    QCOMPARE(bench.live.state(), State::unavailable);
    QCOMPARE(named<QLabel>(box, "State of the evaluation")->text(), QString("The checkpoint is needed to measure."));
}

void TestEvaluations::titlesTellWhatIsCut() {
    const auto model = openModel(test::data().filePath("forward/llama-gqa").toStdString());
    MaskRecord record{PruningMask(model->spec()), {}, {}, {}, {}};
    QCOMPARE(maskTitle(record), std::string("mask"));
    LayerMask layer = record.mask.layer(0);
    layer.heads[1] = false;
    record.mask.setLayer(0, layer);
    QCOMPARE(maskTitle(record), std::string("L0.H1"));
    layer.mlp = false;
    layer.heads.assign(layer.heads.size(), false);
    layer.heads[0] = true;
    record.mask.setLayer(0, layer);
    layer = record.mask.layer(1);
    layer.heads[0] = layer.heads[1] = false;
    record.mask.setLayer(1, layer);
    QVERIFY2(maskTitle(record).ends_with(" heads, 1 MLP"), maskTitle(record).c_str());
    MaskProvenance made;
    made.strategy = "by_metric";
    made.options = {{"metric", "gate_norm_head"}};
    made.budget = Budget{8, false};
    record.provenance = made;
    QCOMPARE(maskTitle(record), std::string("gate_norm_head lowest 8"));
    record.provenance->options["reversed"] = "true";
    record.provenance->budget = Budget{12.5, true};
    QCOMPARE(maskTitle(record), std::string("gate_norm_head highest 12.5 %"));
    record.provenance->options["base"] = "L0.H1";
    QCOMPARE(maskTitle(record), std::string("L0.H1 + gate_norm_head highest 12.5 %"));
    QVERIFY(isTitle("L0.H1 + gate_norm_head highest 12.5 % copy 2", record));
    QVERIFY(isTitle("mask 3", record));
    QVERIFY(!isTitle("sinks", record) && !isTitle("masked", record));
}

void TestEvaluations::titlesFollowEditsAndNamesStay() {
    Bench bench;
    MaskEditor& masks = *bench.document.masks();
    bench.cut({0, 1});
    QCOMPARE(masks.state().edited().name, std::string("L0.H1"));
    masks.duplicateMask();
    bench.cut({1, 0});
    QCOMPARE(masks.state().edited().name, std::string("L0.H1, L1.H0"));
    masks.undoStack()->undo();
    QCOMPARE(masks.state().edited().name, std::string("L0.H1 copy"));
    masks.renameMask("mine");
    bench.cut({1, 1});
    QCOMPARE(masks.state().edited().name, std::string("mine"));
    masks.clearMask();
    QCOMPARE(masks.state().edited().name, std::string("mine"));
}

void TestEvaluations::rowsAreRenamedWithTheirMasks() {
    Bench bench;
    bench.finish();
    bench.cut({1, 0});
    bench.finish();
    EvaluationsPanel panel(&bench.document, &bench.live);
    auto* table = panel.table();
    const auto name = [&](int row) {
        return table->model()->index(row, EvaluationTable::nameColumn).data().toString();
    };
    QCOMPARE(name(1), QString("L1.H0"));
    QVERIFY(table->isColumnHidden(EvaluationTable::speedColumn)); // until a speed is measured
    const QString longName(200, 'n');
    bench.document.masks()->renameMask(longName); // which is elided, so that the other columns stay in sight
    QVERIFY(table->columnWidth(EvaluationTable::nameColumn) < 40 * table->fontMetrics().averageCharWidth());
    const QModelIndex named = table->model()->index(1, EvaluationTable::nameColumn);
    QVERIFY(named.data(Qt::ToolTipRole).toString().startsWith(longName));
    bench.document.masks()->renameMask("one");
    QCOMPARE(name(1), QString("one"));
    QVERIFY(table->model()->setData(table->model()->index(1, EvaluationTable::nameColumn), "two"));
    QCOMPARE(name(1), QString("two"));
    QCOMPARE(bench.document.masks()->state().edited().name, std::string("two"));
    bench.document.masks()->undoStack()->undo();
    QCOMPARE(name(1), QString("one"));
    // A mask that the list has no more keeps its row, which can be renamed too.
    bench.document.masks()->removeMask();
    QVERIFY(table->model()->setData(table->model()->index(1, EvaluationTable::nameColumn), "three"));
    QCOMPARE(name(1), QString("three"));
    QVERIFY(!(table->model()->flags(table->model()->index(0, EvaluationTable::nameColumn)) & Qt::ItemIsEditable));
    // In a saved session the mask has one name.
    bench.document.restoreMask(bench.document.session().evaluations[1].mask);
    bench.document.masks()->renameMask("four");
    const Session saved = bench.saved();
    QCOMPARE(saved.masks.size(), std::size_t(1));
    QCOMPARE(saved.masks[0].name, std::string("four"));
    QCOMPARE(saved.evaluations[1].mask.name, std::string("four"));
}

void TestEvaluations::rowsAreRemovedAndBroughtBack() {
    Bench bench(scoredSession());
    bench.finish();
    EvaluationsPanel panel(&bench.document, &bench.live);
    panel.table()->selectRow(1);
    panel.removeRows();
    QCOMPARE(panel.table()->model()->rowCount(), 1);
    QCOMPARE(bench.document.session().evaluations.size(), std::size_t(1));
    QVERIFY(bench.document.isModified());
    panel.returnRows();
    QCOMPARE(panel.table()->model()->rowCount(), 2);
    QCOMPARE(bench.document.session().evaluations[1].mask.name, std::string("first"));
}

void TestEvaluations::rowsAreCompared() {
    Bench bench(scoredSession());
    bench.finish();
    MaskEditor& masks = *bench.document.masks();
    const EvaluatedMask first = bench.document.session().evaluations[1].mask;
    masks.removeMask();
    bench.cut({0, 2});
    bench.document.compareWithMask(first);
    QVERIFY(masks.compared() && isHeadCut(*masks.compared(), {1, 0}));
    QCOMPARE(masks.comparedName(), std::string("first"));
    QVERIFY(masks.isCut({0, 2}) && !masks.isCut({1, 0})); // still the edited mask
}

void TestEvaluations::anAdapterIsARowOfItsOwn() {
    Bench bench(scoredSession());
    bench.document.restoreMask(bench.document.session().evaluations[1].mask);
    bench.finish();
    const double pruned = bench.live.shown()->run.lossNats;
    EvaluationTable table(&bench.document);
    AdapterEvaluation adapters(&bench.document, &bench.jobs, &bench.live);
    QSignalSpy notices(&bench.document, &Document::noticed);
    QVERIFY(adapters.isPossible());
    adapters.evaluateFolder("/somewhere/lora");
    QVERIFY(adapters.isBusy());
    QTRY_VERIFY(!adapters.isBusy() && bench.jobs.isIdle());
    QCOMPARE(notices.takeFirst().first().toString(), "was trained elsewhere");

    const Session& session = bench.document.session();
    QCOMPARE(session.evaluations.size(), std::size_t(3));
    const Evaluation adapted = compared(session, session.evaluations[2]);
    QCOMPARE(adapted.mask.digest, session.evaluations[1].mask.digest);
    QCOMPARE(adapted.adapter.digest, adapterDigest(*drawnAdapter()));
    // The numbers are those of the model with the adapter under the mask, against the dense model without it.
    test::DrawnText drawn(bench.document.spec().vocab, 3);
    ScoredText text = drawn.fixedWindows(windows, window);
    const auto whole = withAdapter(bench.document.model(), drawnAdapter(), {});
    const auto plan = whole->runner().plan(bench.document.masks()->mask(), ComputeType::float32);
    const Perplexity expected = perplexity(*whole, *plan, text);
    QVERIFY(std::abs(adapted.text->perplexity.lossNats - expected.lossNats) < 1e-6);
    QVERIFY(std::abs(expected.lossNats - pruned) > 1e-4);
    QVERIFY(std::abs(adapted.text->reference->difference.nats -
                     (adapted.text->perplexity.lossNats - session.evaluations[0].text->perplexity.lossNats)) < 1e-9);
    QCOMPARE(bench.live.shown()->run.lossNats, pruned); // the box of the mask shows the mask without the adapter

    QCOMPARE(table.rowCount(), 3);
    const QModelIndex name = table.index(2, EvaluationTable::nameColumn);
    QCOMPARE(name.data().toString(), "first + lora");
    QVERIFY(name.data(Qt::ToolTipRole).toString().contains("Adapter lora, sha256:"));
    QVERIFY(!table.flags(name).testFlag(Qt::ItemIsEditable));
    QCOMPARE(table.index(2, 3).data(), table.index(1, 3).data());
    bench.document.masks()->renameMask("second");
    QCOMPARE(name.data().toString(), "second + lora");

    // Once more replaces the row; a cancelled evaluation leaves none.
    adapters.evaluateFolder("/somewhere/lora");
    QTRY_VERIFY(!adapters.isBusy() && bench.jobs.isIdle());
    QCOMPARE(table.rowCount(), 3);
    bench.cut({1, 2});
    bench.finish();
    adapters.evaluateFolder("/somewhere/lora");
    adapters.cancel();
    QTRY_VERIFY(!adapters.isBusy() && bench.jobs.isIdle());
    QCOMPARE(table.rowCount(), 4);

    // A saved session shows the row again, and the mask's own result is not measured anew.
    Bench later(bench.saved());
    QCOMPARE(EvaluationTable(&later.document).rowCount(), 4);
    later.document.restoreMask(session.evaluations[1].mask);
    later.finish();
    QCOMPARE(later.live.shown()->run.lossNats, pruned);
    QCOMPARE(later.evaluated(), 0);
}

void TestEvaluations::theListOffersEvaluatedMasks() {
    Bench bench(scoredSession());
    bench.finish();
    MaskListBox box(&bench.document);
    auto* names = named<QComboBox>(box, "Mask");
    QCOMPARE(names->count(), 1);
    bench.document.masks()->removeMask();
    QCOMPARE(names->count(), 3); // a new mask, a line, and the evaluated mask
    QCOMPARE(names->itemText(2), QString("first"));
    names->setCurrentIndex(2);
    emit names->activated(2);
    QVERIFY(bench.document.masks()->isCut({1, 0}));
    QCOMPARE(bench.document.masks()->state().edited().name, std::string("first"));
}

void TestEvaluations::anEncoderShowsItsPooledDistance() {
    Bench bench("bert-bare");
    const EffectBox box(&bench.live);
    QCOMPARE(bench.live.state(), State::noLoss);
    bench.cut({1, 0});
    QTRY_COMPARE(bench.live.extra()->state(), ExtraState::complete);
    QTRY_VERIFY(bench.jobs.isIdle());
    const Model& model = *bench.document.model();
    const auto dense = model.runner().plan(PruningMask(model.spec()), ComputeType::automatic);
    const auto cut = model.runner().plan(bench.document.masks()->mask(), ComputeType::automatic);
    const SequenceSet set = test::DrawnText(model.spec().vocab, 5).fixedWindows(6, window).windows;
    const PooledDistance expected = pooledDistance(model, *cut, *dense, set);
    QCOMPARE(bench.document.session().evaluations.size(), std::size_t(1));
    const PooledEvaluation& found = bench.document.session().evaluations[0].pooled.value();
    QVERIFY(expected.relative.value > 0);
    QCOMPARE(found.distance.relative.value, expected.relative.value);
    QCOMPARE(found.distance.cosine.value, expected.cosine.value);
    QVERIFY(named<QLabel>(box, "pooled distance")->text().contains("±"));
    QVERIFY(!bench.titles.filter("Pooled outputs of").isEmpty());
    EvaluationTable table(&bench.document);
    QCOMPARE(table.headerData(4, Qt::Horizontal, Qt::DisplayRole).toString(), QString("pooled distance"));
    QCOMPARE(table.index(0, 4).data(EvaluationTable::numberRole).toDouble(), expected.relative.value);
    // Reopened, it is not measured again.
    Bench later(bench.saved());
    QTRY_COMPARE(later.live.extra()->state(), ExtraState::complete);
    QTest::qWait(500);
    QVERIFY2(later.titles.filter("Pooled").isEmpty(), qPrintable(later.titles.join('\n')));
}

void TestEvaluations::aClassifierAsksForATask() {
    Bench bench("bert");
    const EffectBox box(&bench.live);
    QCOMPARE(bench.live.state(), State::noLoss);
    const QString state = named<QLabel>(box, "State of the evaluation")->text();
    QVERIFY2(state.startsWith("A classifier's accuracy needs a task"), qPrintable(state));
    QTest::qWait(500);
    QVERIFY(bench.titles.filter("Evaluating").isEmpty());
}

void TestEvaluations::thePanelKeepsItsRowsInPlace() {
    Bench bench;
    MaskPanel panel(&bench.document, &bench.jobs, &bench.live);
    QVERIFY2(panel.minimumSizeHint().width() <= 255, qPrintable(QString::number(panel.minimumSizeHint().width())));
    panel.resize(250, 420);
    panel.show();
    bench.finish();
    QTRY_VERIFY(bench.document.session().prediction); // its gradients follow the first evaluation
    QTest::qWait(50);
    const auto places = [&] {
        QMap<QString, QRect> found;
        for (const QWidget* widget : panel.findChildren<QWidget*>())
            if (!widget->accessibleName().isEmpty() && widget->isVisibleTo(&panel))
                found[widget->accessibleName()] = QRect(widget->mapTo(&panel, QPoint()), widget->size());
        return found;
    };
    const QMap<QString, QRect> before = places();
    QVERIFY(before.size() > 10);
    const int width = panel.minimumSizeHint().width();
    const auto compare = [&](const char* when) {
        QTest::qWait(30);
        const QMap<QString, QRect> now = places();
        for (const QString& name : before.keys())
            if (now.contains(name))
                QVERIFY2(now[name] == before[name], qPrintable(QString("%1 moved: %2").arg(name, when)));
        QCOMPARE(panel.minimumSizeHint().width(), width);
    };
    bench.cut({0, 1});
    compare("while it waits");
    QTRY_VERIFY(bench.live.state() != State::waiting);
    compare("while it runs, or just after");
    bench.finish();
    compare("when it is scored");
    PruningMask preview = bench.document.masks()->mask();
    LayerMask layer = preview.layer(1);
    layer.attention = AttentionCut::bypassQk;
    layer.alpha = 0.5;
    preview.setLayer(1, layer);
    bench.document.masks()->setPreview(preview);
    compare("with a preview");
    bench.document.masks()->setPreview({});
    bench.document.masks()->setHeadsCut({{0, 0}, {0, 2}, {1, 3}}, true);
    bench.finish();
    compare("with more cuts");
    const QRect place(panel.exports()->button()->mapTo(&panel, QPoint()), panel.exports()->button()->size());
    QVERIFY(panel.rect().contains(place)); // without scrolling
    QVERIFY(!panel.exports()->button()->visibleRegion().isEmpty());
}

void TestEvaluations::gradientsSayHowLongTheyTakeAndWhenTheyAreOld() {
    Session none;
    JobRunner jobs;
    Bench bench;
    Services services = bench.services();
    services.gradientChange = [](const Model& model, const GradientChangeRequest&, const MeasureChoice&,
                                 const Progress&) {
        GradientChange change;
        change.tokens = 10;
        for (const LayerSpec& layer : model.spec().layers)
            change.layers.emplace_back(static_cast<std::size_t>(layer.heads), 4, 0.5);
        return change;
    };
    Document document(services, &jobs);
    Selection selection;
    GradientView view(&document, &jobs, &selection);
    view.show();
    document.files()->open(test::data().filePath("forward/llama-gqa"));
    QTRY_VERIFY(document.isOpen() && jobs.isIdle());
    selection.select({{1, 0}}, Selection::Mode::replace, HeadId{1, 0});
    QTRY_VERIFY2(named<QLabel>(view, "Expected time")->text().startsWith("about "),
                 qPrintable(named<QLabel>(view, "Expected time")->text()));
    view.compute();
    QTRY_VERIFY(jobs.isIdle());
    const auto title = [&] { return named<QLabel>(view, "Title of the picture")->text(); };
    QTRY_VERIFY(title().startsWith("<b>L1.H0 cut</b>"));
    QVERIFY(!title().contains("another mask"));
    QCOMPARE(view.currentFigure().y.names.size(), view.currentFigure().cells.rows());
    document.masks()->setHeadsCut({{0, 2}}, true);
    QVERIFY2(title().contains("computed under another mask"), qPrintable(title()));
    document.masks()->undoStack()->undo();
    QVERIFY(!title().contains("another mask"));
}

void TestEvaluations::menusHoldMeasurementsAndExport() {
    QTemporaryDir folder;
    test::FakeServices fakes;
    fakes.addModel(folder.filePath("small.gguf").toStdString(), 3);
    JobRunner jobs;
    Document document(fakes.services(), &jobs);
    MainWindow main(&document, &jobs);
    const auto find = [&](const QString& menu, const QString& text) -> QAction* {
        for (const QAction* top : main.menuBar()->actions())
            if (top->text().remove('&') == menu)
                for (QAction* action : top->menu()->actions())
                    if (action->text().remove('&').startsWith(text))
                        return action;
        return nullptr;
    };
    QAction* exporting = find("File", "Export");
    QVERIFY(exporting && !exporting->isEnabled());
    QVERIFY(find("Evaluate", "More measurements"));
    document.files()->open(folder.filePath("small.gguf"));
    QTRY_VERIFY(document.isOpen() && jobs.isIdle());
    QVERIFY(exporting->isEnabled());
    QVERIFY(find("Evaluate", "More measurements")->isEnabled());
}

void TestEvaluations::picturesForAPerson() {
    const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
    if (folder.isEmpty())
        QSKIP("SECATEUR_SCREENSHOTS names no folder");
    Session session = scoredSession();
    Evaluation other = session.evaluations[1]; // on fewer windows
    other.text->digest = "sha256:other";
    Evaluation dense = session.evaluations[0];
    dense.text->digest = "sha256:other";
    session.evaluations.insert(session.evaluations.begin(), {dense, other});
    Bench bench(session);
    bench.finish();
    bench.document.measurements()->measure(parseMetricRequests("gate_norm_head"));
    QTRY_VERIFY(bench.jobs.isIdle());
    MaskPanel panel(&bench.document, &bench.jobs, &bench.live);
    EvaluationsPanel evaluations(&bench.document, &bench.live);
    Selection selection;
    HeadsView heads(&bench.document, &selection);
    for (const char* theme : {"light", "dark"}) {
        applyTheme(theme);
        panel.resize(255, 720);
        evaluations.resize(1200, 260);
        heads.resize(700, 300);
        for (QWidget* widget :
             {static_cast<QWidget*>(&panel), static_cast<QWidget*>(&evaluations), static_cast<QWidget*>(&heads)})
            widget->show();
        QTest::qWait(200);
        QVERIFY(panel.grab().save(QString("%1/mask_panel_%2.png").arg(folder, theme)));
        QVERIFY(evaluations.grab().save(QString("%1/evaluations_%2.png").arg(folder, theme)));
        QVERIFY(heads.grab().save(QString("%1/heads_headers_%2.png").arg(folder, theme)));
    }
}

SECATEUR_SUITE(TestEvaluations)
#include "tst_evaluations.moc"
