// The export panel on small models: sizes against the written files, reasons that select their units, legal masks with
// protection, types, names, failures.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "analysis/base/text.h"
#include "app/window/window_services.h"
#include "backends/export/export_targets.h"
#include "tests/support/fake_services.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/selection.h"
#include "widgets/export/export_form.h"
#include "widgets/export/export_panel.h"
#include "widgets/export/export_sizes.h"
#include "widgets/export/export_table.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/main_window.h"
#include "widgets/window/panels.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDirIterator>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <algorithm>
#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// @param fixture a folder of tests/data, or a file in one
QString pathOf(const QString& fixture) {
    if (fixture.contains('/'))
        return QDir::cleanPath(data().filePath(fixture));
    return QDir::cleanPath(data().filePath(fixture + "/" + filesOf(fixture).front()));
}

template <typename Widget>
Widget* find(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

QPushButton* button(const QWidget& parent, const QString& text) {
    for (QPushButton* found : parent.findChildren<QPushButton*>())
        if (found->text().remove('&') == text)
            return found;
    qFatal("no button %s", qPrintable(text));
}

struct Bench {
    QTemporaryDir folder;
    JobRunner jobs;
    Document document;
    Selection selection;
    ExportPanel panel{&document, &jobs, &selection};

    explicit Bench(const QString& fixture)
        : document(windowServices(), &jobs) {
        QSettings().setValue("folder", folder.path());
        document.files()->open(pathOf(fixture));
        settle();
        panel.resize(1200, 400);
        panel.show();
        settle();
    }

    void settle() { QTRY_VERIFY(jobs.isIdle() && !panel.sizes()->isComputing()); }
    MaskEditor& masks() { return *document.masks(); }
    ExportTable& table() { return *find<ExportTable>(panel, "Export targets"); }
    QString text(const char* name) { return find<QLabel>(panel, name)->text(); }
    QString path() { return find<QLineEdit>(panel, "Path of the export")->text(); }

    void choose(const char* id) {
        table().setCurrent(&exportTarget(id));
        settle();
    }
    const ExportSizes::Row& row(const char* id) const {
        return *std::ranges::find(panel.sizes()->rows(), &exportTarget(id), &ExportSizes::Row::target);
    }
    QTreeWidgetItem* item(const char* id) {
        const auto targets = exportTargets();
        for (std::size_t index = 0; index < targets.size(); ++index)
            if (targets[index].id == id)
                return table().topLevelItem(static_cast<int>(index) + 1);
        qFatal("no target %s", id);
    }
    /// Presses Export and waits for the result.
    void run() {
        QTest::mouseClick(button(panel, "Export"), Qt::LeftButton);
        settle();
    }
    QStringList filesWritten() const {
        QStringList files;
        QDirIterator all(folder.path(), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
        while (all.hasNext())
            files << QDir(folder.path()).relativeFilePath(all.next());
        files.sort();
        return files;
    }
};

/// The bytes of weight files among the written ones.
qint64 weightBytes(const Bench& bench) {
    qint64 bytes = 0;
    for (const QString& file : bench.filesWritten())
        if (file.endsWith(".gguf") || file.endsWith(".safetensors"))
            bytes += QFileInfo(QDir(bench.folder.path()).filePath(file)).size();
    return bytes;
}

} // namespace

class TestExportPanel : public QObject {
    Q_OBJECT

private slots:
    void init();
    void sizesAreThoseOfTheWrittenFiles_data();
    void sizesAreThoseOfTheWrittenFiles();
    void theTypeChangesTheBytes();
    void anEditStartsAnew();
    void aReasonSelectsItsUnits();
    void legalMasksArePreviewedAndApplied();
    void protectedHeadsAreRestoredInstead();
    void namesFitTheTarget();
    void encodersAreExportedAsFolders_data();
    void encodersAreExportedAsFolders();
    void withoutACheckpointNothingIsExported();
    void failuresLeaveNothing();
    void cancellingLeavesNothing();
    void theMenuShowsThePanel();
    void allIsReachedByKeyboard();
    void picturesForAPerson();
};

void TestExportPanel::init() {
    QSettings().clear();
}

void TestExportPanel::sizesAreThoseOfTheWrittenFiles_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QByteArray>("target");
    QTest::newRow("masked GGUF") << "gqa-f32-gguf" << QByteArray("masked");
    QTest::newRow("GGUF of unequal layers") << "gqa-f32-gguf" << QByteArray("gguf_deci");
    QTest::newRow("GGUF from safetensors") << "gqa-f32" << QByteArray("gguf_deci");
    QTest::newRow("Hugging Face with own code") << "gqa-f32" << QByteArray("per_layer");
    QTest::newRow("padded") << "mha-f32" << QByteArray("padded");
}

