#pragma once

#include <QString>
#include <QStringList>

namespace secateur {

/// Ids of the themes in the order of the menu: system, light, dark.
QStringList themeIds();

/// Sets style and colours of the whole application at once. The theme `system` is light or dark, as the platform is at
/// the moment.
void applyTheme(const QString& id);

} // namespace secateur
