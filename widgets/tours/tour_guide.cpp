#include "widgets/tours/tour_guide.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"

#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QScrollArea>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int goingMs = 700;

/// Whether the place or the visibility of a widget may have changed.
bool isMove(QEvent::Type type) {
    switch (type) {
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::Show:
    case QEvent::Hide:
    case QEvent::ParentChange:
        return true;
    default:
        return false;
    }
}

/// The widget, or the part of its view or panel that is shown in its place: a table without rows is hidden, and its
/// panel says what to do. Null if the view or panel is hidden.
QWidget* shownInstead(QWidget* widget) {
    while (widget && !widget->isVisible()) {
        widget = widget->parentWidget();
        if (qobject_cast<QMainWindow*>(widget) || (widget && qobject_cast<QTabWidget*>(widget->parentWidget())))
            return nullptr;
    }
    return widget;
}

} // namespace

TourGuide::TourGuide(QMainWindow* window, Document* document, const Selection* selection,
                     std::function<void(const QString& tab)> showTab)
    : QObject(window)
    , m_window(window)
    , m_document(document)
    , m_selection(selection)
    , m_showTab(std::move(showTab))
    , m_balloon(new TourBalloon(window))
    , m_outline(new TourOutline(window))
    , m_following(new QTimer(this))
    , m_looking(new QTimer(this))
    , m_going(new QTimer(this)) {
    for (QTimer* timer : {m_following, m_looking, m_going})
        timer->setSingleShot(true);
    m_going->setInterval(goingMs);
    connect(m_following, &QTimer::timeout, this, &TourGuide::follow);
    connect(m_going, &QTimer::timeout, this, [this] {
        if (m_tour)
            m_step + 1 < m_tour->steps.size() ? showStep(m_step + 1, true) : leave();
    });
    connect(m_balloon, &TourBalloon::nextWanted, this, &TourGuide::next);
    connect(m_balloon, &TourBalloon::backWanted, this, &TourGuide::back);
    connect(m_balloon, &TourBalloon::leaveWanted, this, &TourGuide::leave);
    connect(m_balloon, &TourBalloon::showWanted, this, [this] { showStep(m_step, false); });
    connect(m_looking, &QTimer::timeout, this, &TourGuide::look);
    const auto lookSoon = [this] { m_looking->start(); };
    connect(selection, &Selection::changed, this, lookSoon);
    connect(document->masks(), &MaskEditor::maskChanged, this, lookSoon);
    connect(document->masks(), &MaskEditor::listChanged, this, lookSoon);
    connect(document->measurements(), &Measurements::stateChanged, this, lookSoon);
    const auto beginAnew = [this] {
        m_before = tourState(*m_document, *m_selection);
        m_looking->stop();
        m_going->stop();
    };
    // Queued, because the first measurements of a model start after this signal.
    connect(document, &Document::opened, this, beginAnew, Qt::QueuedConnection);
}

TourGuide::~TourGuide() = default;

void TourGuide::begin(const Tour& tour, std::size_t step) {
    if (!m_tour) {
        m_focusBefore = QApplication::focusWidget();
        qApp->installEventFilter(this);
    }
    m_tour = &tour;
    showStep(std::min(step, tour.steps.size() - 1), false);
}

void TourGuide::next() {
    if (m_tour && m_step + 1 < m_tour->steps.size())
        showStep(m_step + 1, false);
    else
        leave();
}

void TourGuide::back() {
    if (m_tour && m_step > 0)
        showStep(m_step - 1, false);
}

void TourGuide::leave() {
    if (!std::exchange(m_tour, nullptr))
        return;
    qApp->removeEventFilter(this);
    m_watched.clear();
    m_following->stop();
    m_going->stop();
    const bool hadFocus = m_balloon->isAncestorOf(QApplication::focusWidget());
    m_balloon->hide();
    if (m_outline)
        m_outline->hide();
    QWidget* target = std::exchange(m_target, nullptr);
    if (hadFocus)
        for (QWidget* widget : {m_focusBefore.data(), target, m_window->centralWidget()})
            if (widget && widget->isVisible() && isInWindow(widget)) {
                widget->setFocus();
                break;
            }
    emit ended();
}

