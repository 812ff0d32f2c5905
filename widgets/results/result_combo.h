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

/// A combo box to choose a result that a document has or could measure. A metric with several measurements has several
/// entries.
class ResultCombo : public QComboBox {
    Q_OBJECT

public:
    using Filter = std::function<bool(const MetricInfo&)>;

    ResultCombo(Document* document, Filter isOffered, QWidget* parent = nullptr);

    /// Key of the chosen result.
    std::string key() const;
    /// Selects a result. @returns false if the result is not offered
    bool choose(const QString& key);

private:
    void refill();

    Document* m_document;
    Filter m_isOffered;
};

/// Makes texts about heads for one result of the open document: value, rank, percentile, and whether the head is cut.
class HeadReadout {
public:
    explicit HeadReadout(const Document* document)
        : m_document(document) {}

    /// Sets the result and computes the ranks of its values.
    void setResult(const std::string& resultId);
    const MetricResult* result() const;
    /// Whether the result has one value for all heads of a KV group.
    bool isByGroup() const;

    std::optional<double> value(HeadId head) const;
    /// The values as [layers, heads]. A KV group's value is repeated for each of its heads.
    Matrix perHead() const;
    /// The same for numbers in place of the result's values, as many as those.
    Matrix perHead(const Matrix& cells) const;
    /// One line with all facts about a head.
    QString describe(HeadId head) const;
    /// Name and value of a head with all digits. Empty if the head has neither a value nor a state.
    QString exact(HeadId head) const;
    /// Text for the clipboard. For a single head, its number. For several heads, CSV with a column that is 1 for kept
    /// heads. Empty if there are no values.
    QString copyOf(const std::set<HeadId>& heads) const;

private:
    std::size_t column(HeadId head) const;
    QString cellName(HeadId head) const;
    /// The class of a head with its features: "sink (agreement 0.93; sink 0.71, entropy 1.2)". Empty if values are not
    /// classes.
    QString classOf(HeadId head, std::string (*format)(double value)) const;
    QString state(HeadId head) const;

    const Document* m_document;
    std::string m_resultId;
    std::vector<int> m_ranks;      ///< rank of each cell
    std::vector<bool> m_uncertain; ///< whether the rank of a cell may change, because values are estimates
};

} // namespace secateur
