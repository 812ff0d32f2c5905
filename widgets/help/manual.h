#pragma once

#include <QList>
#include <QString>

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

} // namespace secateur
