#include "widgets/help/manual_window.h"

#include <QDesktopServices>
#include <QEvent>
#include <QFile>
#include <QHeaderView>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QStringList>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTextFrame>
#include <QTextTable>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

constexpr int pageRole = Qt::UserRole;
constexpr int sectionRole = Qt::UserRole + 1;
constexpr int deepestListed = 3; ///< deepest level of headings that the table of contents lists

QTreeWidgetItem* rowFor(const QString& text, qsizetype page, qsizetype section) {
    auto* row = new QTreeWidgetItem({text});
    row->setData(0, pageRole, page);
    row->setData(0, sectionRole, section);
    row->setToolTip(0, text);
    return row;
}

/// Makes Qt wrap long lines of code blocks, which it does not do by default.
void wrapCode(QTextDocument& document) {
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        QTextBlockFormat format = block.blockFormat();
        if (format.nonBreakableLines()) {
            format.setNonBreakableLines(false);
            QTextCursor(block).setBlockFormat(format);
        }
    }
}

/// Draws lines around the cells of tables, which Qt omits for Markdown.
void setTableLines(QTextDocument& document, const QColor& lines) {
    const QList<QTextFrame*> frames = document.rootFrame()->childFrames();
    for (QTextFrame* frame : frames) {
        auto* table = qobject_cast<QTextTable*>(frame);
        if (!table)
            continue;
        QTextTableFormat format = table->format();
        format.setBorderCollapse(true);
        format.setBorder(1);
        format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
        format.setBorderBrush(lines);
        format.setCellPadding(5);
        format.setCellSpacing(0);
        format.setTopMargin(6);
        format.setBottomMargin(10);
        table->setFormat(format);
    }
}

} // namespace

ManualWindow::ManualWindow(QWidget* parent)
    : QDialog(parent, Qt::Window)
    , m_pages(manualPages())
    , m_search(new QLineEdit)
    , m_list(new QTreeWidget)
    , m_text(new QTextBrowser) {
    setWindowTitle(tr("Manual"));
    m_search->setPlaceholderText(tr("Search the manual"));
    m_search->setAccessibleName(tr("Search the manual"));
    m_search->setToolTip(tr("Lists the sections that contain all of these words (Ctrl+F)"));
    m_search->setClearButtonEnabled(true);
    m_list->setAccessibleName(tr("Contents"));
    m_list->setWhatsThis(tr("The sections of the manual, or those that the search found. The chosen one is shown."));
    m_list->setHeaderHidden(true);
    m_list->setStyleSheet("QTreeWidget::item { padding: 3px 0; }");
    m_list->setWordWrap(true);
    m_text->setAccessibleName(tr("Page"));
    m_text->setWhatsThis(tr("A page of the manual. Tab moves from link to link, Enter follows a link."));
    m_text->setOpenLinks(false);
    m_text->document()->setDocumentMargin(16);

    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_search);
    column->addWidget(m_list);
    auto* splitter = new QSplitter;
    splitter->addWidget(side);
    splitter->addWidget(m_text);
    splitter->setStretchFactor(1, 1);
    splitter->setSizes({280, 720});
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(splitter);
    resize(1000, 720);

    connect(m_search, &QLineEdit::textChanged, this, &ManualWindow::listMatches);
    connect(m_search, &QLineEdit::returnPressed, this, &ManualWindow::openRow);
    connect(m_list, &QTreeWidget::currentItemChanged, this, &ManualWindow::openRow);
    connect(m_text, &QTextBrowser::anchorClicked, this, &ManualWindow::openLink);
    auto* find = new QShortcut(QKeySequence::Find, this);
    connect(find, &QShortcut::activated, m_search, [this] {
        m_search->setFocus();
        m_search->selectAll();
    });
    listContents();
    setPage(0);
    m_search->setFocus();
}

void ManualWindow::showPage(const QString& name, const QString& anchor) {
    const auto page = std::ranges::find(m_pages, name, &ManualPage::name);
    if (page == m_pages.end())
        return;
    setPage(page - m_pages.begin());
    const auto section = std::ranges::find(page->sections, anchor, &ManualSection::anchor);
    if (section != page->sections.end())
        scrollTo(section - page->sections.begin());
}

void ManualWindow::search(const QString& words) {
    m_search->setText(words);
}

void ManualWindow::changeEvent(QEvent* event) {
    QDialog::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_page >= 0)
        setTableLines(*m_text->document(), palette().color(QPalette::Mid));
}

