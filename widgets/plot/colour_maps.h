#pragma once

#include <QColor>
#include <QString>
#include <QStringList>

#include <array>

namespace secateur {

/// 256 opaque colours from low to high, perceptually uniform. Data and their licences: resources/colour_maps.
using ColourMap = std::array<QRgb, 256>;

/// Ids in the order of the menu: viridis, cividis, magma; then the diverging one.
QStringList colourMapIds();
/// viridis when there is none of that id
const ColourMap& colourMap(const QString& id);
/// For signed values: its middle is 0.
bool isDiverging(const QString& id);

} // namespace secateur
