#include "widgets/results/result_combo.h"

#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_names.h"

#include <algorithm>
#include <utility>

namespace secateur {

ResultCombo::ResultCombo(Document* document, Filter isOffered, QWidget* parent)
    : QComboBox(parent)
    , m_document(document)
    , m_isOffered(std::move(isOffered)) {
    connect(document, &Document::opened, this, &ResultCombo::refill);
    connect(document->measurements(), &Measurements::staleChanged, this, &ResultCombo::refill);
    connect(document->measurements(), &Measurements::stateChanged, this, &ResultCombo::refill);
    connect(this, &QComboBox::currentIndexChanged, this,
            [this] { setToolTip(currentData(Qt::ToolTipRole).toString()); });
    refill();
}

void ResultCombo::refill() {
    const QString current = currentData().toString();
    const QSignalBlocker quiet(this);
    clear();
    for (const KnownResult& known : knownResults(*m_document)) {
        if (!m_isOffered(*known.request.info))
            continue;
        addItem(known.title, known.key);
        setItemData(count() - 1, metricHelp(known.request), Qt::ToolTipRole);
    }
    setCurrentIndex(std::max(0, findData(current)));
    setToolTip(currentData(Qt::ToolTipRole).toString());
}

std::string ResultCombo::key() const {
    return currentData().toString().toStdString();
}

bool ResultCombo::choose(const QString& key) {
    const int index = findData(key);
    if (index >= 0)
        setCurrentIndex(index);
    return index >= 0;
}

} // namespace secateur
