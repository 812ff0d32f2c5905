#include "widgets/window/first_picture.h"

#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_view.h"

#include <QEvent>
#include <QTimer>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

/// Interval in milliseconds of looking for a complete result: one frame, after which the view shows it.
constexpr int pollMs = 17;

/// Whether every layer with full attention has values.
bool isComplete(const MetricResult& result, const ModelSpec& spec) {
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
        const auto row = result.values.row(layer);
        if (spec.layers[layer].attention == AttentionKind::full &&
            std::ranges::all_of(row, [](double value) { return std::isnan(value); }))
            return false;
    }
    return true;
}

} // namespace

FirstPicture::FirstPicture(const Document* document, HeadsView* view, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_view(view) {
    connect(document->measurements(), &Measurements::resultChanged, this, &FirstPicture::look);
}

void FirstPicture::look(const QString& resultId) {
    const MetricResult* result = m_document->measurements()->result(resultId.toStdString());
    if (m_isComplete || resultId.toStdString() != m_view->resultId() || !result ||
        !isComplete(*result, m_document->spec()))
        return;
    m_isComplete = true;
    m_resultId = resultId;
    QTimer::singleShot(pollMs, Qt::PreciseTimer, this, &FirstPicture::awaitPaint);
}

void FirstPicture::awaitPaint() {
    for (QWidget* widget : m_view->findChildren<QWidget*>())
        widget->installEventFilter(this);
    m_view->update();
    for (QWidget* widget : m_view->findChildren<QWidget*>())
        widget->update();
}

bool FirstPicture::eventFilter(QObject*, QEvent* event) {
    if (event->type() != QEvent::Paint || m_resultId.isEmpty())
        return false;
    // All widgets of the window are painted within the same event. The timer fires after this event.
    QTimer::singleShot(0, this, [this, id = std::exchange(m_resultId, {})] { emit shown(id); });
    for (QWidget* widget : m_view->findChildren<QWidget*>())
        widget->removeEventFilter(this);
    return false;
}

} // namespace secateur