/// @param byItself whether the user has done what the previous step asked for; the focus then stays where the user
/// works
void TourGuide::showStep(std::size_t step, bool byItself) {
    m_going->stop();
    m_step = step;
    m_before = tourState(*m_document, *m_selection);
    const TourStep& row = m_tour->steps[step];
    prepare();
    m_balloon->showStep(*m_tour, step);
    follow();
    const QWidget* focus = QApplication::focusWidget();
    if (row.focusesTarget && m_target && m_target->isVisible())
        m_target->setFocus(Qt::OtherFocusReason);
    else if (!byItself || !focus || !focus->isVisible())
        m_balloon->nextButton()->setFocus(Qt::OtherFocusReason);
    m_following->start(); // docks get their final places once the event loop runs
    emit stepShown();
}

void TourGuide::prepare() {
    const TourStep& row = m_tour->steps[m_step];
    if (*row.tab)
        m_showTab(row.tab);
    if (auto* dock = *row.dock ? m_window->findChild<QDockWidget*>(row.dock) : nullptr) {
        dock->show();
        dock->raise();
    }
    QWidget* widget = place().widget;
    for (QWidget* each = widget; each && !each->isWindow(); each = each->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(each);
            area && each != widget && widget->height() <= area->viewport()->height())
            area->ensureWidgetVisible(widget);
}

TourGuide::Place TourGuide::place() const {
    const TourStep& row = m_tour->steps[m_step];
    auto* widget = m_window->findChild<QWidget*>(row.target);
    if (const auto* menu = qobject_cast<QMenu*>(widget))
        return {m_window->menuBar(), m_window->menuBar()->actionGeometry(menu->menuAction())};
    if (const auto* tabs = qobject_cast<QTabWidget*>(widget))
        widget = tabs->tabBar();
    if (!widget)
        return {};
    if (QWidget* instead = shownInstead(widget); instead && instead != widget)
        return {instead, instead->rect()};
    return {widget, *row.part ? widget->property(row.part).toRect() : widget->rect()};
}

/// Puts outline and balloon where the widget of the step is now.
void TourGuide::follow() {
    if (!m_tour)
        return;
    const Place found = place();
    m_target = found.widget;
    m_watched = {m_window};
    for (QWidget* each = found.widget; each && each != m_window; each = each->parentWidget())
        m_watched << each;
    const bool isShown = found.widget && found.widget->isVisible();
    if (!m_outline) // the window that had it is gone
        m_outline = new TourOutline(m_window);
    m_outline->surround(found.widget ? found.widget : m_window, isShown ? found.rectangle : QRect());
    m_balloon->setTargetHidden(found.widget && m_outline->isHidden());
    const bool isHere = !m_outline->isHidden() && m_outline->parentWidget() == m_window;
    m_balloon->pointAt(isHere ? m_outline->surrounded() : QRect());
}

/// Goes on if the user has done what the step asks for.
void TourGuide::look() {
    if (!m_tour || !m_tour->steps[m_step].isDone || m_going->isActive())
        return;
    if (m_tour->steps[m_step].isDone(m_before, tourState(*m_document, *m_selection)))
        m_going->start();
}

bool TourGuide::isInWindow(const QWidget* widget) const {
    return widget->window() == m_window;
}

bool TourGuide::eventFilter(QObject* watched, QEvent* event) {
    if (isMove(event->type()) && m_watched.contains(watched))
        m_following->start();
    if (event->type() != QEvent::KeyPress || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape)
        return false;
    // Esc first cancels a drag, closes menus and dialogs, and closes the command palette, which lies over the window.
    const QWidget* focus = QApplication::focusWidget();
    const bool isOurs = focus && watched == focus && isInWindow(focus) &&
                        (m_balloon->isAncestorOf(focus) || m_window->centralWidget()->isAncestorOf(focus) ||
                         std::ranges::any_of(m_window->findChildren<QDockWidget*>(),
                                             [&](const QDockWidget* dock) { return dock->isAncestorOf(focus); }));
    if (!m_tour || !isOurs || QApplication::mouseButtons() != Qt::NoButton || QApplication::activePopupWidget())
        return false;
    leave();
    return true;
}

} // namespace secateur
