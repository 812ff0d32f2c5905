#include "tests/kills/crash_states.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace secateur::test {

namespace fs = std::filesystem;

namespace {

using Kind = FileCall::Kind;

std::string bytesAt(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

ino_t inodeOfPath(const fs::path& path) {
    struct stat there {};
    if (lstat(path.c_str(), &there) != 0)
        throw Error("is not there", path.string());
    return there.st_ino;
}

std::string nameIn(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string folderNameOf(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

constexpr std::array kindNames{"create", "mkdir", "link", "write", "ftruncate", "fsync", "rename", "exchange", "unlink"};

} // namespace

DiskFiles diskFilesIn(const std::string& folder) {
    DiskFiles files;
    for (const fs::directory_entry& item : fs::recursive_directory_iterator(folder)) {
        const std::string name = fs::relative(item.path(), folder).string();
        if (item.is_directory())
            files[name + "/"];
        else
            files[name] = bytesAt(item.path());
    }
    return files;
}

void putDiskFiles(const DiskFiles& files, const std::string& folder) {
    const fs::path root(folder);
    for (const auto& [name, bytes] : files) {
        if (name.ends_with('/'))
            fs::create_directory(root / name);
        else
            std::ofstream(root / name, std::ios::binary) << bytes;
    }
    const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(2);
    for (const auto& [name, bytes] : files)
        fs::last_write_time(root / name, then);
}

RecordedRun::RecordedRun(const std::string& folder)
    : m_folder(folder) {
    addTree(folder);
    m_first = m_now;
    recordCalls(folder);
}

void RecordedRun::end() {
    for (const FileCall& call : stopRecording()) {
        m_changes.push_back(changeOf(call));
        apply(m_now, m_changes.back(), 1);
    }
    DiskFiles expected;
    list(m_now, 0, {}, expected);
    if (expected != diskFilesIn(m_folder))
        throw Error("was changed by calls that are not recorded", m_folder);
}

std::size_t RecordedRun::addNode(ino_t file, bool isFolder) {
    m_numbers[file] = m_now.size();
    m_now.push_back({isFolder, {}, {}});
    return m_now.size() - 1;
}

std::size_t RecordedRun::addTree(const std::string& path) {
    const bool isFolder = fs::is_directory(path);
    const std::size_t node = addNode(inodeOfPath(path), isFolder);
    if (!isFolder) {
        m_now[node].bytes = bytesAt(path);
        return node;
    }
    for (const fs::directory_entry& item : fs::directory_iterator(path)) {
        const std::size_t child = addTree(item.path().string());
        m_now[node].names[item.path().filename().string()] = child;
    }
    return node;
}

std::size_t RecordedRun::nodeAt(const std::string& path) const {
    if (path == m_folder)
        return 0;
    const Node& folder = m_now.at(nodeAt(folderNameOf(path)));
    const auto found = folder.names.find(nameIn(path));
    if (found == folder.names.end())
        throw Error("is not in the recorded folder", path);
    return found->second;
}

std::size_t RecordedRun::folderOf(const std::string& path) const {
    return nodeAt(folderNameOf(path));
}

std::size_t RecordedRun::numberOf(ino_t file) const {
    const auto found = m_numbers.find(file);
    if (found == m_numbers.end())
        throw Error("a call on an unknown file", m_folder);
    return found->second;
}

RecordedRun::Change RecordedRun::changeOf(const FileCall& call) {
    switch (call.kind) {
    case Kind::create:
    case Kind::makeFolder:
        return naming(call, addNode(call.file, call.kind == Kind::makeFolder));
    case Kind::link:
        return naming(call, numberOf(call.file));
    case Kind::rename:
    case Kind::exchange:
        return renaming(call);
    case Kind::remove:
        return {call, folderOf(call.path), {nameIn(call.path)}, {}};
    default:
        return {call, numberOf(call.file), {}, {}};
    }
}

/// A file or folder takes a name; one that is open without a name takes none.
RecordedRun::Change RecordedRun::naming(const FileCall& call, std::size_t node) const {
    if (call.path.empty())
        return {call, node, {}, {}};
    return {call, folderOf(call.path), {}, {{nameIn(call.path), node}}};
}

RecordedRun::Change RecordedRun::renaming(const FileCall& call) const {
    if (folderNameOf(call.path) != folderNameOf(call.target))
        throw Error("is renamed to another folder, which is not modelled", call.path);
    Change change{call, folderOf(call.path), {nameIn(call.path)}, {{nameIn(call.target), nodeAt(call.path)}}};
    if (call.kind == Kind::exchange)
        change.added[nameIn(call.path)] = nodeAt(call.target);
    return change;
}

void RecordedRun::apply(Nodes& nodes, const Change& change, double fraction) {
    Node& node = nodes.at(change.node);
    if (change.call.kind == Kind::resize)
        node.bytes.resize(static_cast<std::size_t>(change.call.offset));
    if (change.call.kind == Kind::write) {
        const auto offset = static_cast<std::size_t>(change.call.offset);
        const auto count = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(change.call.bytes.size())));
        if (node.bytes.size() < offset + count)
            node.bytes.resize(offset + count);
        std::copy_n(change.call.bytes.begin(), count, node.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    for (const std::string& name : change.removed)
        node.names.erase(name);
    for (const auto& [name, added] : change.added)
        node.names[name] = added;
}

void RecordedRun::list(const Nodes& nodes, std::size_t folder, const std::string& path, DiskFiles& files) {
    for (const auto& [name, number] : nodes.at(folder).names) {
        const Node& node = nodes.at(number);
        files[path + name + (node.isFolder ? "/" : "")] = node.bytes;
        if (node.isFolder)
            list(nodes, number, path + name + "/", files);
    }
}

std::vector<std::size_t> RecordedRun::pending(std::size_t done) const {
    std::vector<std::size_t> result;
    std::map<std::size_t, bool> isSyncedLater;
    for (std::size_t i = done; i-- > 0;) {
        const Change& change = m_changes[i];
        if (change.call.kind == Kind::sync)
            isSyncedLater[change.node] = true;
        else if (!isSyncedLater[change.node])
            result.push_back(i);
    }
    std::ranges::reverse(result);
    return result;
}

DiskFiles RecordedRun::after(std::size_t done, const Part& part) const {
    // Files that are made later stay without names.
    Nodes nodes = m_first;
    for (std::size_t i = m_first.size(); i < m_now.size(); ++i)
        nodes.push_back({m_now[i].isFolder, {}, {}});
    const std::vector<std::size_t> open = pending(done);
    for (std::size_t i = 0, next = 0; i < done; ++i) {
        const bool isPending = next < open.size() && open[next] == i;
        const double fraction = isPending ? part.at(next++) : 1;
        if (fraction > 0)
            apply(nodes, m_changes[i], fraction);
    }
    DiskFiles files;
    list(nodes, 0, {}, files);
    return files;
}

std::vector<RecordedRun::Part> RecordedRun::parts(std::size_t pending, int drawn, std::mt19937& random) {
    std::vector<Part> all{Part(pending, 0), Part(pending, 1)};
    for (std::size_t i = 0; i < pending; ++i) {
        Part beginning(pending, 0);
        std::fill_n(beginning.begin(), i, 1);
        Part alone(pending, 0);
        alone[i] = 1;
        Part without(pending, 1);
        without[i] = 0;
        all.insert(all.end(), {std::move(beginning), std::move(alone), std::move(without)});
    }
    std::uniform_int_distribution<int> chance(0, 4);
    std::uniform_real_distribution<double> fraction(0, 1);
    for (int i = 0; i < drawn && pending > 1; ++i) {
        Part part(pending);
        for (double& each : part) {
            const int toss = chance(random);
            each = toss == 4 ? fraction(random) : toss % 2;
        }
        all.push_back(std::move(part));
    }
    return all;
}

std::string RecordedRun::described(std::size_t done, const Part& part) const {
    const std::vector<std::size_t> open = pending(done);
    std::string lines;
    for (std::size_t i = 0, next = 0; i < done; ++i) {
        const FileCall& call = m_changes[i].call;
        const bool isPending = next < open.size() && open[next] == i;
        const std::string state = isPending ? fmt::format("{:.2f}", part.at(next++)) : "durable";
        lines += fmt::format("\n{:>3} {:8} {} {} {}{}", i + 1, state, kindNames.at(static_cast<std::size_t>(call.kind)),
                             m_changes[i].node, call.path.empty() ? "" : nameIn(call.path),
                             call.target.empty() ? "" : " -> " + nameIn(call.target));
    }
    return lines;
}

} // namespace secateur::test
