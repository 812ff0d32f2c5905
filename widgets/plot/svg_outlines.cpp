#include "widgets/plot/svg_outlines.h"

#include <QFont>
#include <QPainterPath>
#include <QXmlStreamReader>
#include <QXmlStreamWriter>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

/// A coordinate with one decimal: a hundredth of a millimetre at 300 dpi.
QString coordinate(double value) {
    return QString::number(std::round(value * 10) / 10, 'g', 7);
}

/// The data of a path element.
QString pathData(const QPainterPath& path) {
    QString data;
    const auto add = [&](const char* command, const QPainterPath::Element& point) {
        data += QLatin1String(command) + coordinate(point.x) + ' ' + coordinate(point.y);
    };
    for (int i = 0; i < path.elementCount(); ++i) {
        const QPainterPath::Element element = path.elementAt(i);
        if (element.isMoveTo()) {
            data += data.isEmpty() ? "" : "Z";
            add("M", element);
        } else if (element.isLineTo()) {
            add("L", element);
        } else if (element.isCurveTo() && i + 2 < path.elementCount()) {
            add("C", element);
            add(" ", path.elementAt(++i));
            add(" ", path.elementAt(++i));
        }
    }
    return data.isEmpty() ? data : data + "Z";
}

/// The font that a text element names.
QFont fontOf(const QXmlStreamAttributes& attributes) {
    constexpr int boldFrom = 600;
    QFont font(attributes.value("font-family").toString());
    font.setPixelSize(std::max(1, static_cast<int>(std::lround(attributes.value("font-size").toDouble()))));
    font.setBold(attributes.value("font-weight").toInt() >= boldFrom);
    font.setItalic(attributes.value("font-style") == QLatin1String("italic"));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

void writeOutline(QXmlStreamWriter& writer, const QXmlStreamAttributes& attributes, const QString& text) {
    QPainterPath path;
    path.addText(attributes.value("x").toDouble(), attributes.value("y").toDouble(), fontOf(attributes), text);
    writer.writeStartElement("path");
    writer.writeAttribute("aria-label", text);
    writer.writeAttribute("fill-rule", "nonzero");
    for (const char* kept : {"fill", "fill-opacity", "stroke"})
        if (attributes.hasAttribute(QLatin1String(kept)))
            writer.writeAttribute(kept, attributes.value(QLatin1String(kept)).toString());
    writer.writeAttribute("d", pathData(path));
    writer.writeEndElement();
}

} // namespace

QByteArray withOutlines(const QByteArray& svg) {
    QByteArray result;
    QXmlStreamReader reader(svg);
    reader.setNamespaceProcessing(false); // the writer would put a prefix before each name
    QXmlStreamWriter writer(&result);
    while (!reader.atEnd()) {
        reader.readNext();
        if (reader.isStartElement() && reader.name() == QLatin1String("text")) {
            const QXmlStreamAttributes attributes = reader.attributes(); // end with the element
            writeOutline(writer, attributes, reader.readElementText());
        } else if (reader.tokenType() != QXmlStreamReader::Invalid) {
            writer.writeCurrentToken(reader);
        }
    }
    return result;
}

} // namespace secateur
