#pragma once

#include <QDialog>
#include <QList>
#include <QString>

class QLineEdit;
class QTextBrowser;
class QTreeWidget;
class QUrl;

namespace secateur {

/// A heading of a manual page and the text below it, up to the next heading.
struct ManualSection {
    QString title;
    int level = 1;  ///< 1 = the title of the page
    QString anchor; ///< anchor in links: "gate-norm" for "Gate-Norm"
    QString text;   ///< text in Markdown, for searching
};

struct ManualPage {
    QString name; ///< file name: "metrics.md"
    QString title;
    QString markdown;
    QList<ManualSection> sections;
};

/// A section of the manual that a search found.
struct ManualMatch {
    qsizetype page = 0;
    qsizetype section = 0;
    QString excerpt; ///< one line around the first word
};

/// The manual's pages in reading order. They are resources of the program.
QList<ManualPage> manualPages();

/// Splits the Markdown of a page into sections. Lines inside code blocks are not headings.
ManualPage manualPage(const QString& name, const QString& markdown);

/// The anchor of a heading as GitHub forms it: lower case, spaces replaced by hyphens, no punctuation.
QString headingAnchor(const QString& title);

/// The sections that contain every word of a query. Sections with a word in the title come first. Empty for an empty
/// query.
QList<ManualMatch> searchManual(const QList<ManualPage>& pages, const QString& query);

/// The window of the manual: contents or search results on the left, a page on the right.
class ManualWindow : public QDialog {
    Q_OBJECT

public:
    explicit ManualWindow(QWidget* parent);

    /// Shows a page and scrolls to the section with this anchor; to the top if the anchor is empty or unknown.
    void showPage(const QString& name, const QString& anchor = {});
    /// Searches all pages for words, as if the user had typed the words.
    void search(const QString& words);

protected:
    void changeEvent(QEvent* event) override;

private:
    void listContents();
    void listMatches(const QString& words);
    void openRow();
    void openLink(const QUrl& link);
    void setPage(qsizetype page);
    void scrollTo(qsizetype section);
    void markWords();

    QList<ManualPage> m_pages;
    qsizetype m_page = -1;
    QLineEdit* m_search;
    QTreeWidget* m_list;
    QTextBrowser* m_text;
};

} // namespace secateur
