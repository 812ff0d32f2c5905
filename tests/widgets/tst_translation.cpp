// The German interface: its texts, and the file of translations.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "analysis/metrics/metric.h"
#include "analysis/strategies/strategy.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/language/shown_texts.h"
#include "widgets/language/translations.h"
#include "widgets/window/main_window.h"
#include "widgets/window/view_tabs.h"

#include <QAction>
#include <QDir>
#include <QDirIterator>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

#include <algorithm>
#include <map>
#include <set>

using namespace secateur;
using namespace secateur::test;

namespace {

/// A message of a .ts file.
struct Message {
    QString context;
    QString source;
    QStringList forms; ///< one translation, or one for each plural
    bool isDone = true;
};

QList<Message> messagesOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(path));
    QXmlStreamReader reader(&file);
    QList<Message> messages;
    QString context;
    while (!reader.atEnd()) {
        if (reader.readNext() != QXmlStreamReader::StartElement)
            continue;
        const QString name = reader.name().toString();
        if (name == "name") {
            context = reader.readElementText();
        } else if (name == "message") {
            messages.append(Message{context, {}, {}, true});
        } else if (name == "source") {
            messages.last().source = reader.readElementText();
        } else if (name == "translation") {
            messages.last().isDone = !reader.attributes().hasAttribute("type");
            QString text;
            while (!(reader.readNext() == QXmlStreamReader::EndElement && reader.name() == u"translation")) {
                if (reader.isStartElement() && reader.name() == u"numerusform")
                    messages.last().forms << reader.readElementText();
                else if (reader.isCharacters())
                    text += reader.text();
            }
            if (messages.last().forms.isEmpty())
                messages.last().forms << text;
        }
    }
    return messages;
}

/// The numbered places of a text, sorted.
QStringList placesOf(const QString& text) {
    static const QRegularExpression place("%L?\\d|%n");
    QStringList places;
    for (auto each = place.globalMatch(text); each.hasNext();)
        places << each.next().captured();
    places.sort();
    return places;
}

QString withoutMarks(QString text) {
    return text.remove('&');
}

/// Texts of all actions in all menus.
QStringList menuTexts(const QMainWindow& window) {
    QStringList texts;
    for (const QMenu* menu : window.menuBar()->findChildren<QMenu*>())
        for (const QAction* action : menu->actions())
            texts << withoutMarks(action->text());
    return texts;
}

} // namespace

