// The equations of compensations against numpy (tests/data/make_projection_fit.py), and fits of whole models.
#ifndef Q_MOC_RUN
#include "analysis/compensation/fit_compensation.h"
#include "analysis/compensation/projection_fit.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace secateur;
using test::GradientCase;

namespace {

at::Tensor tensorOf(const QJsonValue& numbers) {
    std::vector<double> values;
    for (const auto& number : numbers.toArray())
        values.push_back(number.toDouble());
    return at::tensor(values, at::kDouble);
}

/// The largest difference, relative to the largest number.
double apart(const at::Tensor& found, const at::Tensor& expected) {
    return ((found - expected).abs().max() / expected.abs().max()).item<double>();
}

/// A case of the fixture.
struct Equations {
    QJsonObject object;
    at::Tensor weight;
    FitSums sums;
    std::int64_t unitColumns;
    double mu;

    Equations(const QJsonObject& file, const QJsonObject& own)
        : object(own)
        , unitColumns(own["unit_columns"].toInt())
        , mu(own["mu"].toDouble()) {
        const std::int64_t tokens = file["tokens"].toInt();
        const std::int64_t hidden = file["hidden"].toInt();
        const at::Tensor a = tensorOf(own["a"]).reshape({tokens, -1});
        const at::Tensor y = tensorOf(own["y"]).reshape({tokens, hidden});
        weight = tensorOf(own["weight"]).reshape({hidden, -1});
        const at::Tensor weights =
            own["token_weights"].toArray().isEmpty() ? at::Tensor() : tensorOf(own["token_weights"]);
        sums = FitSums(a.size(1), hidden);
        for (std::int64_t first = 0; first < tokens; first += 20) // sums are additive
            sums.add(a.narrow(0, first, 20), y.narrow(0, first, 20),
                     weights.defined() ? weights.narrow(0, first, 20) : weights);
    }

    FittedProjection fitted(CompensationMode mode) const {
        return fittedProjection(mode, sums, weight, unitColumns, mu);
    }
    double penalised(const FittedProjection& fit) const {
        const double ridge = mu * sums.gram.diagonal().mean().item<double>();
        return squaredError(sums, fit) + ridge * (fit.weight - weight).square().sum().item<double>();
    }
};

std::vector<Equations> equations() {
    QFile file(test::data().filePath("projection_fit.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no projection_fit.json");
    const QJsonObject all = QJsonDocument::fromJson(file.readAll()).object();
    std::vector<Equations> cases;
    for (const auto& one : all["cases"].toArray())
        cases.emplace_back(all, one.toObject());
    return cases;
}

FittedMask fitted(const GradientCase& c, const PruningMask& mask, CompensationMode mode) {
    return fitCompensation(*c.model, mask, mode, {c.sequences, 4096, ComputeType::float32}, {});
}

} // namespace

class TestCompensationFit : public QObject {
    Q_OBJECT

private slots:
    void equationsAreThoseOfNumpy() {
        for (const Equations& c : equations()) {
            const QJsonObject modes = c.object["modes"].toObject();
            QVERIFY(std::abs(squaredError(c.sums, {{}, {}, c.weight}) / c.object["error_without"].toDouble() - 1) <
                    1e-10);
            for (const auto& [mode, name] :
                 {std::pair(CompensationMode::bias, "bias"), std::pair(CompensationMode::scale, "scale"),
                  std::pair(CompensationMode::both, "both"), std::pair(CompensationMode::weights, "weights")}) {
                const QJsonObject expected = modes[name].toObject();
                const FittedProjection fit = c.fitted(mode);
                double worst = std::abs(squaredError(c.sums, fit) / expected["error"].toDouble() - 1);
                if (expected.contains("factors"))
                    worst = std::max(worst, apart(fit.factors, tensorOf(expected["factors"])));
                if (expected.contains("bias"))
                    worst = std::max(worst, apart(fit.bias, tensorOf(expected["bias"])));
                if (expected.contains("weight"))
                    worst = std::max(worst, apart(fit.weight.flatten(), tensorOf(expected["weight"])));
                qInfo("%s: %.1e", name, worst);
                QVERIFY(worst < 1e-9);
            }
        }
    }

    void weightsAreAtMostAsWrongAsFactors() {
        for (const Equations& c : equations())
            QVERIFY(c.penalised(c.fitted(CompensationMode::weights)) <=
                    c.penalised(c.fitted(CompensationMode::scale)) * (1 + 1e-12));
    }

    void theBiasOfALastMlpIsThatOfFlap() {
        const GradientCase c("llama-gqa");
        const std::string protect = c.model->spec().layerCount() == 2 ? "0" : "0,1";
        PruneInputs inputs;
        inputs.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
        const PruneResult flap = prune(
            *c.model, {parseStrategyRequest("flap:components=mlp"), parseBudget("5"), protect, 0, {}}, inputs, {});
        const PruningMask found = fitted(c, flap.mask, CompensationMode::bias).mask;
        const int last = flap.mask.layerCount() - 1;
        const std::vector<float>& expected = compensationOf(flap.mask.layer(last)).mlpBias;
        const std::vector<float>& own = compensationOf(found.layer(last)).mlpBias;
        QVERIFY(!expected.empty());
        QCOMPARE(own.size(), expected.size());
        for (std::size_t i = 0; i < own.size(); ++i)
            QVERIFY(std::abs(own[i] - expected[i]) < 1e-5);
    }

    void fitsReduceTheErrorOfEveryProjection_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "llama-mha", "gpt2", "qwen3", "gemma3", "bert"})
            QTest::newRow(folder) << folder;
    }
    void fitsReduceTheErrorOfEveryProjection() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        PruningMask mask(c.model->spec());
        setHeads(mask, std::vector<HeadId>{{0, 0}}, false);
        setNeurons(mask, 0, std::vector<int>{0, 1, 2}, false);
        for (const CompensationMode mode :
             {CompensationMode::scale, CompensationMode::both, CompensationMode::weights}) {
            const FittedMask fit = fitted(c, mask, mode);
            QVERIFY(fit.parts.size() >= 2);
            QVERIFY(fit.mask.isCompensated());
            QVERIFY(withoutCompensation(fit.mask) == mask);
            QVERIFY(fitted(c, fit.mask, mode).mask == fit.mask); // an earlier compensation is replaced
            for (const FittedPart& part : fit.parts)
                QVERIFY(std::isfinite(part.errorAfter) && part.mu > 0);
        }
        QVERIFY(fitted(c, mask, CompensationMode::none).mask == mask);
        QVERIFY(fitted(c, mask, CompensationMode::own).mask == mask);
    }

    void aMaskWithoutCutsStaysAsItIs() {
        const GradientCase c("llama-gqa");
        const PruningMask dense(c.model->spec());
        QVERIFY(fitted(c, dense, CompensationMode::weights).mask == dense);
    }
};

SECATEUR_SUITE(TestCompensationFit)
#include "tst_compensation_fit.moc"
