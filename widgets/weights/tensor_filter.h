#pragma once

#include "analysis/weights/stored_tensors.h"
#include "analysis/weights/tensor_comparison.h"
#include "analysis/weights/tensor_statistics.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace secateur {

/// What is known of a tensor.
struct TensorFacts {
    const StoredTensor* tensor = nullptr;
    const TensorStatistics* statistics = nullptr; ///< null = not computed yet
    const TensorDifference* difference = nullptr; ///< null = not compared yet
};

/// A number of a tensor by which the list is sorted and filtered.
enum class TensorNumber { size, norm, mean, sd, zeros, bits, error, snr };

/// The number; NaN while it is not known.
double numberOf(const TensorFacts& facts, TensorNumber number);

/// A filter of the list of tensors: words that the name, the type or the shape contains, and conditions such as
/// "size > 1M", "norm < 3", "zeros >= 10%".
class TensorFilter {
public:
    TensorFilter() = default;
    explicit TensorFilter(const QString& text);

    /// What cannot be read in the text, as a sentence; empty = nothing.
    const QString& error() const { return m_error; }
    /// Whether a tensor passes. A number that is not known passes no condition.
    bool passes(const TensorFacts& facts) const;

private:
    struct Condition {
        TensorNumber number;
        bool isAbove;
        bool orEqual;
        double bound;
    };

    QStringList m_words;
    std::vector<Condition> m_conditions;
    QString m_error;
};

} // namespace secateur
