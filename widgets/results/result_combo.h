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


/// Text about a head for one result of the open document: value, rank, percentile, whether it is cut.
class HeadReadout {
public:
    explicit HeadReadout(const Document* document)
        : m_document(document) {}

    /// Ranks the values that the result has now.
    void setResult(const std::string& resultId);
    const MetricResult* result() const;
    /// Whether the result has one value for all heads of a KV group.
    bool isByGroup() const;

    std::optional<double> value(HeadId head) const;
    /// [layers, heads]; a KV group's value is repeated for each of its heads.
    Matrix perHead() const;
    /// One line with everything.
    QString describe(HeadId head) const;
    /// Name and value with all digits; empty without value and state.
    QString exact(HeadId head) const;
    /// For the clipboard: the number of a single head; for several, CSV with 1 for kept heads. Empty without values.
    QString copyOf(const std::set<HeadId>& heads) const;

private:
    std::size_t column(HeadId head) const;
    QString cellName(HeadId head) const;
    /// "sink (agreement 0.93; sink 0.71, entropy 1.2)" where values are classes; else empty.
    QString classOf(HeadId head, std::string (*format)(double value)) const;
    QString state(HeadId head) const;

    const Document* m_document;
    std::string m_resultId;
    std::vector<int> m_ranks;      ///< cell by cell
    std::vector<bool> m_uncertain; ///< cell by cell: the rank may change, because values are estimates
};

} // namespace secateur
