// What a power failure leaves of each writer's files. The changes of one write are recorded, and then replayed as a disk
// may have them: what was flushed is there; of what was not, names are there up to any change, and files are empty, as
// they were, as they are, or anything that they were in between. In each such state the files are the old or the new
// ones, the product opens them, and the next write succeeds. After a write has returned, only the new ones are right.
//
// SECATEUR_REPLAYS: the largest number of states for each writer, drawn from all; 150 by default.
// SECATEUR_FAULTS_SEED: the seed. Each run prints it.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "analysis/base/error.h"
#include "backends/base/runtime.h"
#include "tests/kills/interposed_calls.h"
#include "tests/kills/writers.h"
#include "tests/kills/written_files.h"

#include <spdlog/spdlog.h>
#endif

#include <QCoreApplication>
#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace fs = std::filesystem;

namespace {

/// A file on the disk: what was flushed of it, and what it has been since.
struct Inode {
    bool isFolder = false;
    std::string flushed;
    std::vector<std::string> since; ///< contents after later writes, last one last
};

using Names = std::map<std::string, std::shared_ptr<Inode>>; ///< paths relative to the folder

/// Moves a name, and all names in it if it is that of a folder.
void move(Names& names, const std::string& from, const std::string& to) {
    Names moved;
    for (auto name = names.begin(); name != names.end();) {
        const bool isPart = name->first == from || name->first.starts_with(from + "/");
        if (isPart)
            moved[to + name->first.substr(from.size())] = name->second;
        name = isPart ? names.erase(name) : std::next(name);
    }
    for (auto& [name, inode] : moved)
        names[name] = inode;
}

/// A disk that loses what was not flushed.
class Disk {
public:
    /// @param folder with the files before the changes @param named the folder in the paths of the changes
    Disk(const fs::path& folder, std::string named)
        : m_folder(std::move(named)) {
        for (const auto& item : fs::recursive_directory_iterator(folder)) {
            auto inode = std::make_shared<Inode>();
            inode->isFolder = item.is_directory();
            if (!inode->isFolder)
                inode->flushed = read(item.path());
            m_flushed[fs::relative(item.path(), folder).string()] = inode;
        }
        m_now = m_flushed;
    }

    void apply(const FileChange& change) {
        const std::string path = relative(change.path);
        switch (change.kind) {
        case FileChange::Kind::content:
            if (const auto inode = find(path))
                inode->since.push_back(change.content);
            return;
        case FileChange::Kind::sync:
            return sync(path);
        case FileChange::Kind::unnamed:
            m_unnamed[path] = std::make_shared<Inode>();
            return;
        default:
            break;
        }
        FileChange own = change;
        own.path = path;
        own.to = relative(change.to);
        const bool isLink = change.kind == FileChange::Kind::link;
        auto inode = isLink ? m_unnamed.at(path) : std::make_shared<Inode>();
        inode->isFolder = change.isFolder;
        m_pending.push_back({own, inode});
        rename(m_now, m_pending.back());
    }

    std::size_t pending() const { return m_pending.size(); }

    /// Writes the state in which so many of the changes of names are on the disk. @param contents which content of each
    /// file: 0 = the oldest, 1 = the newest, else drawn
    void writeTo(const fs::path& folder, std::size_t names, int contents, std::mt19937& random) const {
        Names there = m_flushed;
        for (std::size_t i = 0; i < names; ++i)
            rename(there, m_pending[i]);
        for (const auto& [name, inode] : there) {
            const fs::path path = folder / name;
            if (inode->isFolder) {
                fs::create_directories(path);
                continue;
            }
            fs::create_directories(path.parent_path());
            const auto last = inode->since.size();
            std::size_t which = contents == 0 ? 0 : last;
            if (contents > 1)
                which = std::uniform_int_distribution<std::size_t>(0, last)(random);
            std::ofstream(path, std::ios::binary) << (which == 0 ? inode->flushed : inode->since[which - 1]);
        }
    }

private:
    struct Pending {
        FileChange change;
        std::shared_ptr<Inode> inode; ///< the file that gets its first name
    };

