#pragma once

#include "analysis/base/matrix.h"
#include "widgets/plot/plot_axes.h"

#include <QList>
#include <QString>
#include <QStringList>

class QCPAxis;
class QCPAxisRect;
class QCPBars;
class QCPLayoutGrid;

namespace secateur {

/// Bars beside the rows of a heat map: the mean of each row or, for classes, the share of each class. This object is a
/// handle of the drawing, which the layout owns.
class PlotRowBars {
public:
    PlotRowBars(QCPLayoutGrid& layout, int row, int column, const PlotTheme& theme);

    QCPAxisRect* rect() const { return m_rect; }
    /// The axis of the rows; the row at 0 is at the top.
    QCPAxis* rows() const { return m_rows; }
    void setTheme(const PlotTheme& theme);
    void setTitle(const QString& title);
    /// @param values of the rows, of which means are drawn @param logarithmic whether the bars are, if they can be
    void setMeans(const Matrix& values, bool logarithmic);
    /// @param values indices in `classes`; NaN = no value
    void setShares(const Matrix& values, const QStringList& classes);

private:
    void clearShares();

    QCPAxisRect* m_rect;
    QCPAxis* m_title;
    QCPAxis* m_values;
    QCPAxis* m_rows;
    QCPBars* m_means;
    QList<QCPBars*> m_shares; ///< one for each class
};

} // namespace secateur