void TestExportPanel::sizesAreThoseOfTheWrittenFiles() {
    QFETCH(QString, model);
    QFETCH(QByteArray, target);
    Bench bench(model);
    std::set<HeadId> heads{{0, 1}, {1, 0}};
    for (int layer = 0; layer < bench.masks().spec().layerCount(); ++layer)
        heads.insert({layer, 1});
    bench.masks().setHeadsCut(heads, true);
    bench.settle();
    bench.choose(target.constData());
    QVERIFY2(bench.row(target.constData()).canHold(), target.constData());
    const ExportSize size = bench.row(target.constData()).size.value();
    const QString bytes = QString::fromStdString(grouped(static_cast<std::uint64_t>(size.fileBytes)));
    QVERIFY2(bench.item(target.constData())->toolTip(3).startsWith(bytes), qPrintable(bytes));
    QVERIFY2(bench.text("Size of the export").contains("Weight files: " + bytes + " bytes"),
             qPrintable(bench.text("Size of the export")));
    bench.run();
    QVERIFY2(bench.text("Result of the export").startsWith("Verified"), qPrintable(bench.text("Result of the export")));
    QCOMPARE(weightBytes(bench), size.fileBytes);
    QVERIFY(button(bench.panel, "Show folder")->isVisible());
    for (const QString& file : bench.filesWritten())
        QVERIFY2(bench.text("Result of the export").contains(file), qPrintable(file));
}

void TestExportPanel::theTypeChangesTheBytes() {
    Bench bench("gqa-f32-gguf");
    bench.masks().setHeadsCut({{1, 0}}, true);
    bench.settle();
    bench.choose("gguf_deci");
    const std::int64_t before = bench.row("gguf_deci").size->fileBytes;
    auto* type = find<QComboBox>(bench.panel, "Type of the matrices");
    type->setCurrentIndex(type->findData("F16"));
    emit type->activated(type->currentIndex());
    bench.settle();
    const std::int64_t after = bench.row("gguf_deci").size->fileBytes;
    QVERIFY(after < before * 6 / 10);
    QCOMPARE(bench.item("gguf_deci")->text(2), "F16");
    bench.run();
    QCOMPARE(weightBytes(bench), after);
    QVERIFY(bench.text("Result of the export").contains("rounded"));
    bench.choose("masked"); // keeps the types of the source
    QVERIFY(!type->isEnabled() && type->currentText() == "as stored");
    bench.choose("gguf_deci");
    QCOMPARE(type->currentText(), "F16");
}

void TestExportPanel::anEditStartsAnew() {
    Bench bench("gqa-f32-gguf");
    bench.choose("gguf_deci");
    bench.masks().setHeadsCut({{1, 0}}, true);
    QVERIFY(!bench.row("gguf_deci").size); // of the earlier mask
    bench.settle();
    const std::int64_t one = bench.row("gguf_deci").size->fileBytes;
    bench.masks().setAttention({1}, AttentionCut::drop);
    bench.settle();
    QVERIFY(bench.row("gguf_deci").size->fileBytes < one);
    bench.panel.hide();
    bench.masks().clearMask();
    QTest::qWait(300);
    QVERIFY(!bench.row("gguf_deci").size); // nobody looks
    bench.panel.show();
    bench.settle();
    QVERIFY(bench.row("gguf_deci").size);
}

