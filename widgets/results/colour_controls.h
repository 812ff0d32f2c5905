#pragma once

#include "analysis/figures/figure.h"

#include <QString>
#include <QWidget>

#include <span>
#include <string>
#include <vector>

class QComboBox;

namespace secateur {

class Document;
class ScaleCombo;

/// Controls to choose how the numbers of a picture are mapped to colours. The session stores the choice.
class ColourControls : public QWidget {
    Q_OBJECT

public:
    /// @param name of the picture in Session::view: "heads"
    /// @param scales that can be chosen, the default first; none = the scale is always linear
    ColourControls(Document* document, std::string name, const std::vector<ScaleKind>& scales,
                   QWidget* parent = nullptr);

    /// Offers the choices that make sense for values: the scales that suit them, a diverging map if they have both
    /// signs. @param isDifference whether they are always drawn in a diverging map, on a linear scale
    void offer(std::span<const double> values, bool isDifference = false);
    /// The choice, as far as it is offered. Its kind may be `automatic`.
    ColourScale scale() const;
    /// Restores the choice that the open session stores.
    void restore();

signals:
    /// Emitted when the user changed the choice.
    void changed();

private:
    void build(const std::vector<ScaleKind>& scales);
    void keep();
    void showMapInUse();

    Document* m_document;
    std::string m_name;
    QComboBox* m_colours;          ///< shows the map in use, which may be another than the chosen one
    ScaleCombo* m_scale = nullptr; ///< null = always linear
    QComboBox* m_clip;
    QString m_chosen; ///< id of a colour map
    bool m_offersDiverging = false;
    bool m_isDifference = false;
};

} // namespace secateur