    static std::string read(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string relative(const std::string& path) const {
        return path.size() > m_folder.size() ? path.substr(m_folder.size() + 1) : std::string();
    }

    static void rename(Names& names, const Pending& pending) {
        const FileChange& change = pending.change;
        switch (change.kind) {
        case FileChange::Kind::create:
            names[change.path] = pending.inode;
            break;
        case FileChange::Kind::link:
            names[change.to] = pending.inode;
            break;
        case FileChange::Kind::rename:
            move(names, change.path, change.to);
            break;
        case FileChange::Kind::swap:
            move(names, change.path, "/aside");
            move(names, change.to, change.path);
            move(names, "/aside", change.to);
            break;
        case FileChange::Kind::remove:
            names.erase(change.path);
            break;
        default:
            break;
        }
    }

    /// The folder of a name.
    static std::string parent(const std::string& path) {
        const std::size_t slash = path.rfind('/');
        return slash == std::string::npos ? std::string() : path.substr(0, slash);
    }

    std::shared_ptr<Inode> find(const std::string& path) const {
        if (const auto named = m_now.find(path); named != m_now.end())
            return named->second;
        const auto unnamed = m_unnamed.find(path);
        return unnamed == m_unnamed.end() ? nullptr : unnamed->second;
    }

    void sync(const std::string& path) {
        if (const auto inode = find(path); inode && !inode->isFolder) {
            if (!inode->since.empty())
                inode->flushed = inode->since.back();
            inode->since.clear();
            return;
        }
        std::vector<Pending> rest; // changes in other folders are not flushed with this one
        for (const Pending& pending : m_pending) {
            const bool isHere = parent(pending.change.path) == path ||
                                (!pending.change.to.empty() && parent(pending.change.to) == path);
            if (isHere)
                rename(m_flushed, pending);
            else
                rest.push_back(pending);
        }
        m_pending = std::move(rest);
    }

    std::string m_folder;
    Names m_flushed;                ///< names that are on the disk
    Names m_now;                    ///< names as the program sees them
    Names m_unnamed;                ///< files that have or had no name, by what changes call them
    std::vector<Pending> m_pending; ///< changes from the first to the second
};

struct CrashState {
    std::size_t changes; ///< number of recorded changes before the failure
    std::size_t names;
    int contents;
};

std::size_t mostStates() {
    constexpr std::size_t usual = 150;
    const bool isSet = qEnvironmentVariableIsSet("SECATEUR_REPLAYS");
    return isSet ? static_cast<std::size_t>(qEnvironmentVariableIntValue("SECATEUR_REPLAYS")) : usual;
}

/// What is wrong with the files that a failure left; empty if all is right.
QString wrongIn(const QTemporaryDir& folder, const Writer& own, const Files& before, const Files& after, bool hasEnded) {
    try {
        const Files found = withoutUnnamed(filesIn(folder.path()));
        if (!isWhole(found, after) && (hasEnded || !isWhole(found, before)))
            return hasEnded ? "the new files are lost" : "the files are neither old nor new";
        own.open(folder.path().toStdString());
        own.write(folder.path().toStdString(), 0);
        return withoutUnnamed(filesIn(folder.path())) == before ? QString() : "the next write fails";
    } catch (const Error& error) {
        return error.what();
    }
}

} // namespace

class TestReplay : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void aPowerFailureLeavesOldOrNewFiles_data();
    void aPowerFailureLeavesOldOrNewFiles();
    void aLostNameIsSeen();

private:
    std::mt19937 m_random;
};

void TestReplay::initTestCase() {
    const unsigned seed = qEnvironmentVariableIsSet("SECATEUR_FAULTS_SEED")
                              ? static_cast<unsigned>(qEnvironmentVariableIntValue("SECATEUR_FAULTS_SEED"))
                              : std::random_device()();
    m_random.seed(seed);
    qInfo("SECATEUR_FAULTS_SEED=%u", seed);
}

void TestReplay::aPowerFailureLeavesOldOrNewFiles_data() {
    QTest::addColumn<QString>("id");
    for (const Writer& writer : writers())
        QTest::newRow(writer.id.c_str()) << QString::fromStdString(writer.id);
}

void TestReplay::aPowerFailureLeavesOldOrNewFiles() {
    QFETCH(QString, id);
    const Writer& own = writer(id.toStdString());
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    own.write(path, 0);
    const Files before = filesIn(folder.path());
    const QTemporaryDir earlier;
    fs::copy(path, earlier.path().toStdString(), fs::copy_options::recursive);
    recordChanges(path);
    own.write(path, 1);
    const std::vector<FileChange> changes = recordedChanges();
    const Files after = filesIn(folder.path());
    QVERIFY(before != after && !changes.empty());

    const auto diskAfter = [&](std::size_t count) {
        Disk disk(earlier.path().toStdString(), path);
        for (std::size_t i = 0; i < count; ++i)
            disk.apply(changes[i]);
        return disk;
    };
    std::vector<CrashState> states;
    for (std::size_t count = 0; count <= changes.size(); ++count)
        for (std::size_t names = 0; names <= diskAfter(count).pending(); ++names)
            for (const int contents : {0, 1, 2})
                states.push_back({count, names, contents});
    const std::size_t all = states.size();
    std::shuffle(states.begin(), states.end(), m_random);
    states.resize(std::min(all, mostStates()));
    int renewed = 0;
    for (const CrashState& state : states) {
        const QTemporaryDir crashed;
        diskAfter(state.changes).writeTo(crashed.path().toStdString(), state.names, state.contents, m_random);
        const QString wrong = wrongIn(crashed, own, before, after, state.changes == changes.size());
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("after %1 of %2 changes, with %3 names and contents %4: %5")
                                                 .arg(state.changes)
                                                 .arg(changes.size())
                                                 .arg(state.names)
                                                 .arg(state.contents)
                                                 .arg(wrong)));
        renewed += state.changes == changes.size() ? 1 : 0;
    }
    qInfo("%zu changes, %zu states, %zu replayed, %d of them after the end", changes.size(), all, states.size(), renewed);
}

/// A program that renames a file before its bytes are on the disk, or ends before the name is.
void TestReplay::aLostNameIsSeen() {
    const QTemporaryDir folder;
    const QTemporaryDir left;
    const std::string file = "/f/new";
    Disk disk(folder.path().toStdString(), "/f");
    disk.apply({FileChange::Kind::create, "/f/aside"});
    disk.apply({FileChange::Kind::content, "/f/aside", {}, "all"});
    disk.apply({FileChange::Kind::rename, "/f/aside", file});
    QCOMPARE(disk.pending(), std::size_t{2});
    disk.writeTo(left.path().toStdString(), 2, 0, m_random);
    QCOMPARE(QFile(left.filePath("new")).size(), 0);
    disk.apply({FileChange::Kind::sync, file});
    disk.writeTo(left.path().toStdString(), 2, 0, m_random);
    QCOMPARE(QFile(left.filePath("new")).size(), 3);
    disk.apply({FileChange::Kind::sync, "/f"});
    QCOMPARE(disk.pending(), std::size_t{0});
}

int main(int count, char** values) {
    initialiseRuntime(1); // without further threads, whose changes would be recorded in another order each time
    spdlog::set_level(spdlog::level::err);
    const QCoreApplication application(count, values);
    TestReplay test;
    return QTest::qExec(&test, count, values);
}

#include "tst_replay.moc"
