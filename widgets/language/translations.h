#pragma once

#include <QString>
#include <QStringList>

namespace secateur {

/// The languages into which the interface is translated, as codes of ISO 639 ("de"), apart from English. Empty if the
/// program was built without Qt's tools for translations.
QStringList translatedLanguages();

/// Shows the interface in a language, from the next text on; with the texts of Qt, if Qt's translations are installed.
/// Numbers have a decimal point in every language, as in files and on the command line.
/// @param language a code; empty = the first language of the system
/// @returns false if there is no translation: the interface is English then
bool setLanguage(const QString& language = {});

/// The code of the interface's language.
QString shownLanguage();

} // namespace secateur
