#pragma once

#include "analysis/weights/tensor_comparison.h"
#include "analysis/weights/tensor_statistics.h"

#include <QWidget>

class QGridLayout;
class QLabel;

namespace secateur {

class FigureWidget;

/// The statistics and the histogram of a tensor, and its difference to a compared checkpoint.
class TensorDetails : public QWidget {
    Q_OBJECT

public:
    explicit TensorDetails(QWidget* parent = nullptr);

    /// @param what the numbers are: "values", "scales" @param difference null = nothing is compared
    void show(const QString& what, const TensorStatistics& statistics, const TensorDifference* difference);
    /// A sentence in the place of the numbers.
    void say(const QString& sentence);

private:
    void fill(const QList<QPair<QString, QString>>& rows);

    QLabel* m_title;
    QLabel* m_numbers;
    FigureWidget* m_histogram;
};

} // namespace secateur
