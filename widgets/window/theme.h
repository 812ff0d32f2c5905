#pragma once

#include <QString>
#include <QStringList>

namespace secateur {

/// Ids in the order of the menu: system, light, dark.
QStringList themeIds();

/// Sets style and colours of the whole application; everything on screen follows at once. `system` takes light or dark
/// from the platform as it is now.
void applyTheme(const QString& id);

} // namespace secateur
