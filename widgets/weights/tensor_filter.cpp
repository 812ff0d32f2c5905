#include "widgets/weights/tensor_filter.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr std::array<std::pair<const char*, TensorNumber>, 8> numberNames{{{"size", TensorNumber::size},
                                                                           {"norm", TensorNumber::norm},
                                                                           {"mean", TensorNumber::mean},
                                                                           {"sd", TensorNumber::sd},
                                                                           {"zeros", TensorNumber::zeros},
                                                                           {"bits", TensorNumber::bits},
                                                                           {"error", TensorNumber::error},
                                                                           {"snr", TensorNumber::snr}}};

double unitOf(const QString& suffix) {
    const QString unit = suffix.toLower();
    return unit == "%"            ? 0.01
           : unit.startsWith('k') ? 1e3
           : unit.startsWith('m') ? 1e6
           : unit.startsWith('g') ? 1e9
                                  : 1;
}

QString shapeText(const StoredTensor& tensor) {
    QStringList sides;
    for (const std::int64_t side : tensor.shape)
        sides << QString::number(side);
    return sides.join('x');
}

} // namespace

double numberOf(const TensorFacts& facts, TensorNumber number) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    const TensorStatistics* known = facts.statistics;
    switch (number) {
    case TensorNumber::size:
        return static_cast<double>(facts.tensor->bytes);
    case TensorNumber::norm:
        return known ? known->norm : unknown;
    case TensorNumber::mean:
        return known ? known->mean : unknown;
    case TensorNumber::sd:
        return known ? known->sd : unknown;
    case TensorNumber::zeros:
        return known ? known->zeroShare() : unknown;
    case TensorNumber::bits:
        return known ? known->effectiveBits : unknown;
    case TensorNumber::error:
        return facts.difference ? facts.difference->relativeError() : unknown;
    case TensorNumber::snr:
        return facts.difference ? facts.difference->signalToNoise() : unknown;
    }
    return unknown;
}

TensorFilter::TensorFilter(const QString& text) {
    static const QRegularExpression condition(R"(\b(size|norm|mean|sd|zeros|bits|error|snr)\s*(<=|>=|<|>|≤|≥)\s*(\S*))",
                                              QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression number(R"(^([-+−]?[0-9.]+(?:e[-+]?[0-9]+)?)(%|[kKmMgG]?[bB]?)$)");
    static const QRegularExpression space("\\s+");
    QString words = text;
    for (auto each = condition.globalMatch(text); each.hasNext();) {
        const QRegularExpressionMatch found = each.next();
        words.replace(found.captured(0), " ");
        const QRegularExpressionMatch bound = number.match(found.captured(3));
        if (!bound.hasMatch()) {
            m_error = QCoreApplication::translate("secateur::TensorFilter", "“%1” needs a number, as in “size > 1M”")
                          .arg(found.captured(0).trimmed());
            continue;
        }
        const auto name = std::ranges::find(numberNames, found.captured(1).toLower(),
                                            [](const auto& row) { return QString(row.first); });
        const QString sign = found.captured(2);
        m_conditions.push_back({name->second, sign.startsWith('>') || sign == u"≥",
                                sign.endsWith('=') || sign == u"≥" || sign == u"≤",
                                QString(bound.captured(1)).replace(u'−', '-').toDouble() * unitOf(bound.captured(2))});
    }
    m_words = words.split(space, Qt::SkipEmptyParts);
}

bool TensorFilter::passes(const TensorFacts& facts) const {
    const QString name = QString::fromStdString(facts.tensor->name);
    const QString type = QString::fromStdString(facts.tensor->type);
    const QString shape = shapeText(*facts.tensor);
    for (const QString& word : m_words)
        if (!name.contains(word, Qt::CaseInsensitive) && type.compare(word, Qt::CaseInsensitive) != 0 &&
            !shape.contains(QString(word).replace(u'×', 'x')))
            return false;
    return std::ranges::all_of(m_conditions, [&](const Condition& condition) {
        const double value = numberOf(facts, condition.number);
        return (condition.isAbove ? value > condition.bound : value < condition.bound) ||
               (condition.orEqual && value == condition.bound);
    });
}

} // namespace secateur
