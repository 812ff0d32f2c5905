#include "widgets/help/manual.h"

#include <QFile>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>

namespace secateur {

namespace {

constexpr const char* pageNames[]{"using.md",    "glossary.md", "metrics.md",      "strategies.md", "evaluation.md",
                                  "formats.md",  "accuracy.md", "architecture.md", "adding.md",     "CHANGELOG.md"};
constexpr int excerptLength = 90;

/// Markdown's marks mean nothing to somebody who searches for words.
QString withoutMarks(QString text) {
    static const QRegularExpression links("\\[([^\\]]*)\\]\\([^)]*\\)");
    static const QRegularExpression marks("[*`]|<!--.*?-->");
    return text.replace(links, "\\1").remove(marks);
}

QString excerptAround(const QString& text, qsizetype position) {
    const qsizetype begin = std::max<qsizetype>(0, position - excerptLength / 3);
    const QString excerpt = text.mid(begin, excerptLength).simplified();
    return (begin > 0 ? "…" : "") + excerpt + (begin + excerptLength < text.size() ? "…" : "");
}

bool containsAll(const QString& text, const QStringList& words) {
    return std::ranges::all_of(words, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

bool containsAny(const QString& text, const QStringList& words) {
    return std::ranges::any_of(words, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

} // namespace

QString headingAnchor(const QString& title) {
    static const QRegularExpression punctuation("[^\\w\\- ]", QRegularExpression::UseUnicodePropertiesOption);
    return title.toLower().remove(punctuation).replace(' ', '-');
}

ManualPage manualPage(const QString& name, const QString& markdown) {
    static const QRegularExpression heading("^(#{1,6}) +(.*)$");
    ManualPage page{name, name, markdown, {}};
    bool isCode = false;
    for (const QString& line : markdown.split('\n')) {
        if (line.startsWith("```"))
            isCode = !isCode;
        const auto match = isCode ? QRegularExpressionMatch() : heading.match(line);
        if (match.hasMatch()) {
            const QString title = withoutMarks(match.captured(2)).trimmed();
            page.sections.append({title, static_cast<int>(match.capturedLength(1)), headingAnchor(title), {}});
        } else if (!page.sections.isEmpty()) {
            page.sections.last().text += line + '\n';
        }
    }
    if (!page.sections.isEmpty())
        page.title = page.sections.first().title;
    return page;
}

QList<ManualPage> manualPages() {
    QList<ManualPage> pages;
    for (const char* name : pageNames) {
        QFile file(QString(":/manual/") + name);
        if (file.open(QIODevice::ReadOnly))
            pages.append(manualPage(name, QString::fromUtf8(file.readAll())));
    }
    return pages;
}

QList<ManualMatch> searchManual(const QList<ManualPage>& pages, const QString& query) {
    const QStringList words = query.split(' ', Qt::SkipEmptyParts);
    QList<ManualMatch> inTitles;
    QList<ManualMatch> inTexts;
    for (qsizetype page = 0; page < pages.size() && !words.isEmpty(); ++page) {
        for (qsizetype section = 0; section < pages[page].sections.size(); ++section) {
            const ManualSection& part = pages[page].sections[section];
            const QString text = withoutMarks(part.text).simplified();
            if (!containsAll(part.title + ' ' + text, words))
                continue;
            const qsizetype found = std::max<qsizetype>(0, text.indexOf(words.first(), 0, Qt::CaseInsensitive));
            (containsAny(part.title, words) ? inTitles : inTexts).append({page, section, excerptAround(text, found)});
        }
    }
    return inTitles + inTexts;
}

} // namespace secateur
