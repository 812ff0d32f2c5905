#pragma once

#include "tests/support/engine_case.h"

#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/padded_batches.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

namespace secateur::test {

inline QJsonObject judgedGradients() {
    QFile file(data().filePath("gradient_metrics.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no gradient_metrics.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

/// A sequence of the token ids of a fixture.
inline TokenSequence sequenceOf(const QJsonArray& ids) {
    TokenSequence sequence;
    for (const auto& id : ids)
        sequence.ids.push_back(id.toInt());
    sequence.types.assign(sequence.ids.size(), 0);
    return sequence;
}

/// A small model, the token sequences of its gradient fixture, and the metric values that PyTorch computed on them.
struct GradientCase {
    QString folder;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    QJsonObject metrics;
    QJsonObject masked; ///< metric values under cutMask()
    std::vector<TokenSequence> sequences;
    std::vector<int> labels;
    QJsonArray cut;

    explicit GradientCase(const QString& name, bool plain = false, std::int64_t budget = 0)
        : folder(name)
        , model(openModel(data().filePath("forward/" + name + "/model.safetensors").toStdString(), {},
                          onDevice({.memoryBudget = budget, .plain = plain})))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32)) {
        const QJsonObject own = judgedGradients()[name].toObject();
        metrics = own["metrics"].toObject();
        masked = own["masked"].toObject();
        cut = own["cut"].toArray();
        for (const auto& label : own["labels"].toArray())
            labels.push_back(label.toInt());
        for (const auto& ids : own["sequences"].toArray())
            sequences.push_back(sequenceOf(ids.toArray()));
    }

    PruningMask cutMask() const {
        PruningMask mask(model->spec());
        for (const auto& place : cut) {
            LayerMask layer = mask.layer(place[0].toInt());
            layer.heads[static_cast<std::size_t>(place[1].toInt())] = false;
            mask.setLayer(place[0].toInt(), layer);
        }
        return mask;
    }

    std::vector<MetricResult> measure(const std::string& requests, std::int64_t batchTokens = 4096) const {
        return measureGradient(*model, {*plan, sequences, labels, batchTokens}, parseMetricRequests(requests), {});
    }
    MetricResult one(const std::string& request) const { return measure(request).front(); }
};

/// The largest difference of two cells, relative to the largest expected value. NaN in `found` is compared as 0: a
/// metric has no value for a cut head, where the fixture has a gradient of 0.
inline double apart(const Matrix& found, const QJsonArray& expected) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    double worst = static_cast<qsizetype>(found.rows()) == expected.size() ? 0 : infinite;
    double scale = 0;
    for (std::size_t row = 0; row < found.rows() && worst < infinite; ++row) {
        const QJsonArray cells = expected[static_cast<qsizetype>(row)].toArray();
        if (static_cast<qsizetype>(found.columns()) != cells.size())
            return infinite;
        for (std::size_t column = 0; column < found.columns(); ++column) {
            const double wanted = cells[static_cast<qsizetype>(column)].toDouble();
            const double own = std::isnan(found(row, column)) ? 0 : found(row, column);
            worst = std::max(worst, std::abs(own - wanted));
            scale = std::max(scale, std::abs(wanted));
        }
    }
    return scale > 0 ? worst / scale : worst;
}

/// The largest difference of two cells, relative to the largest expected value; infinite if a cell is NaN in only one
/// of the two tables.
inline double apart(const Matrix& found, const Matrix& expected) {
    double worst = 0;
    double scale = 0;
    for (std::size_t i = 0; i < found.values().size(); ++i) {
        const double x = found.values()[i];
        const double y = expected.values()[i];
        if (std::isnan(x) != std::isnan(y))
            return std::numeric_limits<double>::infinity();
        if (!std::isnan(x)) {
            worst = std::max(worst, std::abs(x - y));
            scale = std::max(scale, std::abs(y));
        }
    }
    return scale > 0 ? worst / scale : worst;
}

} // namespace secateur::test
