#pragma once

#include <QByteArray>

namespace secateur {

/// Replaces the texts of an SVG that Qt wrote by their outlines, so that it looks alike where the font is not
/// installed. Each outline has its text as `aria-label`.
QByteArray withOutlines(const QByteArray& svg);

} // namespace secateur
