// Checks which folders of the source tree may include which. A "room" is a top-level folder (analysis, backends,
// widgets, app) and a "shelf" one of its subfolders. Reads all #include lines.

#include "tests/support/suite.h"

#include <QtTest>

#include <QDirIterator>
#include <QRegularExpression>

#include <algorithm>
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
    QRegularExpression forbidden;   ///< headers that no file of the room may include
    QRegularExpression sourcesOnly; ///< headers that only .cpp files of the room may include
};

const QString torch = "^(ATen|torch|c10)/";
const QString qt = "^(Q[A-Z]|Qt[A-Z]|qcustomplot)";
const QString files = "^(hdf5|H5|mpi\\.h|nlohmann/|openssl/|unicode/|pcre2)";

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

/// For each shelf, the shelves of the same room that it may include. Includes of other rooms are checked by the rules
/// for rooms.
const QMap<QString, QStringList> shelves{
    {"analysis/base", {}},
    {"analysis/model", {"base"}},
    {"analysis/masks", {"base", "model"}},
    {"analysis/text", {"base", "model"}},
    {"analysis/running", {"base", "model", "masks", "text"}},
    {"analysis/tasks", {"base", "model", "text", "running"}},
    {"analysis/evaluation", {"base", "model", "masks", "text", "running", "tasks"}},
    {"analysis/export", {"base", "model", "masks", "running"}},
    {"analysis/metrics", {"base", "model", "masks", "text", "running", "evaluation"}},
    {"analysis/weights", {"base", "model", "masks", "metrics"}},
    {"analysis/compensation", {"base", "model", "masks", "text", "running"}},
    {"analysis/training", {"base", "model", "masks", "text", "running"}},
    {"analysis/strategies",
     {"base", "model", "masks", "text", "running", "compensation", "evaluation", "export", "metrics"}},
    {"analysis/campaigns",
     {"base", "model", "masks", "text", "running", "tasks", "compensation", "training", "evaluation", "metrics",
      "strategies"}},
    {"analysis/session",
     {"base", "model", "masks", "text", "compensation", "training", "evaluation", "export", "metrics", "strategies",
      "campaigns", "weights"}},
    {"analysis/figures",
     {"base", "model", "masks", "text", "running", "training", "metrics", "strategies", "campaigns", "session",
      "weights"}},
    {"analysis/gallery",
     {"base", "model", "masks", "text", "running", "tasks", "evaluation", "metrics", "strategies", "campaigns",
      "session", "figures", "weights"}},
    {"analysis/report",
     {"base", "model", "masks", "text", "running", "evaluation", "tasks", "metrics", "strategies", "campaigns",
      "session", "figures", "gallery"}},
    {"analysis/prediction", {"base", "model", "masks", "text", "running", "evaluation", "metrics", "session"}},
    {"backends/base", {}},
    {"backends/cluster", {}},
    {"backends/config", {}},
    {"backends/formats", {"base", "config"}},
    {"backends/kernels", {}},
    {"backends/engine", {"base", "config", "formats", "kernels"}},
    {"backends/weights", {"base", "config", "formats"}},
    {"backends/session", {"base", "config", "formats"}},
    {"backends/export", {"base", "config", "formats", "engine", "session", "tokenizers"}},
    {"backends/json", {"engine", "session", "export"}},
    {"backends/tokenizers", {"base", "formats"}},
    {"backends/text", {"base", "formats", "session", "tokenizers"}},
    {"backends/remote", {"base", "export", "formats", "session", "text"}},
    {"backends/training", {"base", "config", "formats", "engine", "session", "tokenizers", "text"}},
    {"widgets/plot", {}},
    {"widgets/report", {"plot"}},
    {"widgets/jobs", {}},
    {"widgets/help", {}},
    {"widgets/language", {}},
    {"widgets/document", {"jobs", "language"}},
    {"widgets/results", {"plot", "document", "language"}},
    {"widgets/tours", {"document"}},
    {"widgets/evaluations", {"plot", "jobs", "document", "language", "results"}},
    {"widgets/attention", {"plot", "jobs", "document", "language", "results"}},
    {"widgets/heads", {"plot", "jobs", "document", "language", "results"}},
    {"widgets/layers", {"plot", "document", "language", "results"}},
    {"widgets/curves", {"plot", "jobs", "document", "language", "results"}},
    {"widgets/gallery", {"plot", "report", "jobs", "document"}},
    {"widgets/masks", {"jobs", "document", "language", "results", "evaluations"}},
    {"widgets/training", {"plot", "jobs", "document", "language", "results", "evaluations"}},
    {"widgets/export", {"jobs", "document", "language", "results"}},
    {"widgets/neurons", {"plot", "document", "language", "results", "layers"}},
    {"widgets/scatter", {"plot", "document", "language", "results", "heads"}},
    {"widgets/weights", {"plot", "jobs", "document", "results"}},
    {"widgets/window", {"plot",      "jobs",  "document", "results",  "curves",  "evaluations", "export",
                        "attention", "heads", "layers",   "masks",    "neurons", "report",      "scatter",
                        "training",  "help",  "gallery",  "language", "tours",   "weights"}},
    {"app/cli", {"reference", "window"}},
    {"app/reference", {}},
    {"app/window", {"reference"}},
};

