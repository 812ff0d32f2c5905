#include "widgets/results/empty_page.h"

#include "analysis/base/error.h"
#include "analysis/session/result_key.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_names.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// The metrics of these results that have no values yet. Results that this version cannot measure are left out.
std::vector<MetricRequest> missingRequests(const Document& document, const std::vector<std::string>& keys) {
    std::vector<MetricRequest> missing;
    for (const std::string& key : keys) {
        if (document.measurements()->result(key))
            continue;
        try {
            for (MetricRequest& request : parseMetricRequests(parseResultKey(key).resultId))
                missing.push_back(std::move(request));
        } catch (const Error&) { // a metric of another version
            continue;
        }
    }
    return missing;
}

} // namespace

EmptyPage::EmptyPage(QWidget* parent)
    : QWidget(parent)
    , m_sentence(new QLabel)
    , m_button(new QPushButton) {
    m_sentence->setAlignment(Qt::AlignCenter);
    m_sentence->setWordWrap(true);
    m_sentence->setForegroundRole(QPalette::PlaceholderText);
    auto* column = new QVBoxLayout(this);
    column->addStretch();
    column->addWidget(m_sentence);
    column->addWidget(m_button, 0, Qt::AlignCenter);
    column->addStretch();
    m_button->hide();
    connect(m_button, &QPushButton::clicked, this, &EmptyPage::wanted);
}

void EmptyPage::say(const QString& sentence, const QString& action) {
    m_sentence->setText(sentence);
    m_button->setText(action);
    m_button->setAccessibleName(QString(action).remove('&'));
    m_button->setWhatsThis(sentence);
    m_button->setVisible(!action.isEmpty());
}

QString EmptyPage::sentence() const {
    return m_sentence->text();
}

UnmeasuredPage::UnmeasuredPage(Document* document, QWidget* parent)
    : EmptyPage(parent)
    , m_document(document) {
    connect(this, &EmptyPage::wanted, this, &UnmeasuredPage::measure);
}

bool UnmeasuredPage::isNeeded(const std::vector<std::string>& keys) {
    const std::vector<MetricRequest> missing = missingRequests(*m_document, keys);
    if (missing.empty() || !m_document->model())
        return false;
    name(keys);
    return !isMeasuring() ||
           std::ranges::any_of(missing, [](const MetricRequest& each) { return each.info->needs != Needs::weights; });
}

bool UnmeasuredPage::isMeasuring() const {
    return std::ranges::any_of(m_keys, [this](const std::string& key) {
        return m_document->measurements()->state(key) == MetricState::computing;
    });
}

void UnmeasuredPage::name(const std::vector<std::string>& keys) {
    m_keys = keys;
    const std::vector<MetricRequest> missing = missingRequests(*m_document, keys);
    if (missing.empty())
        return say(tr("Choose a metric above."));
    QStringList titles;
    for (const MetricRequest& request : missing)
        titles << metricTitle(request);
    titles.removeDuplicates();
    const QString named = titles.join(", ");
    if (isMeasuring())
        return say(tr("Measuring %1…").arg(named));
    if (!m_document->model())
        return say(tr("Not measured: %1. Measuring needs the model's weights: File ▸ Locate model…").arg(named));
    const bool runsModel =
        std::ranges::any_of(missing, [](const MetricRequest& each) { return each.info->needs != Needs::weights; });
    say(runsModel ? tr("Not measured: %1. Measuring runs the model on the text that is chosen in the panel Metrics.")
                        .arg(named)
                  : tr("Not measured: %1").arg(named),
        tr("Measure"));
}

void UnmeasuredPage::measure() {
    m_document->measurements()->measure(missingRequests(*m_document, m_keys));
}

} // namespace secateur