void ManualWindow::listContents() {
    m_list->clear();
    m_list->setRootIsDecorated(true);
    for (qsizetype page = 0; page < m_pages.size(); ++page) {
        QTreeWidgetItem* top = rowFor(m_pages[page].title, page, 0);
        m_list->addTopLevelItem(top);
        const QList<ManualSection>& sections = m_pages[page].sections;
        QTreeWidgetItem* chapter = top;
        for (qsizetype section = 1; section < sections.size(); ++section) {
            if (sections[section].level > deepestListed)
                continue;
            QTreeWidgetItem* row = rowFor(sections[section].title, page, section);
            (sections[section].level > 2 ? chapter : top)->addChild(row);
            if (sections[section].level <= 2)
                chapter = row;
        }
    }
}

void ManualWindow::listMatches(const QString& words) {
    const QSignalBlocker quiet(m_list);
    if (words.trimmed().isEmpty()) {
        listContents();
        markWords();
        return;
    }
    m_list->clear();
    m_list->setRootIsDecorated(false);
    for (const ManualMatch& match : searchManual(m_pages, words)) {
        const ManualPage& page = m_pages[match.page];
        const QString& title = page.sections[match.section].title;
        const QString place = match.section == 0 ? title : page.title + " › " + title;
        m_list->addTopLevelItem(rowFor(place + '\n' + match.excerpt, match.page, match.section));
    }
    if (m_list->topLevelItemCount() == 0) {
        auto* none = new QTreeWidgetItem(m_list, {tr("No section contains these words.")});
        none->setFlags(Qt::NoItemFlags);
    }
    markWords();
}

void ManualWindow::openRow() {
    const QTreeWidgetItem* row = m_list->currentItem() ? m_list->currentItem() : m_list->topLevelItem(0);
    if (!row || !row->data(0, pageRole).isValid())
        return;
    setPage(row->data(0, pageRole).toLongLong());
    scrollTo(row->data(0, sectionRole).toLongLong());
}

void ManualWindow::openLink(const QUrl& link) {
    const QString name = link.path().section('/', -1);
    if (!link.scheme().isEmpty())
        QDesktopServices::openUrl(link);
    else
        showPage(name.isEmpty() ? m_pages[m_page].name : name, link.fragment());
}

void ManualWindow::setPage(qsizetype page) {
    if (page < 0 || page >= m_pages.size() || page == m_page)
        return;
    m_page = page;
    m_text->setMarkdown(m_pages[page].markdown);
    wrapCode(*m_text->document());
    setTableLines(*m_text->document(), palette().color(QPalette::Mid));
    markWords();
}

void ManualWindow::scrollTo(qsizetype section) {
    qsizetype seen = -1;
    for (QTextBlock block = m_text->document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() == 0 || ++seen < section)
            continue;
        m_text->verticalScrollBar()->setValue(m_text->verticalScrollBar()->maximum());
        m_text->setTextCursor(QTextCursor(block));
        m_text->ensureCursorVisible();
        return;
    }
}

/// Highlights the searched words in the page on screen.
void ManualWindow::markWords() {
    QList<QTextEdit::ExtraSelection> marks;
    QTextCharFormat format;
    format.setBackground(palette().color(QPalette::Highlight));
    format.setForeground(palette().color(QPalette::HighlightedText));
    for (const QString& word : m_search->text().split(' ', Qt::SkipEmptyParts)) {
        QTextCursor cursor(m_text->document());
        while (word.size() > 1 && !(cursor = m_text->document()->find(word, cursor)).isNull())
            marks.append({cursor, format});
    }
    m_text->setExtraSelections(marks);
}

namespace {

constexpr const char* pageNames[]{"using.md",    "installing.md",   "glossary.md", "metrics.md",  "strategies.md",
                                  "papers.md",   "evaluation.md",   "clusters.md", "formats.md",  "python.md",
                                  "accuracy.md", "architecture.md", "adding.md",   "CHANGELOG.md"};
constexpr int excerptLength = 90;

/// Removes Markdown's markup (links, emphasis, table lines), so that excerpts are plain text.
QString withoutMarks(QString text) {
    static const QRegularExpression links("\\[([^\\]]*)\\]\\([^)]*\\)");
    static const QRegularExpression marks("[*`|]|-{3,}|<!--.*?-->");
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
