#include "widgets/help/whats_this.h"

#include "widgets/help/manual_window.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QKeySequence>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTextDocumentFragment>
#include <QToolButton>
#include <QWhatsThis>
#include <QWidget>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr auto sectionProperty = "manualSection";
constexpr auto linkStart = "<a href=\"";

/// The name of a control. The interface of a combo box returns the current choice instead, which is not its name.
QString nameOf(const QWidget& widget) {
    if (!widget.accessibleName().isEmpty())
        return widget.accessibleName();
    QAccessibleInterface* face = QAccessible::queryAccessibleInterface(const_cast<QWidget*>(&widget));
    return face ? face->text(QAccessible::Name).trimmed() : QString();
}

/// A text without marks of mnemonics and ellipses, to compare texts.
QString bare(QString text) {
    return text.remove('&').remove(QStringLiteral("…")).trimmed();
}

/// Plain text as HTML; rich text as it is.
QString asHtml(const QString& text) {
    return Qt::mightBeRichText(text) ? text : text.toHtmlEscaped().replace('\n', "<br>");
}

QString keysOf(const QWidget& control) {
    const auto* button = qobject_cast<const QAbstractButton*>(&control);
    const auto* tool = qobject_cast<const QToolButton*>(&control);
    const QKeySequence keys = tool && tool->defaultAction() ? tool->defaultAction()->shortcut()
                              : button                      ? button->shortcut()
                                                            : QKeySequence();
    return keys.toString(QKeySequence::NativeText);
}

QString sectionOf(const QWidget* widget) {
    for (; widget; widget = widget->parentWidget())
        if (const QVariant section = widget->property(sectionProperty); section.isValid())
            return section.toString();
    return {};
}

/// The title of a section of the manual; that of its page if the section has no anchor; empty if there is none.
QString titleOf(const QString& section) {
    static const QList<ManualPage> pages = manualPages();
    const auto page = std::ranges::find(pages, section.section('#', 0, 0), &ManualPage::name);
    if (page == pages.end())
        return {};
    const auto found = std::ranges::find(page->sections, section.section('#', 1), &ManualSection::anchor);
    return found == page->sections.end() ? page->title : found->title;
}

/// What a tab shows. The tabs of panels that lie one behind another say what their panels say.
ControlHelp helpOfTab(const QTabBar& tabs, int tab) {
    ControlHelp help{bare(tabs.tabText(tab)), tabs.tabWhatsThis(tab), {}, {}};
    if (const auto* pages = qobject_cast<const QTabWidget*>(tabs.parentWidget()))
        help.manual = sectionOf(pages->widget(tab));
    if (!qobject_cast<const QMainWindow*>(tabs.parentWidget()))
        return help;
    const auto docks = tabs.parentWidget()->findChildren<QDockWidget*>();
    for (const QDockWidget* dock : docks)
        if (bare(dock->windowTitle()) == help.name)
            help = {help.name, dock->whatsThis(), {}, sectionOf(dock)};
    return help;
}

/// The tool tip of the row of a list or table, of the section of its header, or of a tab, at a place of the widget.
ControlHelp partAt(const QWidget& widget, const QPoint& position) {
    const QWidget* around = widget.parentWidget();
    if (const auto* header = qobject_cast<const QHeaderView*>(around)) {
        const int section = header->logicalIndexAt(position);
        const auto data = [&](int role) {
            return section < 0 ? QString()
                               : header->model()->headerData(section, header->orientation(), role).toString();
        };
        return {data(Qt::DisplayRole), data(Qt::ToolTipRole), {}, {}};
    }
    if (const auto* view = qobject_cast<const QAbstractItemView*>(around); view && view->viewport() == &widget) {
        const QModelIndex index = view->indexAt(position);
        return {index.data().toString(), index.data(Qt::ToolTipRole).toString(), {}, {}};
    }
    if (const auto* combo = qobject_cast<const QComboBox*>(&widget))
        return {combo->currentText(), combo->currentData(Qt::ToolTipRole).toString(), {}, {}};
    if (const auto* tabs = qobject_cast<const QTabBar*>(&widget))
        return helpOfTab(*tabs, tabs->tabAt(position));
    return {};
}

/// Screen readers on Unix take the current choice of a combo box for its name, and the label beside it for a label. A
/// combo box without a label gets its name as a description, which they read too.
void nameCombo(QComboBox* combo) {
    if (combo && combo->accessibleDescription().isEmpty())
        combo->setAccessibleDescription(combo->accessibleName());
}

/// A text under its title, unless it begins with this title itself.
QString paragraph(const QString& title, const QString& text) {
    if (text.isEmpty())
        return {};
    const QString html = asHtml(text);
    const bool isTitled = QTextDocumentFragment::fromHtml(html).toPlainText().startsWith(title);
    return "<p>" + (isTitled ? QString() : "<b>" + title.toHtmlEscaped() + "</b><br>") + html + "</p>";
}

} // namespace

