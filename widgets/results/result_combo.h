#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"

#include <QComboBox>
#include <QString>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class Document;
struct MetricInfo;

/// A combo box to choose a result that a document has or could measure, or one of several measurements of a metric.
class ResultCombo : public QComboBox {
    Q_OBJECT

public:
    using Filter = std::function<bool(const MetricInfo&)>;

    ResultCombo(Document* document, Filter isOffered, QWidget* parent = nullptr);

    /// Key of the chosen result.
    std::string key() const;
    /// Chooses a result. @returns whether it is offered
    bool choose(const QString& key);

private:
    void refill();

    Document* m_document;
    Filter m_isOffered;
};

/// Makes text about heads for one result of the open document: value, rank, percentile, whether the head is cut.
class HeadReadout {
public:
    explicit HeadReadout(const Document* document)
        : m_document(document) {}

    /// Sets the result, and ranks its current values.
    void setResult(const std::string& resultId);
    const MetricResult* result() const;
    /// Whether the result has one value for all heads of a KV group.
    bool isByGroup() const;

    std::optional<double> value(HeadId head) const;
    /// [layers, heads]; a KV group's value is repeated for each of its heads.
    Matrix perHead() const;
    /// The same for numbers in place of the result's values, as many as those.
    Matrix perHead(const Matrix& cells) const;
    /// One line with all facts about a head.
    QString describe(HeadId head) const;
    /// Name and value of a head with all digits; empty if it has neither a value nor a state.
    QString exact(HeadId head) const;
    /// Text for the clipboard: for a single head its number; for several, CSV with a column that is 1 for kept heads.
    /// Empty without values.
    QString copyOf(const std::set<HeadId>& heads) const;

private:
    std::size_t column(HeadId head) const;
    QString cellName(HeadId head) const;
    /// "sink (agreement 0.93; sink 0.71, entropy 1.2)" if values are classes; else empty.
    QString classOf(HeadId head, std::string (*format)(double value)) const;
    QString state(HeadId head) const;

    const Document* m_document;
    std::string m_resultId;
    std::vector<int> m_ranks;      ///< of each cell
    std::vector<bool> m_uncertain; ///< for each cell, whether its rank may change, because values are estimates
};

} // namespace secateur