void TestExportPanel::aReasonSelectsItsUnits() {
    Bench bench("gqa-f32");
    bench.masks().setAttention({1}, AttentionCut::bypassQk, 0.5);
    bench.settle();
    bench.choose("masked");
    auto* reasons = find<QLabel>(bench.panel, "Reasons against the target");
    QVERIFY(reasons->isVisible() && reasons->text().contains("layer 1: queries and keys are bypassed"));
    QVERIFY(!button(bench.panel, "Export")->isVisible());
    bench.selection.select({{0, 0}}, Selection::Mode::replace);
    // The first link is reached with Tab and followed with Enter.
    reasons->setFocus();
    QTest::keyClick(reasons, Qt::Key_Tab);
    QTest::keyClick(reasons, Qt::Key_Return);
    std::set<HeadId> all;
    for (int head = 0; head < bench.masks().spec().layers[1].heads; ++head)
        all.insert({1, head});
    QVERIFY(bench.selection.heads() == all);
    // A reason against the whole model has no link.
    bench.choose("onnx");
    QVERIFY(reasons->text().contains("only encoders") && !reasons->text().contains("<a "));
}

void TestExportPanel::legalMasksArePreviewedAndApplied() {
    Bench bench("gqa-f32");
    // Layer 1 loses a head of each group, layer 0 of one group only.
    bench.masks().setHeadsCut({{0, 0}, {1, 0}, {1, bench.masks().spec().layers[1].heads - 1}}, true);
    bench.settle();
    const PruningMask before = bench.masks().mask();
    QVERIFY(!keepsEqualGroups(before.layer(0), bench.masks().spec().layers[0]));
    auto* preview = find<QPushButton>(bench.panel, "Preview the legal mask");
    bench.choose("per_layer"); // holds any mask
    QVERIFY(!preview->isVisible());
    bench.choose("native");
    QVERIFY(preview->isVisible());
    const QString effect = bench.text("Changes of the legal mask");
    QCOMPARE(effect, "Cuts 1 more head. The target can then hold the mask.");
    QTest::mouseClick(preview, Qt::LeftButton);
    QVERIFY(bench.masks().preview());
    const PruningMask cutting = *bench.masks().preview();
    auto* by = find<QComboBox>(bench.panel, "How the mask is made legal");
    by->setCurrentIndex(1);
    QVERIFY(bench.text("Changes of the legal mask").startsWith("Restores 1 head. Then still: head counts vary"));
    QVERIFY(*bench.masks().preview() != cutting && bench.masks().preview()->layer(0).keepsAll());
    QTest::mouseClick(preview, Qt::LeftButton);
    QVERIFY(!bench.masks().preview() && bench.masks().mask() == before);
    by->setCurrentIndex(0);
    QTest::mouseClick(preview, Qt::LeftButton);
    QTest::mouseClick(find<QPushButton>(bench.panel, "Apply the legal mask"), Qt::LeftButton);
    QVERIFY(bench.masks().mask() == cutting && !bench.masks().preview());
    bench.settle();
    QVERIFY(bench.row("native").canHold() && !preview->isVisible());
    bench.masks().undoStack()->undo();
    QVERIFY(bench.masks().mask() == before);
    QVERIFY(preview->isVisible() && !preview->isChecked());
    // A preview ends with the panel.
    QTest::mouseClick(preview, Qt::LeftButton);
    bench.panel.hide();
    QVERIFY(!bench.masks().preview());
}

