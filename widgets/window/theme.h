#pragma once

#include <QString>
#include <QStringList>

namespace secateur {

/// Ids of the themes in the order of the menu: system, light, dark.
QStringList themeIds();

/// Sets style and colours of the whole application, which change at once. `system` chooses light or dark by the
/// platform's current setting.
void applyTheme(const QString& id);

} // namespace secateur
