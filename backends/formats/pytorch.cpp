#include "backends/formats/pytorch.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"
#include "backends/formats/pytorch_tensors.h"
#include "backends/formats/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace secateur {

namespace {

constexpr std::string_view zipMagic = "PK\x03\x04";
// Protocol 2, then the number 0x1950a86a20f9469cfc6c in ten bytes.
constexpr std::string_view legacyNumber = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::string_view legacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t legacyVersion = 1001;
constexpr std::string_view pickleName = "data.pkl";

Error bigEndian(const std::string& subject) {
    return Error("is written in big-endian byte order, which is not supported", subject);
}

/// The archive's folder that holds the pickle, with a slash at its end.
std::string folderOf(const ZipDirectory& archive, const std::string& path) {
    for (const auto& [name, entry] : archive.entries()) {
        const std::size_t slash = name.find('/');
        if (slash != std::string::npos && std::string_view(name).substr(slash + 1) == pickleName)
            return name.substr(0, slash + 1);
    }
    throw Error("is a zip archive that torch.save did not write", path, "It has no data.pkl");
}

std::vector<TensorEntry> readArchive(const std::shared_ptr<const MappedFile>& file) {
    const ZipDirectory archive(file);
    const std::string folder = folderOf(archive, file->path());
    if (archive.has(folder + "constants.pkl"))
        throw Error("is a TorchScript archive, which is not supported", file->path(),
                    "Load it in PyTorch and save its state_dict()");
    if (const std::string order = folder + "byteorder";
        archive.has(order) && charactersOf(archive.bytes(order)) != "little")
        throw bigEndian(file->path());
    const std::string name = folder + std::string(pickleName);
    const Pickle pickle = readPickle(archive.bytes(name), file->path() + ": " + name, pytorchGlobals());
    return torchTensors(pickle, file,
                        [&](const TorchStorage& storage) { return archive.bytes(folder + "data/" + storage.key); });
}

/// A file of PyTorch before 1.6: pickles of a magic number, a version, the system, the tensors and the storage keys;
/// then the storages in the order of their keys, each after its number of elements.
class LegacyFile {
public:
    explicit LegacyFile(std::shared_ptr<const MappedFile> file)
        : m_file(std::move(file))
        , m_rest(m_file->bytes()) {}

    std::vector<TensorEntry> tensors() {
        const Pickle magic = next();
        if (magic[magic.top].kind != PickleValue::Kind::longInteger || magic[magic.top].text != legacyNumber)
            throw Error("is a pickle that torch.save did not write", m_file->path());
        const Pickle version = next();
        if (version[version.top].integer != legacyVersion)
            throw Error(fmt::format("has version {} of torch.save's old format; {} is supported",
                                    version[version.top].integer, legacyVersion),
                        m_file->path());
        checkSystem(next());
        const Pickle state = next();
        findStorages(state, next());
        return torchTensors(state, m_file, [&](const TorchStorage& storage) {
            const auto found = m_storages.find(storage.key);
            if (found == m_storages.end())
                throw Error(fmt::format("has no storage {}", storage.key), m_file->path(), "The file is damaged");
            return found->second;
        });
    }

private:
    Pickle next() {
        Pickle pickle = readPickle(m_rest, m_file->path(), pytorchGlobals());
        m_rest = m_rest.subspan(pickle.length);
        return pickle;
    }

    void checkSystem(const Pickle& system) const {
        const PickleValue& top = system[system.top];
        for (std::size_t i = 0; top.kind == PickleValue::Kind::dictionary && i < top.items.size(); i += 2) {
            const PickleValue& value = system[top.items[i + 1]];
            if (system[top.items[i]].text == "little_endian" && value.integer == 0)
                throw bigEndian(m_file->path());
        }
    }

    void findStorages(const Pickle& state, const Pickle& keys) {
        std::map<std::string_view, TorchStorage> described;
        for (const PickleValue& value : state.values) {
            if (value.kind != PickleValue::Kind::external)
                continue;
            TorchStorage storage = torchStorage(state, value, m_file->path());
            const std::string_view key = state[state[value.items[0]].items[2]].text;
            described.emplace(key, std::move(storage));
        }
        ByteReader reader(m_rest, m_file->path());
        for (const std::uint32_t key : keys[keys.top].items) {
            const auto found = described.find(keys[key].text);
            if (found == described.end())
                throw Error("has a storage that no tensor uses", m_file->path(), "The file is damaged");
            const TorchStorage& storage = found->second;
            const std::string what = "storage " + storage.key;
            const std::uint64_t count = reader.u64(what);
            const auto unit = static_cast<std::uint64_t>(storage.type ? storage.type->bytes : 1);
            if (count != static_cast<std::uint64_t>(storage.count) || count > reader.left() / unit)
                throw Error(fmt::format("states {} numbers in {}, but {} are described and {} bytes are left", count,
                                        what, storage.count, reader.left()),
                            m_file->path(), "The file is cut short or damaged");
            m_storages[storage.key] = reader.take(count * unit, what);
        }
    }

    std::shared_ptr<const MappedFile> m_file;
    std::span<const std::byte> m_rest;
    std::map<std::string, std::span<const std::byte>> m_storages;
};

} // namespace

bool looksLikePytorch(std::string_view bytes) {
    return bytes.starts_with(zipMagic) || bytes.starts_with(legacyMagic);
}

std::vector<TensorEntry> pytorchEntries(const std::shared_ptr<const MappedFile>& file) {
    const std::string_view bytes = charactersOf(file->bytes());
    if (bytes.starts_with(zipMagic))
        return readArchive(file);
    if (bytes.starts_with('\x80'))
        return LegacyFile(file).tensors();
    throw Error("is neither a zip archive nor a pickle", file->path(), "It is not a PyTorch checkpoint");
}

std::unique_ptr<const Checkpoint> openPytorch(const std::string& path, const Progress& progress) {
    return openHf(path, pytorchWeights, progress);
}

} // namespace secateur
