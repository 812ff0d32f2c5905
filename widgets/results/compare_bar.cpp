#include "widgets/results/compare_bar.h"

#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"

#include <QButtonGroup>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace secateur {

CompareBar::CompareBar(Comparison* comparison, QWidget* parent)
    : QWidget(parent)
    , m_comparison(comparison)
    , m_names(new QLabel)
    , m_shown(new QButtonGroup(this)) {
    m_names->setTextFormat(Qt::PlainText);
    m_names->setAccessibleName(tr("What is compared"));
    m_names->setSizePolicy(QSizePolicy::Ignored,
                           QSizePolicy::Preferred); // long names are cut off; the tooltip shows them
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
    addAction(tr("Open reference &session or model file…"), this, [this] { choose(false); });
    addAction(tr("Open reference model &folder…"), this, [this] { choose(true); });
    m_close = addAction(tr("&Close the reference"), m_comparison, &Comparison::closeReference);
    connect(m_comparison, &Comparison::changed, this, &CompareMenu::update);
    connect(document, &Document::opened, this, &CompareMenu::update);
    connect(document->measurements(), &Measurements::stateChanged, this, &CompareMenu::update);
    update();
}

void CompareMenu::addShown() {
    using Shown = Comparison::Shown;
    const auto add = [this](Shown shown, const QString& text, const QKeySequence& keys) {
        QAction* action = addAction(text, this, [this, shown] { m_comparison->show(shown); });
        action->setCheckable(true);
        action->setShortcut(keys);
        m_shown.append({action, static_cast<int>(shown)});
    };
    add(Shown::a, tr("Show &A"), tr("Ctrl+Alt+1"));
    add(Shown::b, tr("Show &B"), tr("Ctrl+Alt+2"));
    add(Shown::both, tr("Show A an&d B"), tr("Ctrl+Alt+3"));
    add(Shown::difference, tr("Show A &− B"), tr("Ctrl+Alt+4"));
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
