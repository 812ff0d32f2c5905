#include "backends/session_hdf5.h"

#include "analysis/error.h"
#include "analysis/text.h"
#include "analysis/usage_error.h"
#include "backends/atomic_file.h"
#include "backends/file_lock.h"
#include "backends/hdf5_io.h"
#include "backends/session_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <optional>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr std::int64_t version = 1;
constexpr const char* format = "secateur-session";
constexpr const char* errorSuffix = ".standard_error";

/// HDF5 as packaged is not thread-safe.
std::mutex& library() {
    static std::mutex mutex;
    return mutex;
}

/// A result with its place in the file.
struct StoredResult {
    MetricResult result;
    std::string group;
    int number;
};

std::optional<int> numberOf(const std::string& name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

MetricResult readResult(const Handle& group, const std::string& name, const ModelSpec& spec) {
    const Handle dataset = hdf5::openDataset(group, name);
    MetricResult result;
    result.request = parseMetricRequests(hdf5::readText(dataset, "result_id")).front();
    const Scope scope = result.request.info->scope;
    result.values = hdf5::readMatrix(dataset, spec.layers.size(), columnsFor(scope, spec));
    if (hdf5::exists(group, name + errorSuffix))
        result.standardError =
            hdf5::readMatrix(hdf5::openDataset(group, name + errorSuffix), spec.layers.size(), columnsFor(scope, spec));
    result.measurement = {hdf5::readText(dataset, "model_fingerprint"),
                          hdf5::readText(dataset, "mask_digest"),
                          hdf5::readText(dataset, "data_digest"),
                          hdf5::readText(dataset, "dtype"),
                          hdf5::readText(dataset, "device"),
                          hdf5::readText(dataset, "created")};
    result.seconds = hdf5::readNumber(dataset, "seconds");
    result.warnings = hdf5::readTexts(dataset, "warnings");
    return result;
}

/// Everything under /metrics that this version knows, in the order it was made.
std::vector<StoredResult> readResults(const Handle& file, ModelCard& card) {
    std::vector<StoredResult> stored;
    if (!hdf5::exists(file, "metrics"))
        return stored;
    const Handle metrics = hdf5::openGroup(file, "metrics");
    for (const std::string& id : hdf5::children(metrics)) {
        const Handle group = hdf5::openGroup(metrics, id);
        for (const std::string& name : hdf5::children(group)) {
            const auto number = numberOf(name);
            if (!number)
                continue;
            try {
                stored.push_back({readResult(group, name, card.spec), id, *number});
            } catch (const UsageError&) {
                card.warnings.push_back(fmt::format("the session holds {}, which this version does not know", id));
            } catch (const Error& error) {
                throw error.within(fmt::format("/metrics/{}/{}", id, name));
            }
        }
    }
    std::stable_sort(stored.begin(), stored.end(), [](const StoredResult& a, const StoredResult& b) {
        return a.result.measurement.created == b.result.measurement.created
                   ? a.number < b.number
                   : a.result.measurement.created < b.result.measurement.created;
    });
    return stored;
}

void checkIsSession(const Handle& file) {
    std::string found;
    try {
        found = hdf5::readText(file, "format");
    } catch (const Error&) {
        found.clear();
    }
    if (found != format)
        throw Error("is an HDF5 file, but not a Secateur session");
    if (const std::int64_t found_version = hdf5::readInteger(file, "version"); found_version > version)
        throw Error(
            fmt::format("is a session of version {}; this program reads up to version {}", found_version, version), {},
            "Open it with a newer Secateur");
}

Session read(const Handle& file, std::vector<StoredResult>* places = nullptr) {
    checkIsSession(file);
    Session session;
    session.created = hdf5::readText(file, "created");
    session.model = readModelCard(hdf5::openGroup(file, "model"));
    std::vector<StoredResult> stored = readResults(file, session.model);
    for (const StoredResult& result : stored)
        session.results.push_back(result.result);
    if (places)
        *places = std::move(stored);
    if (hdf5::exists(file, "view")) {
        const Handle view = hdf5::openGroup(file, "view");
        for (const std::string& name : hdf5::attributeNames(view))
            session.view[name] = hdf5::readText(view, name);
    }
    return session;
}

void writeResult(const Handle& metrics, const MetricResult& result, int number) {
    const MetricInfo& info = *result.request.info;
    const Handle group = hdf5::group(metrics, fileForm(result.request.resultId()));
    const std::string name = std::to_string(number);
    const bool flat = info.scope == Scope::layer;
    const Handle dataset = hdf5::writeMatrix(group, name, result.values, flat);
    if (result.standardError)
        hdf5::writeMatrix(group, name + errorSuffix, *result.standardError, flat);
    hdf5::writeText(dataset, "result_id", result.request.resultId());
    hdf5::writeText(dataset, "title", info.title);
    hdf5::writeText(dataset, "scope", secateur::name(info.scope));
    hdf5::writeText(dataset, "unit", info.unit);
    hdf5::writeText(dataset, "prune_first", secateur::name(info.pruneFirst));
    hdf5::writeText(dataset, "model_fingerprint", result.measurement.fingerprint);
    hdf5::writeText(dataset, "mask_digest", result.measurement.maskDigest);
    hdf5::writeText(dataset, "data_digest", result.measurement.dataDigest);
    hdf5::writeText(dataset, "dtype", result.measurement.dtype);
    hdf5::writeText(dataset, "device", result.measurement.device);
    hdf5::writeText(dataset, "created", result.measurement.created);
    hdf5::writeNumber(dataset, "seconds", result.seconds);
    hdf5::writeTexts(dataset, "warnings", result.warnings);
    hdf5::hardLink(group, name, "latest");
}

/// Where a result goes: over the same measurement made earlier, else behind the last one of its id.
int placeFor(const MetricResult& result, const Handle& metrics, const std::vector<StoredResult>& stored) {
    const std::string group = fileForm(result.request.resultId());
    for (const StoredResult& other : stored) {
        Measurement same = other.result.measurement;
        same.created = result.measurement.created;
        if (other.group == group && same == result.measurement)
            return other.number;
    }
    int next = 0;
    if (hdf5::exists(metrics, group))
        for (const std::string& name : hdf5::children(hdf5::openGroup(metrics, group)))
            next = std::max(next, numberOf(name).value_or(-1) + 1);
    return next;
}

void writeResultsAndView(const Handle& file, const Session& session, const std::vector<StoredResult>& stored) {
    const Handle metrics = hdf5::group(file, "metrics");
    for (const MetricResult& result : session.results)
        writeResult(metrics, result, placeFor(result, metrics, stored));
    const Handle view = hdf5::group(file, "view");
    for (const auto& [name, value] : session.view)
        hdf5::writeText(view, name, value);
    hdf5::flush(file);
}

void writeNew(const Session& session, const std::string& path) {
    AtomicFile target(path);
    {
        const Handle file = hdf5::createFile(target.path());
        hdf5::writeText(file, "format", format);
        hdf5::writeInteger(file, "version", version);
        hdf5::writeText(file, "created", session.created.empty() ? utcNow() : session.created);
        hdf5::writeText(file, "secateur", SECATEUR_VERSION);
        writeModelCard(hdf5::group(file, "model"), session.model);
        writeResultsAndView(file, session, {});
    }
    target.commit();
}

void addToExisting(const Session& additions, const std::string& path) {
    const FileLock lock(path);
    AtomicFile target(path);
    std::filesystem::copy_file(path, target.path(), std::filesystem::copy_options::overwrite_existing);
    {
        const Handle file = hdf5::openFile(target.path(), true);
        std::vector<StoredResult> stored;
        const ModelCard& model = read(file, &stored).model;
        if (model.fingerprint != additions.model.fingerprint)
            throw Error(fmt::format("is a session of {} ({}), not of {} ({})", model.name, model.fingerprint,
                                    additions.model.name, additions.model.fingerprint),
                        {}, "Write to another file");
        writeResultsAndView(file, additions, stored);
    }
    target.commit();
}

/// Runs with HDF5 to itself, errors naming the file.
template <typename Work>
auto onFile(const std::string& path, Work work) {
    const std::lock_guard guard(library());
    try {
        return work();
    } catch (const Error& error) {
        if (error.subject() == path)
            throw;
        throw error.within(path);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error("cannot be copied: " + error.code().message(), path);
    }
}

} // namespace

Session readSession(const std::string& path) {
    return onFile(path, [&] { return read(hdf5::openFile(path, false)); });
}

void writeSession(const Session& session, const std::string& path) {
    onFile(path, [&] { writeNew(session, path); });
}

void addToSession(const Session& additions, const std::string& path) {
    onFile(path, [&] {
        if (std::filesystem::exists(path))
            addToExisting(additions, path);
        else
            writeNew(additions, path);
    });
}

} // namespace secateur
