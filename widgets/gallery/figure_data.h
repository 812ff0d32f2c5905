#pragma once

#include "analysis/figures/figure.h"

#include <QString>

#include <functional>
#include <memory>

class QWidget;

namespace secateur {

/// Writes the numbers of a figure as .csv, and those of a table also as .md, .tex or .html. Writes a file beside the
/// path and renames it. @throws Error
void saveFigureData(const Figure& figure, const QString& path);

/// Asks where to write the numbers of a figure, and writes them. The dialog does not block the window.
/// @param name suggested, without an ending @param failed receives the sentence of a failure
void chooseAndSaveData(QWidget* parent, std::shared_ptr<const Figure> figure, const QString& name,
                       std::function<void(const QString& message)> failed);

} // namespace secateur