class TestTranslation : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        static QTemporaryDir settings;
        qputenv("XDG_STATE_HOME", settings.path().toUtf8());
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
        if (!translatedLanguages().contains("de"))
            QSKIP("built without Qt's tools for translations");
        m_messages = messagesOf(SECATEUR_SOURCE_DIR "/resources/translations/secateur_de.ts");
        QVERIFY(m_messages.size() > 1000);
    }
    void cleanup() { setLanguage("en"); }

    void theWindowSpeaksGerman() {
        QVERIFY(setLanguage("de"));
        QCOMPARE(shownLanguage(), "de");
        FakeServices services;
        JobRunner jobs;
        Document document(services.services(), &jobs);
        MainWindow window(&document, &jobs);
        QStringList titles;
        for (const QAction* action : window.menuBar()->actions())
            titles << withoutMarks(action->text());
        QCOMPARE(titles.first(), "Datei");
        QCOMPARE(titles.last(), "Hilfe");
        const QStringList texts = menuTexts(window);
        for (const char* text : {"Modell öffnen …", "Sitzung speichern", "Rückgängig", "Anordnung speichern unter …",
                                 "Alle Gewichtsmetriken messen", "Tastenkürzel", "Bereich: Metriken"})
            QVERIFY2(texts.contains(QString::fromUtf8(text)), text);
        const auto* views = window.findChild<ViewTabs*>();
        QCOMPARE(views->tabText(2), "Neuronen");
        QCOMPARE(window.findChild<QDockWidget*>("mask")->windowTitle(), "Maske");
    }

    void shortcutsStayAsTheyAre() {
        FakeServices services;
        JobRunner jobs;
        Document document(services.services(), &jobs);
        const auto keysIn = [&](const QString& language) {
            setLanguage(language);
            MainWindow window(&document, &jobs);
            QStringList keys;
            for (const QMenu* menu : window.menuBar()->findChildren<QMenu*>())
                for (const QAction* action : menu->actions())
                    for (const QKeySequence& sequence : action->shortcuts())
                        keys << sequence.toString(QKeySequence::PortableText);
            keys.sort();
            return keys;
        };
        const QStringList english = keysIn("en");
        QVERIFY(english.contains("Ctrl+Shift+S"));
        QCOMPARE(keysIn("de"), english);
    }

    void menusHaveDistinctMarks() {
        setLanguage("de");
        FakeServices services;
        JobRunner jobs;
        Document document(services.services(), &jobs);
        MainWindow window(&document, &jobs);
        static const QRegularExpression mark("&(\\w)");
        QStringList doubled;
        const auto check = [&](const QString& name, const QList<QAction*>& actions) {
            QMap<QString, QString> taken;
            for (const QAction* action : actions) {
                const QString key = mark.match(action->text()).captured(1).toLower();
                if (key.isEmpty())
                    continue;
                if (taken.contains(key))
                    doubled << name + ": " + taken[key] + " / " + action->text();
                taken[key] = action->text();
            }
        };
        check("menu bar", window.menuBar()->actions());
        for (const QAction* menu : window.menuBar()->actions())
            check(menu->text(), menu->menu()->actions());
        for (const QLabel* label : window.findChild<HeadsView*>()->findChildren<QLabel*>())
            for (const QAction* menu : window.menuBar()->actions())
                if (const QString key = mark.match(label->text()).captured(1); label->buddy() && !key.isEmpty())
                    if (mark.match(menu->text()).captured(1).compare(key, Qt::CaseInsensitive) == 0)
                        doubled << menu->text() + " / " + label->text();
        QVERIFY2(doubled.isEmpty(), qPrintable(doubled.join('\n')));
    }

    void countsHavePlurals() {
        QCOMPARE(countText(1, "head"), "1 head");
        QCOMPARE(countText(3072, "head"), "3,072 heads");
        setLanguage("de");
        QCOMPARE(countText(1, "head"), "1 Head");
        QCOMPARE(countText(0, "neuron"), "0 Neuronen");
        QCOMPARE(countText(3072, "neuron"), QStringLiteral("3\u202f072 Neuronen"));
        QCOMPARE(countText(2, "thing that no list has"), "2 thing that no list hass");
    }

    void rowsAreTranslatedWhereTheyAreShown() {
        QCOMPARE(rowText("gate-norm per head"), "gate-norm per head");
        setLanguage("de");
        QCOMPARE(rowText("gate-norm per head"), "Gate-Norm je Head");
        QCOMPARE(rowText("a row that no table has"), "a row that no table has");
    }

    void numbersHaveADecimalPoint() {
        setLanguage("de");
        QCOMPARE(QLocale().toString(0.5), "0.5");
    }

    void unknownLanguagesAreEnglish() {
        QVERIFY(setLanguage("de"));
        QVERIFY(!setLanguage("tlh"));
        QCOMPARE(shownLanguage(), "en");
        QCOMPARE(MainWindow::tr("Secateur"), "Secateur");
        QVERIFY(setLanguage("en"));
    }

    void placesSurvive() {
        QStringList broken;
        for (const Message& message : m_messages)
            for (const QString& form : message.isDone ? message.forms : QStringList())
                if (placesOf(form) != placesOf(message.source))
                    broken << message.context + ": " + message.source + " -> " + form;
        QVERIFY2(broken.isEmpty(), qPrintable(broken.join('\n')));
    }

    void doneMeansTranslated() {
        QStringList empty;
        for (const Message& message : m_messages)
            for (const QString& form : message.isDone ? message.forms : QStringList())
                if (form.isEmpty() || form.contains("TODO"))
                    empty << message.context + ": " + message.source;
        QVERIFY2(empty.isEmpty(), qPrintable(empty.join('\n')));
        for (const char* context : {"WindowCommands", "Panels", "ViewTabs", "MainWindow", "FileActions", "Layouts"})
            for (const Message& message : m_messages)
                if (message.context == QString("secateur::") + context)
                    QVERIFY2(message.isDone, qPrintable(message.context + ": " + message.source));
    }

    /// lupdate sometimes loses the namespace of a class; the program would not find such a translation.
    void contextsAreThoseOfTheProgram() {
        const std::set<QString> free{"Counts",        "FigureData",  "HeadReadout", "LayerCuts",   "LayerMarks",
                                     "LayerSwitches", "MetricNames", "Rows",        "StepProcess", "Tour"};
        for (const Message& message : m_messages)
            QVERIFY2(message.context.startsWith("secateur::") || free.contains(message.context),
                     qPrintable(message.context));
    }

    void rowsOfTheTablesAreListed() {
        std::set<QString> listed;
        for (const Message& message : m_messages)
            if (message.context == "Rows")
                listed.insert(message.source);
        for (const MetricInfo* metric : allMetrics())
            for (const std::string_view text : {metric->title, metric->summary})
                QVERIFY2(listed.contains(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))),
                         "run scripts/update-translations.sh");
    }

    /// Texts that a widget shows must go through a translation.
    void widgetsShowNoPlainTexts() {
        static const QRegularExpression plain(
            "\\b(setText|setToolTip|setWindowTitle|setAccessibleName|setPlaceholderText|setStatusTip|setWhatsThis|"
            "addAction|addMenu|setTitle|setLabelText|showMessage)\\((QStringLiteral\\(|QString\\()?\"([^\"]*)\"");
        static const QRegularExpression word("[A-Za-z]{3}");
        QStringList found;
        QDirIterator sources(SECATEUR_SOURCE_DIR "/widgets", {"*.cpp", "*.h"}, QDir::Files,
                             QDirIterator::Subdirectories);
        while (sources.hasNext()) {
            QFile file(sources.next());
            if (file.fileName().contains("/plot/") || file.fileName().contains("/report/")) // figures are English
                continue;
            QVERIFY(file.open(QIODevice::ReadOnly));
            for (auto each = plain.globalMatch(QString::fromUtf8(file.readAll())); each.hasNext();)
                if (const QRegularExpressionMatch match = each.next();
                    word.match(match.captured(3).remove(QRegularExpression("<[^>]*>"))).hasMatch())
                    found << file.fileName() + ": " + match.captured(0);
        }
        QVERIFY2(found.isEmpty(), qPrintable(found.join('\n')));
    }

private:
    QList<Message> m_messages;
};

SECATEUR_SUITE(TestTranslation)
#include "tst_translation.moc"
