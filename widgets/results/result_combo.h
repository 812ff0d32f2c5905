#pragma once

#include <QComboBox>

#include <functional>
#include <string>

namespace secateur {

class Document;
struct MetricInfo;

/// Chooses a result that a document has or could measure, or one of several measurements of a metric.
class ResultCombo : public QComboBox {
    Q_OBJECT

public:
    using Filter = std::function<bool(const MetricInfo&)>;

    ResultCombo(Document* document, Filter isOffered, QWidget* parent = nullptr);

    /// Key of the chosen result.
    std::string key() const;
    /// @returns whether it is offered
    bool choose(const QString& key);

private:
    void refill();

    Document* m_document;
    Filter m_isOffered;
};

} // namespace secateur
