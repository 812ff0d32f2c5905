#include "widgets/results/filter_bar.h"

#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_names.h"

#include <QAbstractItemView>
#include <QButtonGroup>
#include <QCompleter>
#include <QFileDialog>
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

constexpr int fewestLetters = 2; ///< number of typed letters from which on completions are offered

/// The word in front of the cursor.
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
    m_error->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long sentences are clipped
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
    if (words != m_words->stringList()) // resetting the list closes an open pop-up
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

CompareBar::CompareBar(Comparison* comparison, QWidget* parent)
    : QWidget(parent)
    , m_comparison(comparison)
    , m_names(new QLabel)
    , m_shown(new QButtonGroup(this)) {
    m_names->setTextFormat(Qt::PlainText);
    m_names->setAccessibleName(tr("What is compared"));
    m_names->setSizePolicy(QSizePolicy::Ignored,
                           QSizePolicy::Preferred); // long names are clipped; the tooltip shows them
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 4, 8, 4);
    row->setSpacing(2);
    row->addWidget(m_names, 1);
    const auto add = [&](Comparison::Shown shown, const QString& text, const QString& help) {
        auto* button = new QToolButton;
        button->setText(text);
        button->setToolTip(help);
        button->setAccessibleName(help);
        button->setCheckable(true);
        button->setAutoRaise(true);
        m_shown->addButton(button, static_cast<int>(shown));
        row->addWidget(button);
    };
    add(Comparison::Shown::a, tr("A"), tr("Show A"));
    add(Comparison::Shown::b, tr("B"), tr("Show B"));
    add(Comparison::Shown::both, tr("A and B"), tr("Show A and B together, in views that can"));
    add(Comparison::Shown::difference, tr("A − B"), tr("Show the difference"));
    auto* close = new QToolButton;
    close->setText("×");
    close->setAutoRaise(true);
    close->setToolTip(tr("Stop comparing"));
    close->setAccessibleName(close->toolTip());
    row->addWidget(close);
    connect(close, &QToolButton::clicked, comparison, [comparison] { comparison->compareWith({}); });
    connect(m_shown, &QButtonGroup::idClicked, comparison,
            [comparison](int id) { comparison->show(static_cast<Comparison::Shown>(id)); });
    connect(comparison, &Comparison::changed, this, &CompareBar::refresh);
    connect(comparison, &Comparison::subjectChanged, this, &CompareBar::refresh);
    refresh();
}

void CompareBar::refresh() {
    setVisible(m_comparison->isOn());
    if (!m_comparison->isOn())
        return;
    const QString names = tr("A: %1      B: %2").arg(m_comparison->nameOfA(), m_comparison->nameOfB());
    m_names->setText(names);
    m_names->setToolTip(names);
    m_shown->button(static_cast<int>(m_comparison->shown()))->setChecked(true);
}

CompareMenu::CompareMenu(Document* document, QWidget* parent)
    : QMenu(tr("&Compare"), parent)
    , m_document(document)
    , m_comparison(document->comparison())
    , m_with(addMenu(tr("Compare &with")))
    , m_close(nullptr) {
    connect(m_with, &QMenu::aboutToShow, this, &CompareMenu::listChoices);
    addSeparator();
    addShown();
    addSeparator();
    addAction(tr("Open reference &session or model file…"), this, [this] { choose(false); })
        ->setWhatsThis(
            tr("Opens another session or model file, whose measurements are compared with those of this one."));
    addAction(tr("Open reference model &folder…"), this, [this] {
        choose(true);
    })->setWhatsThis(tr("Opens another model folder, whose measurements are compared with those of this model."));
    m_close = addAction(tr("&Close the reference"), m_comparison, &Comparison::closeReference);
    m_close->setWhatsThis(tr("Ends the comparison with the reference."));
    m_with->setWhatsThis(tr("Compares the measurement on screen with this one."));
    connect(m_comparison, &Comparison::changed, this, &CompareMenu::update);
    connect(document, &Document::opened, this, &CompareMenu::update);
    connect(document->measurements(), &Measurements::stateChanged, this, &CompareMenu::update);
    update();
}

void CompareMenu::addShown() {
    using Shown = Comparison::Shown;
    const auto add = [this](Shown shown, const QString& text, const QKeySequence& keys, const QString& help) {
        QAction* action = addAction(text, this, [this, shown] { m_comparison->show(shown); });
        action->setWhatsThis(help);
        action->setCheckable(true);
        action->setShortcut(keys);
        m_shown.append({action, static_cast<int>(shown)});
    };
    add(Shown::a, tr("Show &A"), tr("Ctrl+Alt+1"), tr("Draws the measurement A in all views."));
    add(Shown::b, tr("Show &B"), tr("Ctrl+Alt+2"), tr("Draws the measurement B in all views."));
    add(Shown::both, tr("Show A an&d B"), tr("Ctrl+Alt+3"), tr("Draws A and B as two lines, in views that can."));
    add(Shown::difference, tr("Show A &− B"), tr("Ctrl+Alt+4"),
        tr("Draws the difference of A and B, with colours around zero."));
}

void CompareMenu::listChoices() {
    m_with->clear();
    const auto add = [this](const QString& title, const std::string& key) {
        QAction* action = m_with->addAction(title, this, [this, key] { m_comparison->compareWith(key); });
        action->setCheckable(true);
        action->setChecked(m_comparison->other() == key);
    };
    add(tr("Nothing"), {});
    m_with->addSeparator();
    for (const auto& [key, title] : m_comparison->choices())
        add(title, key);
    if (m_comparison->choices().empty())
        m_with->addAction(tr("Measure a metric twice, or open a reference"))->setEnabled(false);
}

void CompareMenu::update() {
    const bool isOpen = m_document->isOpen();
    for (QAction* action : actions())
        action->setEnabled(isOpen);
    for (const auto& [action, shown] : m_shown) {
        action->setEnabled(m_comparison->isOn());
        action->setChecked(m_comparison->isOn() && static_cast<int>(m_comparison->shown()) == shown);
    }
    m_close->setEnabled(m_comparison->reference());
}

void CompareMenu::choose(bool folder) {
    auto* dialog = new QFileDialog(parentWidget(), tr("Reference to compare with"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, m_comparison, &Comparison::openReference);
    dialog->open();
}

} // namespace secateur
