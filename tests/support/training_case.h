#pragma once

#include "tests/support/device.h"
#include "tests/support/judged_run.h"

#include "analysis/training/training_set.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <memory>
#include <vector>

namespace secateur::test {

/// The model of an adapter, a training or a recovery in tests/data. @param plain by ATen only
inline std::shared_ptr<const Model> trainedModel(const QString& name, bool plain = false) {
    const QString forward = "forward/" + name;
    return openModel(data().filePath((data().exists(forward) ? forward : name) + "/model.safetensors").toStdString(),
                     {}, onDevice({.plain = plain}));
}

/// The object in a JSON file; empty if there is none. @param path in tests/data
inline QJsonObject judgementIn(const QString& path) {
    QFile file(data().filePath(path));
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

/// The targets of a batch: of decoders [rows * positions], of classifiers [rows].
inline std::vector<int> targetsOf(const QJsonObject& about) {
    std::vector<int> targets;
    for (const QJsonValue& row : about["targets"].toArray()) {
        if (!row.isArray())
            targets.push_back(row.toInt());
        for (const QJsonValue& target : row.toArray())
            targets.push_back(target.toInt());
    }
    return targets;
}

/// A trained tensor.
inline at::Tensor leaf(const std::vector<float>& numbers, std::vector<std::int64_t> shape) {
    return at::tensor(numbers).view(shape).to(at::Device(onDevice().device), at::kFloat, false, true).requires_grad_(true);
}

/// The rows of a judged batch as examples.
inline TrainingSet setOf(const JudgedRun& judged, const std::vector<int>& targets) {
    TrainingSet set;
    set.source = "fixture";
    const Batch& batch = judged.batch();
    const bool isClassifier = static_cast<int>(targets.size()) == batch.rows;
    for (int row = 0; row < batch.rows; ++row) {
        TrainingExample& example = set.examples.emplace_back();
        for (int i = 0; i < batch.length(row); ++i) {
            const auto at = static_cast<std::size_t>(row * batch.positions + i);
            example.ids.push_back(batch.ids[at]);
            if (!batch.types.empty())
                example.types.push_back(batch.types[at]);
            if (!isClassifier)
                example.targets.push_back(targets[at]);
        }
        if (isClassifier)
            example.label = targets[static_cast<std::size_t>(row)];
    }
    return set;
}

} // namespace secateur::test
