#pragma once

#include "analysis/figures/figure.h"

#include <QWidget>

#include <span>
#include <string>

class QCheckBox;
class QComboBox;

namespace secateur {

class Document;

/// Enables the check box of a logarithmic scale if such a scale is useful for the values (see spreadsWidely()).
/// @param help tooltip of the enabled check box
void offerLogarithm(QCheckBox& box, std::span<const double> values, const QString& help);

/// Controls to choose how the numbers of a picture are mapped to colours. The session stores the choice.
class ColourControls : public QWidget {
    Q_OBJECT

public:
    /// @param name name of the picture in Session::view, for example "heads"
    ColourControls(Document* document, std::string name, QWidget* parent = nullptr);

    /// Offers the choices that suit the values: a logarithmic scale if they spread widely, a diverging colour map if
    /// they have both signs. @param isDifference whether the values are a difference, which is always drawn in a
    /// diverging map
    void offer(std::span<const double> values, bool isDifference = false);
    /// The chosen scale, limited to choices that are offered.
    ColourScale scale() const;
    /// Restores the choice that the open session stores.
    void restore();

signals:
    /// Emitted when the user changed the choice.
    void changed();

private:
    void build();
    void keep();

    Document* m_document;
    std::string m_name;
    QComboBox* m_colours;
    QCheckBox* m_logarithmic;
    QComboBox* m_clip;
    bool m_offersDiverging = false;
    bool m_isDifference = false;
};

} // namespace secateur