void TestExportPanel::protectedHeadsAreRestoredInstead() {
    Bench bench("gqa-f32");
    const LayerSpec& layer = bench.masks().spec().layers[0];
    const int perGroup = layer.heads / layer.kvHeads;
    Protection units;
    for (int head = perGroup; head < layer.heads; ++head)
        units.protectHead(bench.masks().spec(), {0, head}); // all groups but the first
    units.protectHead(bench.masks().spec(), {0, 1});
    bench.masks().setProtected(units, "Protect");
    bench.masks().setHeadsCut({{0, 0}, {1, 0}, {1, layer.heads - 1}}, true);
    bench.settle();
    bench.choose("native");
    const QString effect = bench.text("Changes of the legal mask");
    QVERIFY2(effect.contains("Restores heads in layer 0: cutting alone would cut protected heads."),
             qPrintable(effect));
    QTest::mouseClick(find<QPushButton>(bench.panel, "Apply the legal mask"), Qt::LeftButton);
    QVERIFY(bench.masks().mask().layer(0).keepsAll());
}

void TestExportPanel::namesFitTheTarget() {
    Bench bench("gqa-f32-gguf");
    bench.masks().renameMask("odd name / (2)");
    bench.masks().setHeadsCut({{1, 0}}, true);
    bench.settle();
    bench.choose("masked");
    const QString stem =
        bench.folder.filePath(QString::fromStdString(bench.document.session().model.name) + "-odd-name-2");
    QCOMPARE(bench.path(), stem + ".gguf");
    bench.choose("per_layer");
    QCOMPARE(bench.path(), stem);
    QDir().mkpath(stem);
    bench.choose("masked");
    bench.choose("per_layer");
    QCOMPARE(bench.path(), stem + "-2");
    // A typed path keeps its name and gets the ending that the target needs.
    auto* path = find<QLineEdit>(bench.panel, "Path of the export");
    path->selectAll();
    QTest::keyClicks(path, bench.folder.filePath("mine"));
    bench.choose("gguf_deci");
    QCOMPARE(bench.path(), bench.folder.filePath("mine.gguf"));
    bench.choose("per_layer");
    QCOMPARE(bench.path(), bench.folder.filePath("mine"));
}

void TestExportPanel::encodersAreExportedAsFolders_data() {
    QTest::addColumn<QString>("model");
    QTest::newRow("safetensors") << "bert";
    QTest::newRow("GGUF") << "bert-legacy/model.gguf";
}

void TestExportPanel::encodersAreExportedAsFolders() {
    QFETCH(QString, model);
    Bench bench(model);
    bench.masks().setHeadsCut({{1, 0}}, true);
    bench.settle();
    bench.choose("onnx");
    QVERIFY(!bench.path().contains('.' + QString("gguf")));
    QCOMPARE(bench.item("onnx")->text(4), "–"); // an encoder has no KV cache
    const ExportSize size = bench.row("onnx").size.value();
    bench.run();
    qint64 bytes = 0;
    for (const QString& file : bench.filesWritten())
        if (file.contains(".onnx"))
            bytes += QFileInfo(bench.folder.filePath(file)).size();
    QCOMPARE(bytes, size.fileBytes);
    QVERIFY2(bench.text("Result of the export").contains("not verified", Qt::CaseInsensitive),
             qPrintable(bench.text("Result of the export")));
}

void TestExportPanel::withoutACheckpointNothingIsExported() {
    QTemporaryDir folder;
    FakeServices fakes;
    JobRunner jobs;
    Document document(fakes.services(), &jobs);
    Selection selection;
    ExportPanel panel(&document, &jobs, &selection);
    panel.show();
    QCOMPARE(find<QLabel>(panel, "Chosen export target")->text(), "Open a model to export it.");
    const FakeModel model("/nowhere/small.gguf", 3);
    const std::string session = folder.filePath("work.h5").toStdString();
    fakes.addSession(session, model.card());
    document.files()->open(QString::fromStdString(session));
    QTRY_VERIFY(document.isOpen() && jobs.isIdle());
    find<ExportTable>(panel, "Export targets")->setCurrent(&exportTarget("masked"));
    QVERIFY(find<QLabel>(panel, "Size of the export")->text().startsWith("The checkpoint is needed"));
    QVERIFY(!button(panel, "Export")->isEnabled());
}

