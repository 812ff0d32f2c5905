#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QTimer>
#include <QWidget>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>

namespace secateur::test {

inline const char* verdict(double value, double bar) {
    return value <= bar ? "" : "   MISSED";
}

inline double seconds(const QElapsedTimer& timer) {
    return 1e-9 * static_cast<double>(timer.nsecsElapsed());
}

/// Runs the event loop until isSo() is true. The loop sleeps between events.
inline void runUntil(const std::function<bool()>& isSo) {
    QTimer heartbeat;
    heartbeat.start(5);
    while (!isSo())
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

inline void runFor(int milliseconds) {
    QElapsedTimer timer;
    timer.start();
    runUntil([&] { return timer.elapsed() >= milliseconds; });
}

inline void click(QWidget* widget, QPointF place) {
    const QPointF global = widget->mapToGlobal(place);
    for (const QEvent::Type type : {QEvent::MouseMove, QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
        const bool isDown = type == QEvent::MouseButtonPress;
        QMouseEvent event(type, place, global, type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                          isDown ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(widget, &event);
    }
}

/// Counts how often a widget is painted.
class PaintCount : public QObject {
public:
    explicit PaintCount(QWidget* widget) { widget->installEventFilter(this); }
    int count() const { return m_count; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        m_count += event->type() == QEvent::Paint ? 1 : 0;
        return QObject::eventFilter(watched, event);
    }

private:
    int m_count = 0;
};

/// Wall time and CPU time in seconds; infinite before the first measurement.
struct Took {
    double seconds = std::numeric_limits<double>::infinity();
    double processor = seconds; ///< CPU seconds of all threads together

    void takeLess(const Took& other) {
        seconds = std::min(seconds, other.seconds);
        processor = std::min(processor, other.processor);
    }
};

/// Measures wall time and CPU time since construction.
class Watch {
public:
    Watch() { m_timer.start(); }
    Took took() const { return {seconds(m_timer), static_cast<double>(std::clock() - m_processor) / CLOCKS_PER_SEC}; }

private:
    std::clock_t m_processor = std::clock();
    QElapsedTimer m_timer;
};

} // namespace secateur::test
