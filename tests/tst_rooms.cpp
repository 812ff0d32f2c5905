// The rule of the rooms: who may include whom. Reads the include lines of the whole source tree.

#include <QtTest>

#include <QDirIterator>
#include <QRegularExpression>

#include <array>

namespace {

struct Include {
    QString file; ///< relative to the source tree
    int line;
    QString header;
};

struct Room {
    QString name;
    QStringList roomsItMayInclude;
    QRegularExpression forbidden;   ///< in any file
    QRegularExpression sourcesOnly; ///< allowed in .cpp files, forbidden in headers
};

const QString torch = "^(ATen|torch|c10)/";
const QString qt = "^(Q[A-Z]|Qt[A-Z]|qcustomplot)";
const QString files = "^(hdf5|H5|nlohmann/|openssl/|unicode/|pcre2)";

QRegularExpression anyOf(const QStringList& patterns) {
    return QRegularExpression(patterns.join("|"));
}

const std::array rooms{
    Room{"analysis", {"analysis"}, anyOf({qt, files, "^(CLI/|torch/)"}), anyOf({torch, "^(spdlog|fmt)/"})},
    Room{"backends", {"analysis", "backends"}, anyOf({qt, "^CLI/"}), anyOf({torch, files, "^(spdlog|fmt)/"})},
    Room{"widgets", {"analysis", "widgets"}, anyOf({torch, files, "^CLI/"}), anyOf({QString("^qcustomplot")})},
    Room{"app",
         {"analysis", "backends", "widgets", "app"},
         anyOf({torch, files, "^qcustomplot"}),
         anyOf({QString("^$")})},
};

QList<Include> includesOf(const QString& room) {
    static const QRegularExpression line("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
    QList<Include> includes;
    const QDir root(SECATEUR_SOURCE_DIR);
    QDirIterator sources(root.filePath(room), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
    while (sources.hasNext()) {
        QFile file(sources.next());
        if (!file.open(QIODevice::ReadOnly))
            qFatal("cannot read %s", qPrintable(file.fileName()));
        int number = 0;
        for (const QString& text : QString::fromUtf8(file.readAll()).split('\n')) {
            ++number;
            if (const auto match = line.match(text); match.hasMatch())
                includes.append({root.relativeFilePath(file.fileName()), number, match.captured(1)});
        }
    }
    return includes;
}

/// Headers for sources only, which say so themselves, pull in what sources may.
bool isForSources(const QString& header) {
    QFile file(QDir(SECATEUR_SOURCE_DIR).filePath(header));
    return file.open(QIODevice::ReadOnly) && file.readAll().contains("For sources only");
}

QString broken(const Room& room, const Include& include) {
    const bool isHeader = include.file.endsWith(".h") && !isForSources(include.file);
    static const QRegularExpression ownRoom("^(analysis|backends|widgets|app|tests|resources)/");
    if (const auto match = ownRoom.match(include.header); match.hasMatch())
        return room.roomsItMayInclude.contains(match.captured(1)) ? QString() : "may not include that room";
    if (room.forbidden.match(include.header).hasMatch())
        return "may not include that library";
    if (isHeader && room.sourcesOnly.match(include.header).hasMatch())
        return "may include that library in sources only";
    return {};
}

} // namespace

class TestRooms : public QObject {
    Q_OBJECT

private slots:
    void everyRoomIncludesOnlyWhatItMay() {
        QStringList violations;
        int seen = 0;
        for (const Room& room : rooms) {
            for (const Include& include : includesOf(room.name)) {
                ++seen;
                if (const QString why = broken(room, include); !why.isEmpty())
                    violations << QString("%1:%2 includes %3: %4 %5")
                                      .arg(include.file)
                                      .arg(include.line)
                                      .arg(include.header, room.name, why);
            }
        }
        QVERIFY2(violations.isEmpty(), qPrintable("\n" + violations.join('\n')));
        QVERIFY2(seen > 100, "the source tree was not found");
    }

    void theRuleNoticesWhatItForbids_data() {
        QTest::addColumn<int>("room");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("header");
        QTest::newRow("analysis sees Qt") << 0 << "analysis/a.cpp"
                                          << "QString";
        QTest::newRow("analysis sees a reader") << 0 << "analysis/a.cpp"
                                                << "backends/open_model.h";
        QTest::newRow("ATen in a header of analysis") << 0 << "analysis/a.h"
                                                      << "ATen/ATen.h";
        QTest::newRow("JSON in a header of backends") << 1 << "backends/a.h"
                                                      << "nlohmann/json.hpp";
        QTest::newRow("widgets see libtorch") << 2 << "widgets/a.cpp"
                                              << "ATen/ATen.h";
        QTest::newRow("QCustomPlot in a header of widgets") << 2 << "widgets/a.h"
                                                            << "qcustomplot.h";
        QTest::newRow("widgets see backends") << 2 << "widgets/a.cpp"
                                              << "backends/open_model.h";
        QTest::newRow("a program sees HDF5") << 3 << "app/a.cpp"
                                             << "hdf5.h";
    }
    void theRuleNoticesWhatItForbids() {
        QFETCH(int, room);
        QFETCH(QString, file);
        QFETCH(QString, header);
        QVERIFY(!broken(rooms[static_cast<std::size_t>(room)], {file, 1, header}).isEmpty());
    }
};

QTEST_APPLESS_MAIN(TestRooms)
#include "tst_rooms.moc"