void TestExportPanel::failuresLeaveNothing() {
    Bench bench("gqa-f32-gguf");
    bench.masks().setHeadsCut({{1, 0}}, true);
    bench.settle();
    bench.choose("masked");
    bench.panel.form()->setPath(bench.folder.filePath("no/such/folder.gguf"));
    bench.run();
    const QString told = bench.text("Result of the export");
    QVERIFY2(told.contains("folder.gguf"), qPrintable(told));
    QCOMPARE(bench.filesWritten(), QStringList());
    QVERIFY(!button(bench.panel, "Show folder")->isVisible() && button(bench.panel, "Export")->isEnabled());
    // An earlier export is replaced only on request.
    bench.panel.form()->setPath(bench.folder.filePath("out.gguf"));
    bench.run();
    const QStringList written = bench.filesWritten();
    QVERIFY(written.contains("out.gguf"));
    bench.masks().setHeadsCut({{1, 1}}, true);
    bench.settle();
    bench.panel.form()->setPath(bench.folder.filePath("out.gguf"));
    bench.run();
    QVERIFY2(bench.text("Result of the export").contains("exists"), qPrintable(bench.text("Result of the export")));
    for (auto* box : bench.panel.findChildren<QCheckBox*>())
        box->setChecked(true);
    bench.run();
    QVERIFY(bench.text("Result of the export").startsWith("Verified"));
    QCOMPARE(bench.filesWritten(), written);
}

void TestExportPanel::cancellingLeavesNothing() {
    QTemporaryDir folder;
    Services services = windowServices();
    services.exportModel = [](const Model&, const ExportTarget&, const ExportRequest&, const Progress& progress) {
        for (;;)
            progress.report(0.5, "layer 3 of 4 compared");
        return ExportResult();
    };
    JobRunner jobs;
    Document document(services, &jobs);
    Selection selection;
    ExportPanel panel(&document, &jobs, &selection);
    document.files()->open(pathOf("gqa-f32-gguf"));
    panel.show();
    QTRY_VERIFY(jobs.isIdle() && !panel.sizes()->isComputing() && document.isOpen());
    document.masks()->setHeadsCut({{1, 0}}, true);
    find<ExportTable>(panel, "Export targets")->setCurrent(&exportTarget("masked"));
    QTest::mouseClick(button(panel, "Export"), Qt::LeftButton);
    QTRY_VERIFY(find<QLabel>(panel, "Step of the export")->text().startsWith("layer 3 of 4 compared"));
    QVERIFY(!button(panel, "Export")->isEnabled());
    QTest::mouseClick(button(panel, "Cancel"), Qt::LeftButton);
    QTRY_VERIFY(find<QLabel>(panel, "Result of the export")->text().contains("cancelled"));
    QTRY_VERIFY(jobs.isIdle() && button(panel, "Export")->isEnabled());
}

void TestExportPanel::theMenuShowsThePanel() {
    JobRunner jobs;
    Document document(windowServices(), &jobs);
    MainWindow window(&document, &jobs, {1366, 768});
    window.show();
    window.open(pathOf("gqa-f32"));
    QTRY_VERIFY(document.isOpen() && jobs.isIdle());
    auto* dock = window.findChild<QDockWidget*>("export");
    QVERIFY(dock && !dock->isVisible());
    for (QAction* action : window.findChildren<QAction*>())
        if (action->shortcut() == QKeySequence("Ctrl+Shift+E"))
            action->trigger();
    QTRY_VERIFY(dock->isVisible());
    QCOMPARE(QApplication::focusWidget() ? QApplication::focusWidget()->accessibleName() : QString("Export targets"),
             "Export targets");
    dock->close();
    dock->toggleViewAction()->trigger(); // the action in View
    QTRY_VERIFY(dock->isVisible());
}