constexpr int mostFiles = 60; ///< limit on the number of files in a shelf

QString shelfOf(const QString& path) {
    return path.section('/', 0, 1);
}

QString roomOf(const QString& path) {
    return path.section('/', 0, 0);
}

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

/// Whether a header states that only .cpp files may include it. Such a header may include what .cpp files may.
bool isForSources(const QString& header) {
    QFile file(QDir(SECATEUR_SOURCE_DIR).filePath(header));
    return file.open(QIODevice::ReadOnly) && file.readAll().contains("For sources only");
}

QString wrongArrow(const Include& include) {
    const QString from = shelfOf(include.file);
    const QString to = shelfOf(include.header);
    if (roomOf(from) != roomOf(to) || from == to)
        return {};
    return shelves.value(from).contains(to.section('/', 1)) ? QString() : "may not include the shelf " + to;
}

QString broken(const Room& room, const Include& include) {
    const bool isHeader = include.file.endsWith(".h") && !isForSources(include.file);
    static const QRegularExpression ownRoom("^(analysis|backends|widgets|app|tests|resources)/");
    if (const auto match = ownRoom.match(include.header); match.hasMatch())
        return room.roomsItMayInclude.contains(match.captured(1)) ? wrongArrow(include) : "may not include that room";
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

    void everyFileLiesOnAShelfThatIsInTheTable() {
        const QDir root(SECATEUR_SOURCE_DIR);
        QMap<QString, int> files;
        for (const Room& room : rooms) {
            QDirIterator sources(root.filePath(room.name), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
            while (sources.hasNext())
                ++files[QFileInfo(root.relativeFilePath(sources.next())).path()];
        }
        QCOMPARE(files.keys(), shelves.keys());
        for (const QString& shelf : files.keys())
            QVERIFY2(files[shelf] <= mostFiles, qPrintable(QString("%1 has %2 files").arg(shelf).arg(files[shelf])));
    }

    void readmesNameFilesThatAreThere() {
        const QDir root(SECATEUR_SOURCE_DIR);
        static const QRegularExpression file("`(?:[a-z_]+/)*([a-z_0-9]+\\.(?:h|cpp))`");
        QSet<QString> known;
        QStringList missing;
        for (const QString folder : {"analysis", "backends", "widgets", "app", "tests"}) {
            QDirIterator sources(root.filePath(folder), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
            while (sources.hasNext())
                known.insert(QFileInfo(sources.next()).fileName());
        }
        for (const QString& shelf : shelves.keys()) {
            QFile readme(root.filePath(shelf + "/README.md"));
            QVERIFY2(readme.open(QIODevice::ReadOnly), qPrintable(shelf + " has no README.md"));
            for (auto match = file.globalMatch(QString::fromUtf8(readme.readAll())); match.hasNext();)
                if (const QString name = match.next().captured(1); !known.contains(name))
                    missing << shelf + ": " + name;
        }
        QVERIFY2(missing.isEmpty(), qPrintable(missing.join('\n')));
    }

    /// The shelves can be sorted so that each one includes only shelves before it.
    void arrowsBetweenShelvesPointOneWay() {
        QStringList left = shelves.keys();
        const auto isReady = [&](const QString& shelf) {
            return std::ranges::none_of(
                shelves[shelf], [&](const QString& other) { return left.contains(roomOf(shelf) + '/' + other); });
        };
        for (bool found = true; found && !left.isEmpty();)
            found = left.removeIf(isReady) > 0;
        QVERIFY2(left.isEmpty(), qPrintable("in a circle: " + left.join(", ")));
    }

    void theRuleNoticesWhatItForbids_data() {
        QTest::addColumn<int>("room");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("header");
        QTest::newRow("analysis sees Qt") << 0 << "analysis/base/a.cpp"
                                          << "QString";
        QTest::newRow("analysis sees a reader") << 0 << "analysis/base/a.cpp"
                                                << "backends/engine/open_model.h";
        QTest::newRow("ATen in a header of analysis") << 0 << "analysis/base/a.h"
                                                      << "ATen/ATen.h";
        QTest::newRow("JSON in a header of backends") << 1 << "backends/base/a.h"
                                                      << "nlohmann/json.hpp";
        QTest::newRow("widgets see libtorch") << 2 << "widgets/plot/a.cpp"
                                              << "ATen/ATen.h";
        QTest::newRow("QCustomPlot in a header of widgets") << 2 << "widgets/plot/a.h"
                                                            << "qcustomplot.h";
        QTest::newRow("widgets see backends") << 2 << "widgets/plot/a.cpp"
                                              << "backends/engine/open_model.h";
        QTest::newRow("a lower shelf sees a higher one") << 0 << "analysis/base/a.cpp"
                                                         << "analysis/metrics/metric.h";
        QTest::newRow("a program sees HDF5") << 3 << "app/cli/a.cpp"
                                             << "hdf5.h";
    }
    void theRuleNoticesWhatItForbids() {
        QFETCH(int, room);
        QFETCH(QString, file);
        QFETCH(QString, header);
        QVERIFY(!broken(rooms[static_cast<std::size_t>(room)], {file, 1, header}).isEmpty());
    }
};

SECATEUR_SUITE(TestRooms)
#include "tst_rooms.moc"
