#pragma once

#include <QFocusEvent>
#include <QObject>
#include <QWidget>

#include <functional>
#include <utility>

namespace secateur {

/// Passes the keyboard focus of a view, given by `view->setFocus()`, on to one of its controls. A focus proxy would put
/// the view into the chain of Tab: Tab would then skip the controls before that one, or never leave the view.
class PassedFocus : public QObject {
public:
    using Control = std::function<QWidget*()>;

    /// @param control returns the control that gets the focus. The object belongs to the view
    PassedFocus(QWidget* view, Control control)
        : QObject(view)
        , m_control(std::move(control)) {
        view->installEventFilter(this);
    }

    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::FocusIn)
            m_control()->setFocus(static_cast<QFocusEvent*>(event)->reason());
        return false;
    }

private:
    Control m_control;
};

} // namespace secateur
