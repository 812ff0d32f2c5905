#include "widgets/language/translations.h"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

#include <memory>
#include <vector>

// Outside of any namespace, as the macro demands.
static void initialiseTranslations() {
    Q_INIT_RESOURCE(translations);
}

namespace secateur {

namespace {

constexpr const char* translationsFolder = ":/translations";
constexpr const char* sourceLanguage = "en";

/// The translators in use; they are removed from the application when another language is set.
std::vector<std::unique_ptr<QTranslator>>& installedTranslators() {
    static std::vector<std::unique_ptr<QTranslator>> translators;
    return translators;
}

QString& currentLanguage() {
    static QString language = sourceLanguage;
    return language;
}

bool install(const QString& file, const QString& folder) {
    auto translator = std::make_unique<QTranslator>();
    if (!translator->load(file, folder) || !QCoreApplication::installTranslator(translator.get()))
        return false;
    installedTranslators().push_back(std::move(translator));
    return true;
}

/// The code of the first language that the system wants.
QString systemLanguage() {
    const QStringList wanted = QLocale::system().uiLanguages();
    return wanted.isEmpty() ? QString(sourceLanguage) : wanted.first().section('-', 0, 0);
}

} // namespace

QStringList translatedLanguages() {
    initialiseTranslations();
    QStringList languages;
    for (const QString& file : QDir(translationsFolder).entryList({"secateur_*.qm"}, QDir::Files, QDir::Name))
        languages << file.section('_', 1).section('.', 0, 0);
    return languages;
}

bool setLanguage(const QString& language) {
    const QString wanted = language.isEmpty() ? systemLanguage() : language;
    for (const auto& translator : installedTranslators())
        QCoreApplication::removeTranslator(translator.get());
    installedTranslators().clear();
    currentLanguage() = sourceLanguage;
    QLocale::setDefault(QLocale::c());
    if (wanted == sourceLanguage || wanted == "C")
        return true;
    if (!translatedLanguages().contains(wanted))
        return false;
    // Qt's texts first: the last translator that has a text counts.
    install("qtbase_" + wanted, QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    if (!install("secateur_" + wanted, translationsFolder))
        return false;
    currentLanguage() = wanted;
    return true;
}

QString shownLanguage() {
    return currentLanguage();
}

} // namespace secateur
