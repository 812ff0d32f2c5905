#pragma once

// Helpers for the tests of the vector loops. Include this header before Qt.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/vector_loops.h"
#include <ATen/ATen.h>
#endif

#include <QtTest>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace secateur {

constexpr const char* instructionSets[] = {"generic", "v3", "v4"};

inline at::Tensor normal(std::vector<std::int64_t> sizes, double scale = 1) {
    return at::randn(sizes, at::kFloat) * scale;
}

inline at::Tensor normalHalves(std::vector<std::int64_t> sizes) {
    return normal(std::move(sizes)).to(at::kBFloat16);
}

inline at::Tensor wide(const at::Tensor& x) {
    return x.defined() ? x.to(at::kDouble) : x;
}

inline const float* data(const at::Tensor& x) {
    return x.defined() ? x.data_ptr<float>() : nullptr;
}

/// The largest error of an element. Each error is relative to the size of the element plus the root mean square of all
/// elements.
inline double worst(const at::Tensor& is, const at::Tensor& wanted) {
    if (wanted.numel() == 0)
        return 0;
    const at::Tensor size = wanted.abs() + wanted.square().mean().sqrt() + 1e-30;
    const double error = ((is.to(at::kDouble) - wanted).abs() / size).max().item<double>();
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

inline bool sameBits(const at::Tensor& a, const at::Tensor& b) {
    return a.scalar_type() == b.scalar_type() && a.equal(b);
}

/// Calls `add` for each instruction set. It must add one or more test rows for it.
template <typename Add>
void addInstructionSets(const Add& add) {
    QTest::addColumn<QString>("instructionSet");
    QTest::addColumn<int>("number");
    for (const char* instructionSet : instructionSets)
        add(instructionSet);
}
inline void addInstructionSets() {
    addInstructionSets(
        [](const char* instructionSet) { QTest::newRow(instructionSet) << QString(instructionSet) << 0; });
}

inline void useInstructionSet() {
    QFETCH(QString, instructionSet);
    if (!useVectorLoops(instructionSet.toStdString()))
        QSKIP("not for this processor");
}

inline void useBestInstructionSet() {
    for (const char* instructionSet : instructionSets)
        useVectorLoops(instructionSet);
}

inline RowProductKind rowProductsNamed(const QString& name) {
    return name == "tiles" ? RowProductKind::tiles : RowProductKind::vectors;
}

inline void useBestRowProducts() {
    for (const RowProductKind kind : {RowProductKind::none, RowProductKind::vectors, RowProductKind::tiles})
        useRowProducts(kind);
}

/// Calls `add` with the name of each kind of products of bfloat16 rows that this processor has. It must add one or more
/// test rows whose last column is this name.
template <typename Add>
void addRowProducts(const Add& add) {
    QTest::addColumn<QString>("products");
    bool hasAny = false;
    for (const char* name : {"tiles", "vectors"})
        if (useRowProducts(rowProductsNamed(name))) {
            add(name);
            hasAny = true;
        }
    useBestRowProducts();
    if (!hasAny)
        QSKIP("this processor has no products of bfloat16 rows");
}

inline void useRowProductsOfTest() {
    QFETCH(QString, products);
    QVERIFY(useRowProducts(rowProductsNamed(products)));
}

inline void verify(const QString& what, double error, double tolerance) {
    qInfo("%s: worst error %.2g", qPrintable(what), error);
    QVERIFY2(error < tolerance, qPrintable(QString("%1: %2").arg(what).arg(error)));
}

} // namespace secateur