void TestExportPanel::allIsReachedByKeyboard() {
    Bench bench("gqa-f32-gguf");
    bench.masks().setHeadsCut({{1, 0}}, true);
    bench.settle();
    bench.choose("gguf_deci");
    bench.panel.activateWindow();
    bench.table().setFocus();
    std::set<QString> reached;
    for (int step = 0; step < 20; ++step) {
        QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &bench.panel, Qt::Key_Tab);
        if (const QWidget* focused = QApplication::focusWidget())
            reached.insert(focused->accessibleName());
    }
    for (const char* name : {"Type of the matrices", "Path of the export", "Choose the path of the export"})
        QVERIFY2(reached.contains(name), name);
    for (const QWidget* widget : bench.panel.findChildren<QWidget*>())
        if (widget->focusPolicy() != Qt::NoFocus && !qobject_cast<const QScrollArea*>(widget) &&
            !widget->inherits("QLineEdit") && widget->inherits("QAbstractButton"))
            QVERIFY(!static_cast<const QAbstractButton*>(widget)->text().isEmpty() ||
                    !widget->accessibleName().isEmpty());
}

void TestExportPanel::picturesForAPerson() {
    const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
    const QString demo = QDir::home().filePath(".cache/secateur/SmolLM2-135M-Instruct.Q4_1.gguf");
    if (folder.isEmpty() || !QFileInfo::exists(demo))
        QSKIP("SECATEUR_SCREENSHOTS names no folder, or the demo model is missing");
    QSettings().setValue("folder", "/tmp");
    JobRunner jobs;
    Document document(windowServices(), &jobs);
    MainWindow window(&document, &jobs, {1920, 1080});
    window.show();
    window.open(demo);
    QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 60000);
    std::set<HeadId> heads;
    for (int layer = 0; layer < 30; layer += 2)
        for (int head = 0; head < 1 + layer % 5; ++head)
            heads.insert({layer, head});
    document.masks()->setHeadsCut(heads, true);
    document.masks()->setMlpCut({4, 11}, true);
    for (const ExportTarget& target : exportTargets()) {
        ExportRequest request;
        request.record.mask = document.masks()->mask();
        if (!target.reasons(request.record.mask, document.spec(), "gguf").empty())
            continue;
        QElapsedTimer clock;
        clock.start();
        exportSize(*document.model(), target, request);
        qInfo("size of %s: %lld ms", target.id.data(), clock.elapsed());
    }
    auto* panel = window.findChild<ExportPanel*>();
    auto* table = window.findChild<ExportTable*>();
    for (QAction* action : window.findChildren<QAction*>())
        if (action->shortcut() == QKeySequence("Ctrl+Shift+E"))
            action->trigger();
    const auto picture = [&](const QString& name) {
        for (const QSize size : {QSize(1366, 728), QSize(1600, 960)}) {
            window.resize(size);
            QTest::qWait(100);
            QTRY_VERIFY_WITH_TIMEOUT(jobs.isIdle() && !panel->sizes()->isComputing(), 200000);
            QTest::qWait(100);
            QVERIFY(window.grab().save(QString("%1/export_%2_%3.png").arg(folder, name).arg(size.width())));
        }
    };
    for (const char* theme : {"light", "dark"}) {
        window.setTheme(theme);
        table->setCurrent(&exportTarget("gguf_deci"));
        picture(QString("fits_") + theme);
        table->setCurrent(&exportTarget("native"));
        QTest::mouseClick(find<QPushButton>(*panel, "Preview the legal mask"), Qt::LeftButton);
        picture(QString("reasons_") + theme);
        QTest::mouseClick(find<QPushButton>(*panel, "Preview the legal mask"), Qt::LeftButton);
    }
    QTemporaryDir out;
    table->setCurrent(&exportTarget("gguf_deci"));
    panel->form()->setPath(out.filePath("smaller.gguf"));
    QTest::mouseClick(button(*panel, "Export"), Qt::LeftButton);
    QTest::qWait(3000);
    QVERIFY(window.grab().save(folder + "/export_running.png"));
    QTRY_VERIFY_WITH_TIMEOUT(jobs.isIdle(), 200000);
    QTest::qWait(100);
    picture("done");
}

SECATEUR_SUITE(TestExportPanel)
#include "tst_export_panel.moc"
