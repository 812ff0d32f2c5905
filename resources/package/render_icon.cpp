// Draws an SVG as a square PNG: secateur_render_icon FILE.svg SIDE FILE.png. Run by the build.

#include <QDir>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>

#include <cstdio>

int main(int count, char** values) {
    const int side = count == 4 ? QString(values[2]).toInt() : 0;
    if (side <= 0) {
        std::fprintf(stderr, "usage: secateur_render_icon FILE.svg SIDE FILE.png\n");
        return 2;
    }
    QSvgRenderer drawing{QString(values[1])};
    QImage picture(side, side, QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    drawing.render(&painter);
    painter.end();
    const QFileInfo target(values[3]);
    if (!drawing.isValid() || !QDir().mkpath(target.path()) || !picture.save(target.filePath(), "PNG")) {
        std::fprintf(stderr, "%s: the icon could not be drawn\n", values[3]);
        return 1;
    }
    return 0;
}
