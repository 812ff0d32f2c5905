#include "widgets/results/compare_menu.h"

#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"

#include <QFileDialog>

namespace secateur {

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
