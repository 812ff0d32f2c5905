#include "widgets/window/layouts.h"

#include "widgets/window/panels.h"
#include "widgets/window/view_tabs.h"

#include <QAction>
#include <QInputDialog>
#include <QMainWindow>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>

#include <algorithm>
#include <array>
#include <vector>

namespace secateur {

namespace {

constexpr const char* layoutsSetting = "window/layouts";
constexpr int longestName = 60;

struct BuiltInLayout {
    const char* title;
    std::vector<QString> panels; ///< names of the visible docks, front ones last
    const char* tab;             ///< id for ViewTabs::showTab(); empty = the tab stays
};

const std::vector<BuiltInLayout>& builtInLayouts() {
    static const std::vector<BuiltInLayout> rows{
        {QT_TRANSLATE_NOOP("secateur::Layouts", "Picture only"), {}, ""},
        {QT_TRANSLATE_NOOP("secateur::Layouts", "Measuring"), {"model", "metrics", "selection"}, "heads"},
        {QT_TRANSLATE_NOOP("secateur::Layouts", "Pruning"), {"selection", "mask", "evaluations"}, "heads"},
        {QT_TRANSLATE_NOOP("secateur::Layouts", "Sweep"), {"sweep", "evaluations", "jobs"}, "curves"},
    };
    return rows;
}

const BuiltInLayout* builtInLayout(const QString& title) {
    const auto& rows = builtInLayouts();
    const auto found =
        std::ranges::find_if(rows, [&](const BuiltInLayout& row) { return Layouts::tr(row.title) == title; });
    return found == rows.end() ? nullptr : &*found;
}

QVariantMap storedLayouts() {
    return QSettings().value(layoutsSetting).toMap();
}

/// A name in a menu, in which "&" would mark a key.
QString menuText(QString name) {
    return name.replace('&', "&&");
}

} // namespace

Layouts::Layouts(QMainWindow* window, Panels* panels, ViewTabs* views)
    : QObject(window)
    , m_window(window)
    , m_panels(panels)
    , m_views(views) {
    connect(this, &Layouts::changed, this, &Layouts::list);
}

QStringList Layouts::builtIn() {
    QStringList titles;
    for (const BuiltInLayout& row : builtInLayouts())
        titles << tr(row.title);
    return titles;
}

QStringList Layouts::saved() const {
    QStringList names = storedLayouts().keys();
    names.sort(Qt::CaseInsensitive);
    return names;
}

void Layouts::apply(const QString& name) {
    if (const BuiltInLayout* row = builtInLayout(name)) {
        m_panels->resetLayout();
        m_panels->showOnly(row->panels);
        if (*row->tab)
            m_views->showTab(row->tab);
        return;
    }
    const QVariantMap layout = storedLayouts().value(name).toMap();
    if (!m_panels->setLayoutState(layout.value("panels").toByteArray())) {
        emit failed(tr("The layout \"%1\" is damaged or of another version of Secateur. The panels have their first "
                       "layout. Save the layout again to replace it.")
                        .arg(name));
        return;
    }
    m_views->showTab(layout.value("tab").toString());
}

void Layouts::save(const QString& given) {
    const QString name = given.simplified().left(longestName);
    if (name.isEmpty())
        return;
    if (builtInLayout(name)) {
        emit failed(tr("\"%1\" is a built-in layout. Save the layout under another name.").arg(name));
        return;
    }
    QVariantMap layouts = storedLayouts();
    layouts[name] = QVariantMap{{"panels", m_panels->layoutState()}, {"tab", m_views->currentTab()}};
    QSettings().setValue(layoutsSetting, layouts);
    emit changed();
}

void Layouts::remove(const QString& name) {
    QVariantMap layouts = storedLayouts();
    layouts.remove(name);
    QSettings().setValue(layoutsSetting, layouts);
    emit changed();
}

void Layouts::fill(QMenu* menu) {
    m_menu = menu;
    for (const QString& title : builtIn())
        m_fixed << menu->addAction(tr("Layout: %1").arg(menuText(title)), this, [this, title] { apply(title); });
    menu->addSeparator();
    m_end = menu->addSeparator();
    for (QAction* action : m_fixed)
        action->setWhatsThis(tr("Shows the panels for this task and hides the others."));
    m_fixed << menu->addAction(tr("&Save layout as…"), this, &Layouts::askName);
    m_fixed.last()->setWhatsThis(tr("Saves the places of the panels and the visible tab under a name."));
    m_removal = menu->addMenu(tr("&Delete layout"));
    m_fixed << menu->addAction(tr("&Reset layout"), m_panels, &Panels::resetLayout);
    m_fixed.last()->setWhatsThis(tr("Puts all panels back to their places at the first start."));
    menu->setWhatsThis(tr("Arranges the panels for a task, or saves their arrangement under a name."));
    m_removal->setWhatsThis(tr("Deletes one of the saved layouts."));
    list();
}

QList<QAction*> Layouts::actions() const {
    return m_fixed + m_own;
}

void Layouts::list() {
    if (!m_menu)
        return;
    qDeleteAll(m_own);
    m_own.clear();
    m_removal->clear();
    for (const QString& name : saved()) {
        auto* action = new QAction(tr("Layout: %1").arg(menuText(name)), this);
        connect(action, &QAction::triggered, this, [this, name] { apply(name); });
        m_menu->insertAction(m_end, action);
        action->setWhatsThis(tr("Restores the panels and the tab that were saved under this name."));
        m_own << action;
        m_removal->addAction(menuText(name), this, [this, name] { askRemoval(name); });
    }
    m_removal->setEnabled(!m_own.isEmpty());
}

void Layouts::askName() {
    auto* dialog = new QInputDialog(m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Save layout"));
    dialog->setLabelText(tr("Name of the layout, which stores the panels and the visible tab:"));
    dialog->setComboBoxEditable(true);
    dialog->setComboBoxItems(saved().isEmpty() ? QStringList{{}} : saved());
    dialog->setOkButtonText(tr("&Save"));
    dialog->setTextValue({});
    connect(dialog, &QInputDialog::textValueSelected, this, &Layouts::save);
    dialog->open();
}

void Layouts::askRemoval(const QString& name) {
    auto* question = new QMessageBox(QMessageBox::Question, tr("Delete layout"),
                                     tr("Delete the layout \"%1\"?").arg(name), QMessageBox::Cancel, m_window);
    question->setAttribute(Qt::WA_DeleteOnClose);
    QAbstractButton* confirm = question->addButton(tr("&Delete"), QMessageBox::DestructiveRole);
    connect(question, &QMessageBox::buttonClicked, this, [this, name, confirm](const QAbstractButton* clicked) {
        if (clicked == confirm)
            remove(name);
    });
    question->open();
}

} // namespace secateur
