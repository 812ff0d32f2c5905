#pragma once

#include "analysis/figures/value_scale.h"

#include <QComboBox>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A combo box to choose how values are placed on a colour bar or an axis.
class ScaleCombo : public QComboBox {
    Q_OBJECT

public:
    /// @param kinds that can be chosen, the default first
    explicit ScaleCombo(const std::vector<ScaleKind>& kinds, QWidget* parent = nullptr);

    /// Enables the scales that suit the values, and names the one that `auto` stands for.
    /// @param clipPercent as in ColourScale
    void offer(std::span<const double> values, double clipPercent = 0);
    /// The choice, or the default if the choice does not suit the values.
    ScaleKind scale() const;
    void choose(ScaleKind kind);

    /// Restores the choice from a session's view settings. @param name of the picture: "heads" is stored as
    /// "heads.scale" @param axis of a picture with a scale for each axis: "x"
    void restore(const std::map<std::string, std::string>& view, const std::string& name, const char* axis = "");
    /// The choice as restore() reads it, whether or not it suits the values.
    std::string text() const;

private:
    bool isEnabledAt(int index) const;
};

} // namespace secateur
