#include "widgets/language/shown_texts.h"

#include "analysis/base/text.h"
#include "widgets/language/translations.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace secateur {

namespace {

constexpr const char* countContext = "Counts";

/// What the window counts. A translation has a form for each plural of its language: "%1 Kopf", "%1 Köpfe".
constexpr std::array countedThings{
    QT_TRANSLATE_N_NOOP("Counts", "%1 head"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 more head"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 protected head"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 KV head"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 KV group"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 neuron"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 layer"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 protected layer"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 attention layer"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 MLP"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 block"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 bypassed layer"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 window"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 metric"),
    QT_TRANSLATE_N_NOOP("Counts", "%1 unsaved mask"),
};

/// A count with narrow spaces between groups of digits, which every language reads in the same way.
QString spacedDigits(std::uint64_t count) {
    return QString::fromStdString(grouped(count)).replace(',', QChar(0x202f));
}

} // namespace

QString rowText(std::string_view text) {
    return QCoreApplication::translate("Rows", std::string(text).c_str());
}

QString countText(std::uint64_t count, const char* thing) {
    const std::string source = std::string("%1 ") + thing;
    const bool isListed = std::ranges::any_of(countedThings, [&](const char* listed) { return source == listed; });
    if (!isListed || shownLanguage() == "en")
        return QString::fromStdString(counted(count, thing));
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    const int form = static_cast<int>(std::min(count, most)); // decides the plural only
    const QString text = QCoreApplication::translate(countContext, source.c_str(), nullptr, form);
    return text == QString::fromStdString(source) ? QString::fromStdString(counted(count, thing))
                                                  : text.arg(spacedDigits(count));
}

} // namespace secateur