void setManualSection(QWidget* area, const QString& section) {
    area->setProperty(sectionProperty, section);
}

ControlHelp helpOf(const QWidget& control) {
    ControlHelp help{nameOf(control), control.whatsThis(), keysOf(control), sectionOf(&control)};
    const auto* button = qobject_cast<const QAbstractButton*>(&control);
    const bool repeats = button && bare(control.toolTip()) == bare(button->text()); // as the tool tips of actions do
    if (help.text.isEmpty() && !repeats)
        help.text = control.toolTip();
    if (const auto* tabs = qobject_cast<const QTabBar*>(&control); tabs && help.text.isEmpty())
        return helpOfTab(*tabs, tabs->currentIndex());
    return help;
}

WhatsThis::WhatsThis(QObject* parent)
    : QObject(parent) {
    qApp->installEventFilter(this);
}

void WhatsThis::start() {
    if (!std::exchange(m_wasOn, false)) {
        QWhatsThis::enterWhatsThisMode();
        return;
    }
    QWhatsThis::leaveWhatsThisMode();
    if (QWidget* focus = QApplication::focusWidget())
        explain(focus, focus->rect().center(), focus->mapToGlobal(focus->rect().center()));
}

QString WhatsThis::explanation(const QWidget* widget, const QPoint& position) const {
    const ControlHelp part = partAt(*widget, position);
    ControlHelp help = helpOf(*widget);
    for (const QWidget* around = widget; help.text.isEmpty() && around->parentWidget() && !around->isWindow();) {
        around = around->parentWidget();
        help = helpOf(*around);
    }
    if (part.text.isEmpty() && help.text.isEmpty())
        return {};
    QString html = paragraph(part.name, part.text);
    if (help.text != part.text) // as those of combo boxes that show the text of their choice
        html += paragraph(help.name, help.text);
    const QString section = part.manual.isEmpty() ? help.manual : part.manual;
    if (!help.keys.isEmpty())
        html += "<p>" + tr("Key: %1").arg(help.keys.toHtmlEscaped()) + "</p>";
    if (const QString title = titleOf(section); !title.isEmpty())
        html +=
            "<p>" + QString(linkStart) + QString("%1\">%2</a></p>").arg(section, tr("Manual: %1 (Enter)").arg(title));
    return html;
}

bool WhatsThis::explain(QWidget* widget, const QPoint& position, const QPoint& globalPosition) {
    const QString text = explanation(widget, position);
    if (text.isEmpty())
        return false;
    m_link = text.section(linkStart, 1).section('"', 0, 0);
    QWhatsThis::showText(globalPosition, text, widget);
    return true;
}

void WhatsThis::follow(const QString& link) {
    QWhatsThis::hideText();
    emit sectionWanted(link.section('#', 0, 0), link.section('#', 1));
}

/// Follows the link of the text on screen with Enter, and starts the mode in windows without menus. @return whether the
/// key was used
bool WhatsThis::pressed(QObject* watched, const QKeyEvent& key) {
    const bool isEnter = key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter;
    if (isEnter && !m_link.isEmpty() && watched->inherits("QWhatsThat"))
        follow(m_link);
    else if (key.key() == Qt::Key_F1 && key.modifiers() == Qt::ShiftModifier)
        start();
    else
        return false;
    return true;
}

bool WhatsThis::eventFilter(QObject* watched, QEvent* event) {
    auto* widget = qobject_cast<QWidget*>(watched);
    if (!widget)
        return false;
    switch (event->type()) {
    case QEvent::QueryWhatsThis:
    case QEvent::WhatsThis: {
        if (qobject_cast<QMenu*>(widget) || qobject_cast<QMenuBar*>(widget)) {
            m_link.clear();
            return false; // they explain their actions
        }
        const auto* help = static_cast<QHelpEvent*>(event);
        const bool isKnown = event->type() == QEvent::QueryWhatsThis ? !explanation(widget, help->pos()).isEmpty()
                                                                     : explain(widget, help->pos(), help->globalPos());
        event->setAccepted(isKnown);
        return isKnown;
    }
    case QEvent::WhatsThisClicked:
        follow(static_cast<QWhatsThisClickedEvent*>(event)->href());
        return true;
    case QEvent::Show:
        nameCombo(qobject_cast<QComboBox*>(widget));
        return false;
    case QEvent::ShortcutOverride:
        m_wasOn = static_cast<QKeyEvent*>(event)->key() == Qt::Key_F1 && QWhatsThis::inWhatsThisMode();
        return false;
    case QEvent::KeyPress:
        return pressed(watched, *static_cast<QKeyEvent*>(event));
    default:
        return false;
    }
}

} // namespace secateur
