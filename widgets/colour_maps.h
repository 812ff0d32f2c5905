#pragma once

#include <QColor>
#include <QString>
#include <QStringList>

#include <array>

class QCPColorGradient;

namespace secateur {

/// 256 colours from low to high, perceptually uniform. Data and their licence: resources/colour_maps.
using ColourMap = std::array<QRgb, 256>;

/// Ids in the order of the menu: viridis, cividis, magma; then the diverging one.
QStringList colourMapIds();
/// viridis when there is none of that id
const ColourMap& colourMap(const QString& id);
bool isDiverging(const QString& id);
QCPColorGradient colourGradient(const QString& id);

} // namespace secateur
