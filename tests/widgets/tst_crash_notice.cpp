// The announcement of crash reports.

#include "tests/support/suite.h"
#include "widgets/jobs/messages.h"
#include "widgets/window/crash_notice.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace secateur;

namespace {

/// A window with its message bar and a folder for reports.
struct Announcer {
    QTemporaryDir folder;
    QWidget window;
    MessageBar messages{&window};

    void write(const QString& name, const QByteArray& text = "Secateur crash report\n") const {
        QFile file(folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly))
            qFatal("cannot write %s", qPrintable(file.fileName()));
        file.write(text);
    }
    /// Starts the part of the window that looks for reports. @returns the message; empty = none
    QString announce() {
        while (!messages.text().isEmpty())
            messages.dismiss();
        new CrashNotice(folder.path(), &messages, &window);
        return messages.text();
    }
    void click(const QString& text) {
        for (QToolButton* button : messages.findChildren<QToolButton*>())
            if (button->text() == text)
                return button->click();
        qFatal("no button %s", qPrintable(text));
    }
};

} // namespace

class TestCrashNotice : public QObject {
    Q_OBJECT

private slots:
    void init() { QSettings().clear(); }
    void cleanupTestCase() { QSettings().clear(); }

    void aReportIsAnnouncedOnce() {
        Announcer announcer;
        QCOMPARE(announcer.announce(), QString());
        announcer.write("secateur-20261127-010203-77.txt");
        QVERIFY(announcer.announce().contains(announcer.folder.filePath("secateur-20261127-010203-77.txt")));
        QCOMPARE(announcer.announce(), QString());
        announcer.write("secateur-20261127-010204-12.txt");
        QVERIFY(announcer.announce().contains("secateur-20261127-010204-12.txt"));
        QCOMPARE(announcer.announce(), QString());
    }

    void reportsOfTheCommandLineAreNot() {
        Announcer announcer;
        announcer.write("secateur-cli-20261127-010203-77.txt"); // which has named it already
        QCOMPARE(announcer.announce(), QString());
    }

    void aMissingFolderIsNoFailure() {
        Announcer announcer;
        new CrashNotice(announcer.folder.filePath("none"), &announcer.messages, &announcer.window);
        QCOMPARE(announcer.messages.text(), QString());
        QVERIFY(!QFile::exists(announcer.folder.filePath("none")));
    }

    void theReportCanBeShownAndCopied() {
        Announcer announcer;
        announcer.write("secateur-20261127-010203-77.txt", "Secateur crash report\nsignal: SIGSEGV\n");
        announcer.announce();
        announcer.click("Show report");
        auto* dialog = announcer.window.findChild<CrashReportDialog*>();
        QVERIFY(dialog && dialog->isVisible());
        QVERIFY(dialog->findChild<QPlainTextEdit*>()->toPlainText().contains("signal: SIGSEGV"));
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text().contains("Copy"))
                button->click();
        QVERIFY(QGuiApplication::clipboard()->text().contains("signal: SIGSEGV"));
        QCOMPARE(announcer.messages.text(), QString());
    }

    void thePathCanBeCopied() {
        Announcer announcer;
        announcer.write("secateur-20261127-010203-77.txt");
        announcer.announce();
        announcer.click("Copy path");
        QCOMPARE(QGuiApplication::clipboard()->text(), announcer.folder.filePath("secateur-20261127-010203-77.txt"));
    }

    void oldReportsAreRemoved() {
        Announcer announcer;
        for (int minute = 10; minute < 40; ++minute)
            announcer.write(QString("secateur-20261127-01%1-7.txt").arg(minute * 100));
        announcer.announce();
        QCOMPARE(QDir(announcer.folder.path()).entryList(QDir::Files).size(), 20);
    }
};

SECATEUR_SUITE(TestCrashNotice)
#include "tst_crash_notice.moc"
