#include "backends/session/session_hdf5.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/session/session.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/base/mapped_file.h"
#include "backends/base/runtime.h"
#include "backends/base/sha256.h"
#include "backends/session/hdf5_io.h"
#include "backends/session/session_parts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr std::int64_t sessionVersion = 5;
constexpr const char* format = "secateur-session";

/// The lock for all use of HDF5, because the HDF5 of Linux distributions is not thread-safe.
std::mutex& library() {
    static std::mutex mutex;
    return mutex;
}

std::string formatText(const Handle& file) {
    try {
        return hdf5::readText(file, "format");
    } catch (const Error&) {
        return {};
    }
}

/// The version of a session. @throws Error if the file is not a session, or its version is too new
std::int64_t versionOf(const Handle& file) {
    if (formatText(file) != format)
        throw Error("is an HDF5 file, but not a Secateur session");
    const std::int64_t found = hdf5::readInteger(file, "version");
    if (found > sessionVersion)
        throw Error(
            fmt::format("is a session of version {}; this program reads up to version {}", found, sessionVersion), {},
            "Open it with a newer Secateur");
    return found;
}

ModelCard readModel(const Handle& file) {
    const std::int64_t found = versionOf(file);
    if (!hdf5::exists(file, "model"))
        throw Error("is a session without its model");
    const Handle model = hdf5::openGroup(file, "model");
    try {
        return readModelCard(model, found);
    } catch (const Error& error) {
        throw error.within("/model");
    }
}

Session read(const Handle& file) {
    Session session;
    session.model = readModel(file);
    session.created = hdf5::readText(file, "created");
    for (StoredResult& stored : readResults(file, session.model.spec))
        session.results.push_back(std::move(stored.result));
    session.masks = readMasks(file, session.model.spec);
    session.evaluations = readEvaluations(file);
    for (StoredCurves& stored : readCurves(file, storedMasks(file)))
        session.curves.push_back(std::move(stored.curves));
    session.prediction = readPrediction(file, session.model.spec);
    if (hdf5::exists(file, "view")) {
        const Handle view = hdf5::openGroup(file, "view");
        for (const std::string& name : hdf5::attributeNames(view))
            session.view[name] = hdf5::readText(view, name);
    }
    return session;
}

void writeResultsAndView(const Handle& file, const Session& session, std::vector<StoredResult> stored) {
    const Handle metrics = hdf5::group(file, "metrics");
    for (const MetricResult& result : session.results)
        writeResult(metrics, result, stored);
    const Handle view = hdf5::group(file, "view");
    for (const auto& [name, value] : session.view)
        hdf5::writeText(view, name, value);
}

std::string sealedImage(const Handle& file) {
    std::string bytes = hdf5::image(file);
    bytes += sealOf(bytes);
    return bytes;
}

std::string newSession(const Session& session) {
    const Handle file = hdf5::createInMemory();
    hdf5::writeText(file, "format", format);
    hdf5::writeInteger(file, "version", sessionVersion);
    hdf5::writeText(file, "created", session.created.empty() ? utcNow() : session.created);
    hdf5::writeText(file, "secateur", SECATEUR_VERSION);
    writeModelCard(hdf5::group(file, "model"), session.model);
    writeResultsAndView(file, session, {});
    writeMasks(file, session.masks, {});
    writeEvaluations(file, session.evaluations);
    addCurves(file, session.curves, storedMasks(file));
    writePrediction(file, session);
    return sealedImage(file);
}

void checkIsOf(const ModelCard& wanted, const ModelCard& stored) {
    if (stored.fingerprint != wanted.fingerprint)
        throw Error(fmt::format("is a session of {} ({}), not of {} ({})", stored.name, stored.fingerprint, wanted.name,
                                wanted.fingerprint),
                    {}, "Write to another file");
}

/// The bytes of a file, after the slope of its prediction was fitted again.
std::string withSlope(const Handle& file) {
    if (hdf5::exists(file, "prediction"))
        writeSlope(file, read(file));
    return sealedImage(file);
}

std::string grownSession(const Session& additions, const MappedFile& original) {
    const Handle file = hdf5::openImage(original.bytes());
    const ModelCard model = readModel(file);
    checkIsOf(additions.model, model);
    writeResultsAndView(file, additions, readResults(file, model.spec));
    writePrediction(file, additions);
    if (additions.masks.empty() && additions.evaluations.empty() && additions.curves.empty())
        return withSlope(file);
    if (versionOf(file) < sessionVersion) {
        writeModelCard(hdf5::openGroup(file, "model"), model);
        hdf5::writeInteger(file, "version", sessionVersion);
    }
    const std::vector<SessionMask> held = readMasks(file, model.spec);
    Session runs;
    runs.masks = held;
    std::vector<Evaluation> evaluations = joinMasks(runs, additions);
    writeMasks(file, runs.masks, held);
    addEvaluations(file, std::move(evaluations));
    addCurves(file, additions.curves, storedMasks(file));
    return withSlope(file);
}

