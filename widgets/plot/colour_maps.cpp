#include "widgets/plot/colour_maps.h"

#include <QFile>
#include <QTextStream>

#include <algorithm>
#include <vector>

/// A static library's resources come along only when they are asked for; the macro wants to be outside namespaces.
static void loadResources() {
    Q_INIT_RESOURCE(resources);
}

namespace secateur {

namespace {

struct NamedMap {
    QString id;
    bool diverging;
    ColourMap colours;
};

ColourMap readColours(const QString& id) {
    ColourMap colours{};
    QFile file(":/colour_maps/" + id + ".txt");
    if (!file.open(QIODevice::ReadOnly))
        qFatal("the colour map %s is not among the resources", qPrintable(id));
    QTextStream text(&file);
    for (QRgb& colour : colours) {
        int red = 0;
        int green = 0;
        int blue = 0;
        text >> red >> green >> blue;
        colour = qRgb(red, green, blue);
    }
    return colours;
}

const std::vector<NamedMap>& table() {
    loadResources();
    static const std::vector<NamedMap> maps{
        {"viridis", false, readColours("viridis")},
        {"cividis", false, readColours("cividis")},
        {"magma", false, readColours("magma")},
        {"vik", true, readColours("vik")},
    };
    return maps;
}

const NamedMap& find(const QString& id) {
    const auto found = std::find_if(table().begin(), table().end(), [&](const NamedMap& map) { return map.id == id; });
    return found == table().end() ? table().front() : *found;
}

} // namespace

QStringList colourMapIds() {
    QStringList ids;
    for (const NamedMap& map : table())
        ids << map.id;
    return ids;
}

const ColourMap& colourMap(const QString& id) {
    return find(id).colours;
}

bool isDiverging(const QString& id) {
    return find(id).diverging;
}

} // namespace secateur
