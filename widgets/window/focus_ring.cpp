#include "widgets/window/focus_ring.h"

#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QPainter>
#include <QScrollArea>
#include <QTabBar>

namespace secateur {

namespace {

constexpr double ringWidth = 2;
constexpr double ringRadius = 3;

/// The frame. It lets the mouse through and is no part of the control for screen readers.
class Ring : public QWidget {
public:
    explicit Ring(QWidget* control)
        : QWidget(control) {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setAttribute(Qt::WA_NoSystemBackground);
        setFocusPolicy(Qt::NoFocus);
        setObjectName("focusRing");
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(palette().color(QPalette::Link), ringWidth));
        const double inset = ringWidth / 2;
        painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), ringRadius, ringRadius);
    }
};

/// The widget that the frame is drawn on: the control, or the area that shows a part of it where it is larger.
QWidget* frameOf(QWidget* control) {
    QWidget* viewport = control->parentWidget();
    auto* area = viewport ? qobject_cast<QScrollArea*>(viewport->parentWidget()) : nullptr;
    const bool isLarger = area && area->widget() == control &&
                          (control->width() > viewport->width() || control->height() > viewport->height());
    return isLarger ? area : control;
}

/// Raises the panel of a control if it lies behind another one, where the control cannot be seen.
void raisePanelOf(QWidget* control) {
    for (QWidget* around = control; around && !around->isWindow(); around = around->parentWidget())
        if (auto* panel = qobject_cast<QDockWidget*>(around); panel && panel->visibleRegion().isEmpty())
            panel->raise();
}

/// Takes the tabs of panels out of the chain of Tab while there is nothing to choose: the main window keeps them for
/// panels that lie behind no other, without drawing them.
void skipUnusedTabs(const QWidget* window) {
    const auto bars = window->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly);
    for (QTabBar* tabs : bars)
        tabs->setFocusPolicy(tabs->count() > 1 && !tabs->visibleRegion().isEmpty() ? Qt::TabFocus : Qt::NoFocus);
}

/// The part of a control that has the focus: of tabs the current one.
QRect focusedPart(const QWidget& control) {
    const auto* tabs = qobject_cast<const QTabBar*>(&control);
    return tabs && tabs->currentIndex() >= 0 ? tabs->tabRect(tabs->currentIndex()) : control.rect();
}

} // namespace

FocusRing::FocusRing(QObject* parent)
    : QObject(parent) {
    qApp->installEventFilter(this);
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { follow(now); });
}

void FocusRing::follow(QWidget* focus) {
    delete m_ring;
    m_focus = focus && !focus->isWindow() ? focus : nullptr; // a window as a whole is no control
    if (auto* tabs = qobject_cast<QTabBar*>(focus))
        connect(tabs, &QTabBar::currentChanged, this, &FocusRing::place, Qt::UniqueConnection);
    if (m_focus && m_byKeyboard)
        raisePanelOf(m_focus);
    place();
}

void FocusRing::place() {
    if (!m_focus || !m_byKeyboard) {
        delete m_ring;
        return;
    }
    QWidget* frame = frameOf(m_focus);
    if (!m_ring || m_ring->parentWidget() != frame) {
        delete m_ring;
        m_ring = new Ring(frame);
    }
    m_ring->setGeometry(focusedPart(*frame));
    m_ring->raise();
    m_ring->show();
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
    const QEvent::Type type = event->type();
    const bool isKey = type == QEvent::KeyPress;
    if (isKey && m_focus)
        skipUnusedTabs(m_focus->window());
    if (isKey || type == QEvent::MouseButtonPress) {
        if (m_byKeyboard != isKey) {
            m_byKeyboard = isKey;
            place();
        }
    } else if (type == QEvent::Resize && m_ring && (watched == m_focus || watched == m_ring->parentWidget()))
        place();
    return false;
}

} // namespace secateur
