// The manual in the window: all pages are included, every link has a target, and the search finds sections.

#include "tests/support/suite.h"
#include "widgets/help/manual_window.h"

#include <QtTest>

#include <QDir>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTextBrowser>
#include <QTreeWidget>

#include <algorithm>

using namespace secateur;

namespace {

const ManualPage* pageNamed(const QList<ManualPage>& pages, const QString& name) {
    const auto found = std::ranges::find(pages, name, &ManualPage::name);
    return found == pages.end() ? nullptr : &*found;
}

bool hasAnchor(const ManualPage& page, const QString& anchor) {
    return anchor.isEmpty() || std::ranges::find(page.sections, anchor, &ManualSection::anchor) != page.sections.end();
}

/// The targets of the links on a page. Links to web pages are left out.
QStringList linksOf(const ManualPage& page) {
    static const QRegularExpression link("\\]\\(([^)\\s]+)\\)");
    QStringList targets;
    for (auto match = link.globalMatch(page.markdown); match.hasNext();) {
        const QString target = match.next().captured(1);
        if (!target.contains("://"))
            targets << target;
    }
    return targets;
}

} // namespace

class TestManualWindow : public QObject {
    Q_OBJECT

private slots:
    void everyPageOfTheFolderIsInTheProgram() {
        QStringList inFolder = QDir(QString(SECATEUR_SOURCE_DIR) + "/resources/manual").entryList({"*.md"});
        QStringList inProgram;
        for (const ManualPage& page : manualPages())
            inProgram << page.name;
        std::ranges::sort(inFolder);
        std::ranges::sort(inProgram);
        QCOMPARE(inProgram, inFolder);
    }

    void everyLinkLeadsToASection() {
        const QList<ManualPage> pages = manualPages();
        QStringList broken;
        int seen = 0;
        for (const ManualPage& page : pages) {
            for (const QString& target : linksOf(page)) {
                ++seen;
                const QString name = target.section('#', 0, 0);
                const ManualPage* other = name.isEmpty() ? &page : pageNamed(pages, name);
                const bool isFile = name.startsWith("../") && QFile::exists(QString(SECATEUR_SOURCE_DIR) + "/resources/manual/" + name);
                if (!isFile && (!other || !hasAnchor(*other, target.section('#', 1))))
                    broken << page.name + ": " + target;
            }
        }
        QVERIFY2(broken.isEmpty(), qPrintable(broken.join('\n')));
        QVERIFY(seen > 10);
    }

    void headingsAreFoundOutsideCode() {
        const ManualPage page = manualPage("a.md", "# Title\ntext\n```\n# a comment\n```\n## Second `part`, here\nmore");
        QCOMPARE(page.title, "Title");
        QCOMPARE(page.sections.size(), 2);
        QCOMPARE(page.sections[1].title, "Second part, here");
        QCOMPARE(page.sections[1].anchor, "second-part-here");
        QVERIFY(page.sections[0].text.contains("# a comment"));
    }

    void searchingFindsSectionsWithAllWords() {
        const QList<ManualPage> pages{manualPage("a.md", "# Masks\nA mask file.\n## Reading\nWords of a `mask`."),
                                      manualPage("b.md", "# Other\nNothing here.")};
        QCOMPARE(searchManual(pages, "mask").size(), 2);
        QCOMPARE(searchManual(pages, "mask").first().section, 0); // a match in the title comes first
        QCOMPARE(searchManual(pages, "words MASK").size(), 1);
        QCOMPARE(searchManual(pages, "words MASK").first().excerpt, "Words of a mask.");
        QVERIFY(searchManual(pages, "  ").isEmpty());
        QVERIFY(searchManual(pages, "absent").isEmpty());
    }

    void aSearchShowsSectionsAndOpensTheFirst() {
        ManualWindow window(nullptr);
        window.show();
        auto* list = window.findChild<QTreeWidget*>();
        auto* text = window.findChild<QTextBrowser*>();
        const int contents = list->topLevelItemCount();
        QCOMPARE(contents, manualPages().size());
        auto* field = window.findChild<QLineEdit*>();
        QTest::keyClicks(field, "perplexity window");
        QVERIFY(list->topLevelItemCount() > 0);
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(text->toPlainText().contains("perplexity", Qt::CaseInsensitive));
        QVERIFY(!text->extraSelections().isEmpty());
        field->clear();
        QCOMPARE(list->topLevelItemCount(), contents);
    }

    void aLinkOpensItsPage() {
        ManualWindow window(nullptr);
        window.show();
        window.showPage("strategies.md");
        auto* text = window.findChild<QTextBrowser*>();
        const QString before = text->toPlainText();
        emit text->anchorClicked(QUrl("glossary.md"));
        QVERIFY(text->toPlainText() != before);
        QVERIFY(text->toPlainText().startsWith("Glossary"));
    }
};

SECATEUR_SUITE(TestManualWindow)
#include "tst_manual_window.moc"
