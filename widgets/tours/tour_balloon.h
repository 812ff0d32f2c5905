#pragma once

#include "widgets/tours/tour_place.h"

#include <QWidget>

#include <cstddef>

class QLabel;
class QPushButton;
class QToolButton;

namespace secateur {

struct Tour;
struct TourStep;

/// The outline of the widget that a step points at. It takes no mouse events.
class TourOutline : public QWidget {
    Q_OBJECT

public:
    explicit TourOutline(QWidget* parent);

    /// Draws the outline around a rectangle of another widget, in that widget's window.
    /// @param rectangle in the widget's coordinates; empty = no outline
    void surround(const QWidget* widget, const QRect& rectangle);
    /// The surrounded rectangle without its clipped parts, in the coordinates of its window.
    const QRect& surrounded() const { return m_surrounded; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QRect m_surrounded;
};

/// The balloon with the text of a step and its buttons. It is a child of the window that it explains and leaves it
/// usable.
class TourBalloon : public QWidget {
    Q_OBJECT

public:
    explicit TourBalloon(QWidget* window);

    /// Shows a step and tells it to screen readers.
    void showStep(const Tour& tour, std::size_t step);
    /// Moves next to a rectangle of the window. @param target in the coordinates of the window; empty = none
    void pointAt(const QRect& target);
    /// Shows whether the widget of the step is hidden, so that the user can have it shown again.
    void setTargetHidden(bool isHidden);

    /// The balloon without its arrow, in the coordinates of the window.
    const QRect& body() const { return m_place.body; }
    QPushButton* nextButton() const { return m_next; }
    QPushButton* backButton() const { return m_back; }
    QPushButton* leaveButton() const { return m_leave; }
    QPushButton* showButton() const { return m_show; }
    QString heading() const;
    QString text() const;

signals:
    void nextWanted();
    void backWanted();
    void leaveWanted();
    /// The widget of the step should be shown again.
    void showWanted();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLayout* makeButtons();

    TourPlace m_place; ///< in the coordinates of the window
    QLabel* m_count;
    QLabel* m_heading;
    QLabel* m_text;
    QLabel* m_until;
    QPushButton* m_leave;
    QPushButton* m_back;
    QPushButton* m_next;
    QPushButton* m_show;
};

} // namespace secateur
