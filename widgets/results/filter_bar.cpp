#include "widgets/results/filter_bar.h"

#include "widgets/document/document.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_names.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QStringListModel>
#include <QToolButton>

#include <algorithm>

namespace secateur {

namespace {

constexpr int fewestLetters = 2; ///< from which on words are completed

/// The word that is being typed, up to the cursor.
QString wordBefore(const QLineEdit& input) {
    static const QRegularExpression last("[^\\s,<>]*$");
    return last.match(input.text().left(input.cursorPosition())).captured();
}

} // namespace

FilterBar::FilterBar(const Document* document, HeadFilter* filter, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_filter(filter)
    , m_input(new QLineEdit)
    , m_count(new QLabel)
    , m_error(new QLabel)
    , m_words(new QStringListModel(this)) {
    describe();
    auto* label = new QLabel(tr("Heads where"));
    label->setBuddy(m_input);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("×"));
    close->setAutoRaise(true);
    close->setToolTip(tr("Show all heads again (Esc)"));
    close->setAccessibleName(tr("Clear the filter"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 4, 4, 4);
    row->addWidget(label);
    row->addWidget(m_input, 3);
    row->addWidget(m_count);
    row->addWidget(m_error, 2);
    row->addWidget(close);
    setFocusProxy(m_input);

    auto* completer = new QCompleter(m_words, this);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setWidget(m_input);
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &FilterBar::insert);
    connect(m_input, &QLineEdit::textChanged, m_filter, &HeadFilter::setText);
    connect(m_input, &QLineEdit::textEdited, completer, [this, completer] {
        const QString word = wordBefore(*m_input);
        completer->setCompletionPrefix(word);
        const bool isOffered = word.size() >= fewestLetters && completer->completionCount() > 0 &&
                               completer->currentCompletion().compare(word, Qt::CaseInsensitive) != 0;
        if (!isOffered) {
            completer->popup()->hide();
            return;
        }
        QRect place = m_input->inputMethodQuery(Qt::ImCursorRectangle).toRect();
        place.setWidth(fontMetrics().averageCharWidth() * 36);
        completer->complete(place);
    });
    connect(close, &QToolButton::clicked, this, &FilterBar::clear);
    connect(m_filter, &HeadFilter::changed, this, &FilterBar::tell);
    connect(document, &Document::opened, this, &FilterBar::listWords);
    connect(document->measurements(), &Measurements::stateChanged, this, &FilterBar::listWords);
    listWords();
    tell();
    hide();
}

void FilterBar::describe() {
    m_input->setPlaceholderText(tr("layer 3-12, sink_head > 0.5, not cut"));
    m_input->setAccessibleName(tr("Filter heads"));
    m_input->setToolTip(tr("Conditions, separated by commas:\n"
                           "layer 3-12 · head 0-3\n"
                           "sink_head > 0.5 · gate_norm_head lowest 10 % · sink_head highest 20\n"
                           "pattern is sink · pattern is not other\n"
                           "cut · protected · “not” before any of these"));
    m_count->setAccessibleName(tr("Heads that pass"));
    m_error->setAccessibleName(tr("What is wrong with the filter"));
    m_error->setTextFormat(Qt::PlainText);
    m_error->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long sentences are cut off
}

void FilterBar::listWords() {
    QStringList words{"layer", "head", "cut", "protected", "not", "lowest", "highest", "pattern"};
    for (const std::string& id : m_document->measurements()->resultIds())
        if (const MetricResult* result = m_document->measurements()->result(id)) {
            if (result->request.info->scope != Scope::neuron)
                words << QString::fromStdString(id);
            for (const std::string_view name : result->request.info->classes)
                words << toQString(name);
        }
    words.removeDuplicates();
    words.sort();
    if (words != m_words->stringList()) // resetting closes an open list
        m_words->setStringList(words);
}

void FilterBar::insert(const QString& word) {
    const qsizetype typed = wordBefore(*m_input).size();
    const qsizetype at = m_input->cursorPosition() - typed;
    m_input->setText(m_input->text().replace(at, typed, word + ' '));
    m_input->setCursorPosition(static_cast<int>(at + word.size() + 1));
}

void FilterBar::tell() {
    const bool isBroken = !m_filter->error().isEmpty();
    m_error->setText(m_filter->error());
    m_error->setToolTip(m_filter->error());
    m_error->setVisible(isBroken);
    m_count->setText(m_filter->summary());
    m_count->setVisible(!isBroken && m_filter->isActive());
}

void FilterBar::open() {
    show();
    m_input->setFocus(Qt::ShortcutFocusReason);
    m_input->selectAll();
}

void FilterBar::clear() {
    m_input->clear();
    hide();
    emit closed();
}

void FilterBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape)
        clear();
    else
        QWidget::keyPressEvent(event);
}

} // namespace secateur
