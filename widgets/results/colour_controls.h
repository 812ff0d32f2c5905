#pragma once

#include "analysis/figures/figure.h"

#include <QWidget>

#include <span>
#include <string>

class QCheckBox;
class QComboBox;

namespace secateur {

class Document;

/// Enables the check box of a logarithmic scale if it is useful for the values (spreadsWidely()).
/// @param help tooltip while the box is enabled
void offerLogarithm(QCheckBox& box, std::span<const double> values, const QString& help);

/// Controls to choose how the numbers of a picture become colours. The session stores the choice under a name.
class ColourControls : public QWidget {
    Q_OBJECT

public:
    /// @param name of the picture in Session::view: "heads"
    ColourControls(Document* document, std::string name, QWidget* parent = nullptr);

    /// Offers the choices that make sense for values: a logarithmic scale if they spread widely, a diverging map if
    /// they have both signs. @param isDifference whether they are always drawn in a diverging map
    void offer(std::span<const double> values, bool isDifference = false);
    /// The choice, as far as it is offered.
    ColourScale scale() const;
    /// Restores the choice from the open session.
    void restore();

signals:
    /// The user changed the choice.
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