/// Runs a function that passes the bytes of a file to HDF5, which may crash on them. If the bytes have a valid seal, it
/// runs in this process, otherwise in a child process.
std::string inSafety(const MappedFile& file, const std::function<std::string()>& work) {
    if (isSealed(file.bytes()) || !hdf5::looksLikeHdf5(file.bytes()))
        return work(); // files of other formats are rejected before HDF5 reads them
    // HDF5 may loop endlessly on a damaged file. It reads intact files at hundreds of megabytes per second.
    const std::size_t size = file.bytes().size();
    const auto seconds = static_cast<unsigned>(1 + (size >> 23));
    if (auto bytes = runIsolated(work, seconds, (std::size_t{1} << 31) + 8 * size))
        return std::move(*bytes);
    throw Error("is damaged: HDF5 cannot read all of it", {}, "Copy it again from its source");
}

/// Refuses a file that another program has open for writing. HDF5 locks such a file, whose bytes are incomplete until
/// it is closed.
void refuseOpenElsewhere(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() >= 0 && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw Error("is open for writing in another program", path, "Close it there and try again");
}

/// Runs work under the lock of HDF5; errors name the file.
template <typename Work>
auto onFile(const std::string& path, Work work) {
    const std::lock_guard guard(library());
    try {
        return work();
    } catch (const Error& error) {
        throw error.within(path);
    }
}

} // namespace

bool isSession(const std::string& path) {
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    const std::filesystem::path extension = std::filesystem::path(path).extension();
    std::error_code ignored;
    if ((extension == ".h5" || extension == ".hdf5") && !std::filesystem::is_directory(path, ignored))
        return true; // even if missing or damaged, which reading will report
    return beginningOf(path, signature.size()) == signature;
}

Session readSession(const MappedFile& file) {
    refuseOpenElsewhere(file.path());
    return onFile(file.path(), [&] {
        if (isSealed(file.bytes()))
            return read(hdf5::openImage(file.bytes()));
        // A file without a valid seal is read in a child process. The child returns the session as a file that it wrote
        // itself, which this process can open safely.
        const std::string copy = inSafety(file, [&] { return newSession(read(hdf5::openImage(file.bytes()))); });
        return read(hdf5::openImage(std::as_bytes(std::span(copy))));
    });
}

Session readSession(const std::string& path) {
    const auto file = MappedFile::open(path);
    Session session = readSession(*file);
    file->checkWhole();
    return session;
}

std::string sessionBytes(const Session& session) {
    const std::lock_guard guard(library());
    return newSession(session);
}

Session sessionFromBytes(std::string_view bytes) {
    const std::lock_guard guard(library());
    return read(hdf5::openImage(std::as_bytes(std::span(bytes))));
}

bool hasContent(const std::string& path) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(path, ignored);
    return !ignored && size > 0;
}

void writeSession(const Session& session, const std::string& path) {
    checkCanWrite(path, FileKind::session);
    refuseOpenElsewhere(path);
    const FileLock lock(path);
    writeWhole(path, onFile(path, [&] { return newSession(session); }), FileKind::session);
}

void addToSession(const Session& additions, const std::string& path) {
    checkCanWrite(path, FileKind::session);
    const FileLock lock(path);
    if (!hasContent(path)) {
        writeWhole(path, onFile(path, [&] { return newSession(additions); }), FileKind::session);
        return;
    }
    refuseOpenElsewhere(path);
    const auto file = MappedFile::open(path);
    const std::string grown =
        onFile(path, [&] { return inSafety(*file, [&] { return grownSession(additions, *file); }); });
    file->checkWhole();
    writeWhole(path, grown, FileKind::session);
}

void checkCanAdd(const ModelCard& model, const std::string& path) {
    checkCanWrite(path, FileKind::session);
    if (!hasContent(path))
        return;
    refuseOpenElsewhere(path);
    const auto file = MappedFile::open(path);
    onFile(path, [&] {
        inSafety(*file, [&] {
            checkIsOf(model, readModel(hdf5::openImage(file->bytes())));
            return std::string();
        });
    });
}

} // namespace secateur
