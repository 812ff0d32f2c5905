#pragma once

#include "widgets/tours/tour.h"
#include "widgets/tours/tour_balloon.h"

#include <QList>
#include <QObject>
#include <QPointer>
#include <QRect>
#include <QWidget>

#include <functional>

class QMainWindow;
class QTimer;

namespace secateur {

/// Runs one tour of the main window at a time. It shows the view and the panel of a step, outlines the widget of the
/// step, follows it, and goes on when the user presses Next or does what the step asks for. Esc leaves the tour.
class TourGuide : public QObject {
    Q_OBJECT

public:
    /// @param showTab shows a view, see ViewTabs::showTab()
    TourGuide(QMainWindow* window, Document* document, const Selection* selection,
              std::function<void(const QString& tab)> showTab);
    ~TourGuide() override;

    /// Begins a tour. A running tour ends. @param step index; larger ones stand for the last step
    void begin(const Tour& tour, std::size_t step = 0);
    void next();
    void back();
    void leave();

    /// The running tour; null if there is none.
    const Tour* tour() const { return m_tour; }
    std::size_t step() const { return m_step; }
    /// The widget that the current step points at: that of the row, or its panel while the widget is hidden there. Null
    /// if it is not in the window.
    QWidget* target() const { return m_target; }
    TourBalloon* balloon() const { return m_balloon; }
    TourOutline* outline() const { return m_outline; }

signals:
    void stepShown();
    void ended();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// The widget of a step, and the rectangle of it to point at.
    struct Place {
        QWidget* widget = nullptr;
        QRect rectangle; ///< in the widget's coordinates
    };

    void showStep(std::size_t step, bool byItself);
    /// Shows the view and the panel of the current step, and scrolls to its widget.
    void prepare();
    Place place() const;
    void follow();
    void look();
    bool isInWindow(const QWidget* widget) const;

    QMainWindow* m_window;
    Document* m_document;
    const Selection* m_selection;
    std::function<void(const QString&)> m_showTab;
    TourBalloon* m_balloon;
    QPointer<TourOutline> m_outline; ///< a child of the window that has the widget
    const Tour* m_tour = nullptr;
    std::size_t m_step = 0;
    TourState m_before;
    QPointer<QWidget> m_target;
    QPointer<QWidget> m_focusBefore; ///< widget with the focus before the tour
    QList<const QObject*> m_watched; ///< the widget of the step and its parents; compared only
    QTimer* m_following;             ///< collects several changes of the layout
    QTimer* m_looking;               ///< until an edit has changed all of the document
    QTimer* m_going;                 ///< a short wait, in which the user sees the effect of the action
};

} // namespace secateur
