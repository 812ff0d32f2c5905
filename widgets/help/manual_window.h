#pragma once

#include <QDialog>
#include <QList>
#include <QString>

class QLineEdit;
class QTextBrowser;
class QTreeWidget;
class QUrl;

namespace secateur {

/// A heading of a manual page and the text below it, as far as the next heading.
struct ManualSection {
    QString title;
    int level = 1;  ///< 1 = the page's own title
    QString anchor; ///< as links write it: "gate-norm" for "Gate-Norm"
    QString text;   ///< Markdown, for searching
};

struct ManualPage {
    QString name; ///< "metrics.md"
    QString title;
    QString markdown;
    QList<ManualSection> sections;
};

/// A place in the manual where a search found its words.
struct ManualMatch {
    qsizetype page = 0;
    qsizetype section = 0;
    QString excerpt; ///< one line around the first word
};

/// The pages of the manual that the program carries, in reading order.
QList<ManualPage> manualPages();

/// A page from its Markdown. Headings in code blocks are text.
ManualPage manualPage(const QString& name, const QString& markdown);

/// The anchor of a heading, as GitHub forms it: lower case, blanks as hyphens, no punctuation.
QString headingAnchor(const QString& title);

/// Sections that contain every word of a query, those with a word in the title first. Empty for an empty query.
QList<ManualMatch> searchManual(const QList<ManualPage>& pages, const QString& query);

/// The manual beside the program: contents or search results on the left, a page on the right.
class ManualWindow : public QDialog {
    Q_OBJECT

public:
    explicit ManualWindow(QWidget* parent);

    /// Shows a page and, unless the anchor is empty or unknown, the section of that anchor.
    void showPage(const QString& name, const QString& anchor = {});
    /// Searches all pages, as if the words had been typed.
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
