#include "widgets/evaluations/generation_view.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/results/empty_page.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QScrollBar>
#include <QTextEdit>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

QTextEdit* side(const QString& name) {
    auto* edit = new QTextEdit;
    edit->setReadOnly(true);
    edit->setAcceptRichText(false);
    edit->setTabChangesFocus(true);
    edit->setAccessibleName(name);
    edit->setWhatsThis(GenerationView::tr("The generated text. It can be selected and copied, but not changed."));
    return edit;
}

QString textOf(const ExtraResult* result) {
    return result ? QString::fromStdString(result->written->text) : QString();
}

/// Position in `a` of the first word that differs in `b`; negative if the texts are equal.
qsizetype firstDifference(const QString& a, const QString& b) {
    const qsizetype shorter = std::min(a.size(), b.size());
    qsizetype place = std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
    if (place == a.size() && place == b.size())
        return -1;
    while (place > 0 && !a[place - 1].isSpace())
        --place;
    return place;
}

} // namespace

GenerationView::GenerationView(Document* document, ExtraEvaluation* extra, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_extra(extra)
    , m_sides(new QWidget)
    , m_hint(new EmptyPage)
    , m_denseTitle(new QLabel(tr("dense")))
    , m_maskTitle(new QLabel)
    , m_dense(side(tr("Text of the dense model")))
    , m_mask(side(tr("Text under the mask"))) {
    m_hint->say(tr("Choose a prompt to compare the continuations of the dense model and of a mask."),
                tr("More measurements…"));
    connect(m_hint, &EmptyPage::wanted, this, &GenerationView::choiceWanted);
    auto* grid = new QGridLayout(m_sides);
    grid->setContentsMargins(8, 4, 8, 8);
    grid->setVerticalSpacing(2);
    grid->addWidget(m_denseTitle, 0, 0);
    grid->addWidget(m_maskTitle, 0, 1);
    grid->addWidget(m_dense, 1, 0);
    grid->addWidget(m_mask, 1, 1);
    grid->setColumnStretch(0, 1);
    grid->setColumnStretch(1, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_sides, 1);
    column->addWidget(m_hint, 1);
    connect(extra, &ExtraEvaluation::changed, this, &GenerationView::refresh);
    refresh();
}

void GenerationView::refresh() {
    const bool isChosen = m_document->isOpen() && m_extra->choice().prompt;
    m_sides->setVisible(isChosen);
    m_hint->setVisible(!isChosen);
    if (!isChosen)
        return;
    const ExtraItem item = *m_extra->choice().prompt;
    const ExtraResult* dense = m_extra->denseResult(item);
    const bool isDense = m_document->masks()->mask().keepsAll();
    const ExtraResult* mask = isDense ? nullptr : m_extra->result(item);
    const qsizetype differsAt = dense && mask ? firstDifference(textOf(dense), textOf(mask)) : -1;
    showText(m_dense, dense ? &*dense->written : nullptr, differsAt);
    showText(m_mask, mask ? &*mask->written : nullptr, differsAt);
    QString title = QString::fromStdString(m_document->masks()->state().edited().name);
    if (dense && mask && differsAt < 0)
        title = tr("%1: same text").arg(title);
    m_maskTitle->setText(isDense ? QString() : title);
    m_mask->setPlaceholderText(isDense                             ? tr("The mask cuts nothing.")
                               : !m_extra->problem(item).isEmpty() ? m_extra->problem(item)
                               : m_extra->isRunning(item)          ? tr("Generating…")
                                                                   : tr("Not generated yet."));
    m_dense->setPlaceholderText(m_extra->problem(item));
}

void GenerationView::showText(QTextEdit* side, const PromptContinuation* written, qsizetype differsAt) {
    const QString prompt = written ? QString::fromStdString(written->prompt.text) : QString();
    const QString text = written ? QString::fromStdString(written->text) : QString();
    if (side->toPlainText() != prompt + text || text.isEmpty()) {
        side->clear();
        QTextCharFormat quiet;
        quiet.setForeground(palette().placeholderText());
        QTextCursor cursor(side->document());
        if (written) {
            cursor.insertText(prompt, quiet);
            cursor.insertText(text, QTextCharFormat());
        }
        side->moveCursor(QTextCursor::Start);
    }
    QList<QTextEdit::ExtraSelection> marks;
    if (differsAt >= 0 && written) {
        qsizetype end = std::min(differsAt + 1, text.size());
        while (end < text.size() && !text[end].isSpace())
            ++end;
        QTextEdit::ExtraSelection mark{QTextCursor(side->document()), {}};
        mark.cursor.setPosition(static_cast<int>(prompt.size() + std::min(differsAt, text.size())));
        mark.cursor.setPosition(static_cast<int>(prompt.size() + end), QTextCursor::KeepAnchor);
        QColor colour = palette().color(QPalette::Highlight);
        colour.setAlphaF(0.65F);
        mark.format.setBackground(colour);
        marks << mark;
    }
    side->setExtraSelections(marks);
}

void GenerationView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    for (QTextEdit* side : {m_dense, m_mask})
        side->clear(); // inserted text keeps its colours
    refresh();
}

} // namespace secateur
