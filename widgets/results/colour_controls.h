#pragma once

#include "analysis/figures/figure.h"

#include <QWidget>

#include <span>
#include <string>

class QCheckBox;
class QComboBox;

namespace secateur {

class Document;

/// Enables a box for logarithmic values or colours where all values are positive and spread widely.
/// @param help tooltip while it is enabled
void offerLogarithm(QCheckBox& box, std::span<const double> values, const QString& help);

/// How a picture's numbers become colours, as a person chooses it; remembered in the session under a name.
class ColourControls : public QWidget {
    Q_OBJECT

public:
    /// @param name of the picture in the session's view: "heads"
    ColourControls(Document* document, std::string name, QWidget* parent = nullptr);

    /// Offers what makes sense for values: a logarithm where they spread, a diverging map where they have both signs.
    /// @param isDifference they are drawn in a diverging map, whatever is chosen
    void offer(std::span<const double> values, bool isDifference = false);
    /// What is chosen, as far as it is offered.
    ColourScale scale() const;
    /// What the open session remembers.
    void restore();

signals:
    /// A person chose something else.
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
