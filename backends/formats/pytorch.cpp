#include "backends/formats/pytorch.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"
#include "backends/formats/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

namespace secateur {

namespace {

constexpr std::string_view zipMagic = "PK\x03\x04";
// The magic number of the old format: protocol 2, then the number 0x1950a86a20f9469cfc6c in ten bytes.
constexpr std::string_view legacyNumber = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::string_view legacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t legacyVersion = 1001;
constexpr std::string_view pickleName = "data.pkl";

Error bigEndian(const std::string& subject) {
    return Error("is written in big-endian byte order, which is not supported", subject);
}

/// The folder of the archive that contains the pickle, ending with a slash.
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

/// A file of PyTorch before 1.6. It consists of pickles of a magic number, a version, the system, the tensors and the
/// storage keys. The storages follow in the order of their keys, each after its number of elements.
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

namespace {

using Kind = PickleValue::Kind;

// Many tensors may refer to the same value of a pickle. The data that are copied for each tensor are therefore limited.
constexpr std::size_t mostDimensions = 64;
constexpr std::size_t longestKey = 255;

enum class Role { tensor, typedTensor, parameter, storage, dtype, ignored };

/// A global that a state dict may contain. `type` is the name of its type in safetensors.
struct TorchGlobal {
    std::string_view name;
    Role role;
    std::string_view type = {};
};

constexpr std::array torchGlobals{
    TorchGlobal{"torch._utils._rebuild_tensor", Role::tensor},
    TorchGlobal{"torch._utils._rebuild_tensor_v2", Role::tensor},
    TorchGlobal{"torch._utils._rebuild_tensor_v3", Role::typedTensor},
    TorchGlobal{"torch._utils._rebuild_parameter", Role::parameter},
    TorchGlobal{"torch._utils._rebuild_parameter_with_state", Role::parameter},
    TorchGlobal{"torch.DoubleStorage", Role::storage, "F64"},
    TorchGlobal{"torch.FloatStorage", Role::storage, "F32"},
    TorchGlobal{"torch.HalfStorage", Role::storage, "F16"},
    TorchGlobal{"torch.BFloat16Storage", Role::storage, "BF16"},
    TorchGlobal{"torch.LongStorage", Role::storage, "I64"},
    TorchGlobal{"torch.IntStorage", Role::storage, "I32"},
    TorchGlobal{"torch.ShortStorage", Role::storage, "I16"},
    TorchGlobal{"torch.CharStorage", Role::storage, "I8"},
    TorchGlobal{"torch.ByteStorage", Role::storage, "U8"},
    TorchGlobal{"torch.BoolStorage", Role::storage, "BOOL"},
    TorchGlobal{"torch.ComplexFloatStorage", Role::storage, "C64"},
    TorchGlobal{"torch.storage.UntypedStorage", Role::storage},
    TorchGlobal{"torch.UntypedStorage", Role::storage},
    TorchGlobal{"torch.float64", Role::dtype, "F64"},
    TorchGlobal{"torch.float32", Role::dtype, "F32"},
    TorchGlobal{"torch.float16", Role::dtype, "F16"},
    TorchGlobal{"torch.bfloat16", Role::dtype, "BF16"},
    TorchGlobal{"torch.int64", Role::dtype, "I64"},
    TorchGlobal{"torch.int32", Role::dtype, "I32"},
    TorchGlobal{"torch.int16", Role::dtype, "I16"},
    TorchGlobal{"torch.int8", Role::dtype, "I8"},
    TorchGlobal{"torch.uint8", Role::dtype, "U8"},
    TorchGlobal{"torch.uint16", Role::dtype, "U16"},
    TorchGlobal{"torch.uint32", Role::dtype, "U32"},
    TorchGlobal{"torch.uint64", Role::dtype, "U64"},
    TorchGlobal{"torch.bool", Role::dtype, "BOOL"},
    TorchGlobal{"torch.complex64", Role::dtype, "C64"},
    TorchGlobal{"torch.float8_e4m3fn", Role::dtype, "F8_E4M3"},
    TorchGlobal{"torch.float8_e5m2", Role::dtype, "F8_E5M2"},
    TorchGlobal{"torch.float8_e4m3fnuz", Role::dtype, "F8_E4M3FNUZ"},
    TorchGlobal{"torch.float8_e5m2fnuz", Role::dtype, "F8_E5M2FNUZ"},
    TorchGlobal{"torch.float8_e8m0fnu", Role::dtype, "F8_E8M0"},
    TorchGlobal{"torch.Size", Role::ignored},
    TorchGlobal{"torch.device", Role::ignored},
    TorchGlobal{"collections.OrderedDict", Role::ignored},
};

constexpr auto globalNames = [] {
    std::array<std::string_view, torchGlobals.size()> result;
    std::ranges::transform(torchGlobals, result.begin(), &TorchGlobal::name);
    return result;
}();

/// The global that a value is, or that a value calls; null if there is none.
const TorchGlobal* globalOf(const Pickle& pickle, const PickleValue& value) {
    const PickleValue& named = value.kind == Kind::call ? pickle[value.items[0]] : value;
    if (named.kind != Kind::global)
        return nullptr;
    const auto found = std::ranges::find(torchGlobals, named.text, &TorchGlobal::name);
    return found == torchGlobals.end() ? nullptr : &*found;
}

bool isTensor(const Pickle& pickle, const PickleValue& value) {
    const TorchGlobal* callee = value.kind == Kind::call ? globalOf(pickle, value) : nullptr;
    return callee &&
           (callee->role == Role::tensor || callee->role == Role::typedTensor || callee->role == Role::parameter);
}

bool holdsTensors(const Pickle& pickle, const PickleValue& value) {
    if (value.kind != Kind::dictionary)
        return false;
    for (std::size_t i = 1; i < value.items.size(); i += 2) {
        if (isTensor(pickle, pickle[value.items[i]]))
            return true;
    }
    return false;
}

/// The value of a key in a dictionary; nullptr if there is none.
const PickleValue* find(const Pickle& pickle, const PickleValue& dictionary, std::string_view key) {
    const PickleValue* found = nullptr;
    for (std::size_t i = 0; i < dictionary.items.size(); i += 2) {
        const PickleValue& name = pickle[dictionary.items[i]];
        if (name.kind == Kind::text && name.text == key)
            found = &pickle[dictionary.items[i + 1]];
    }
    return found;
}

/// The dictionary of tensors. It is the top-level value, or a value in it if a training script also stored other data.
const PickleValue& stateDict(const Pickle& pickle, const std::string& subject) {
    const PickleValue& top = pickle[pickle.top];
    if (top.kind != Kind::dictionary)
        throw Error("is not a dictionary of tensors", subject, "Save only the state_dict() of the model");
    if (holdsTensors(pickle, top))
        return top;
    for (const std::string_view key : {"state_dict", "model_state_dict", "model"}) {
        const PickleValue* value = find(pickle, top, key);
        if (value && holdsTensors(pickle, *value))
            return *value;
    }
    return top;
}

/// Reads a tensor of a state dict from the call that rebuilds it.
class TensorCall {
public:
    TensorCall(const Pickle& pickle, const PickleValue& call, std::string subject)
        : m_pickle(pickle)
        , m_subject(std::move(subject))
        , m_callee(globalOf(pickle, call))
        , m_arguments(&pickle[call.items[1]]) {
        if (m_callee->role != Role::parameter)
            return;
        const PickleValue& data = argument(0);
        if (!isTensor(pickle, data) || globalOf(pickle, data)->role == Role::parameter)
            refuse();
        m_callee = globalOf(pickle, data);
        m_arguments = &pickle[data.items[1]];
    }

    TorchStorage storage() const { return torchStorage(m_pickle, argument(0), m_subject); }

    /// The tensor's element type. It is the dtype that _rebuild_tensor_v3 states, otherwise the type of the storage.
    /// @param inStorage the storage's type; null if the storage is untyped
    const StorageType* type(const StorageType* inStorage) const {
        if (m_callee->role == Role::tensor) {
            if (!inStorage)
                refuse();
            return inStorage;
        }
        constexpr std::size_t place = 6; // after storage, offset, size, stride, requires_grad, hooks
        const TorchGlobal* dtype = globalOf(m_pickle, argument(place));
        if (!dtype || dtype->role != Role::dtype)
            refuse();
        return safetensorsType(dtype->type);
    }

    std::int64_t offset() const { return size(argument(1)); }
    std::vector<std::int64_t> shape() const { return sizes(argument(2)); }
    std::vector<std::int64_t> strides() const { return sizes(argument(3)); }

private:
    const PickleValue& argument(std::size_t index) const {
        if (index >= m_arguments->items.size())
            refuse();
        return m_pickle[m_arguments->items[index]];
    }

    std::int64_t size(const PickleValue& value) const {
        if (value.kind != Kind::integer || value.integer < 0)
            refuse();
        return value.integer;
    }

    std::vector<std::int64_t> sizes(const PickleValue& value) const {
        // A torch.Size is stored as a call with one tuple.
        const PickleValue* tuple = &value;
        if (value.kind == Kind::call && !m_pickle[value.items[1]].items.empty())
            tuple = &m_pickle[m_pickle[value.items[1]].items[0]];
        if (tuple->kind != Kind::tuple || tuple->items.size() > mostDimensions)
            refuse();
        std::vector<std::int64_t> sizes;
        for (const std::uint32_t item : tuple->items)
            sizes.push_back(size(m_pickle[item]));
        return sizes;
    }

    [[noreturn]] void refuse() const {
        throw Error("is not described by a storage, an offset, sizes and strides", m_subject, "The file is damaged");
    }

    const Pickle& m_pickle;
    std::string m_subject;
    const TorchGlobal* m_callee;
    const PickleValue* m_arguments;
};

/// Whether the elements are in order and without gaps. Strides of dimensions with a single element are ignored.
bool isContiguous(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    if (shape.size() != strides.size())
        return false;
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i > 0; --i) {
        if (shape[i - 1] != 1 && strides[i - 1] != expected)
            return false;
        expected *= shape[i - 1];
    }
    return true;
}

TensorEntry entryOf(const TensorCall& call, std::string name, const std::shared_ptr<const MappedFile>& file,
                    const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf) {
    TensorEntry entry{std::move(name), nullptr, call.shape(), {}, file};
    const std::string subject = entry.subject();
    const TorchStorage storage = call.storage();
    entry.type = call.type(storage.type);
    const std::int64_t elements = elementCount(entry.shape, subject);
    if (const auto strides = call.strides(); elements > 0 && !isContiguous(entry.shape, strides))
        throw Error(fmt::format("is a view of shape {} with strides {}, which is not contiguous",
                                shapeText(entry.shape), shapeText(strides)),
                    subject, "Save it after .contiguous()");

    const auto bytes = bytesOf(storage);
    const auto unit = static_cast<std::size_t>(storage.type ? storage.type->bytes : 1);
    if (bytes.size() % unit != 0 || bytes.size() / unit != static_cast<std::size_t>(storage.count))
        throw Error(fmt::format("has a storage of {} bytes, but {} numbers of {} bytes are described", bytes.size(),
                                storage.count, unit),
                    subject, "The file is damaged");
    const auto size = static_cast<std::size_t>(entry.type->bytes);
    const auto held = static_cast<std::int64_t>(bytes.size() / size);
    const std::int64_t offset = call.offset();
    if (offset > held || elements > held - offset)
        throw Error(fmt::format("has {} numbers from offset {}, but its storage has {}", elements, offset, held),
                    subject, "The file is damaged");
    entry.data = bytes.subspan(static_cast<std::size_t>(offset) * size, static_cast<std::size_t>(elements) * size);
    return entry;
}

} // namespace

std::span<const std::string_view> pytorchGlobals() {
    return globalNames;
}

TorchStorage torchStorage(const Pickle& pickle, const PickleValue& value, const std::string& subject) {
    const auto refuse = [&]() -> Error { return Error("does not name a storage", subject, "The file is damaged"); };
    if (value.kind != Kind::external)
        throw refuse();
    // ("storage", class, key, device, count). The file format before PyTorch 1.6 adds a sixth field: None, or a
    // description of the view if this storage is a view of another one.
    const PickleValue& id = pickle[value.items[0]];
    if (id.kind != Kind::tuple || id.items.size() < 5 || pickle[id.items[0]].text != "storage")
        throw refuse();
    const TorchGlobal* global = globalOf(pickle, pickle[id.items[1]]);
    const PickleValue& key = pickle[id.items[2]];
    const PickleValue& count = pickle[id.items[4]];
    if (!global || global->role != Role::storage || key.kind != Kind::text || key.text.size() > longestKey ||
        count.kind != Kind::integer || count.integer < 0)
        throw refuse();
    if (id.items.size() > 5 && pickle[id.items[5]].kind != Kind::none)
        throw Error("is a view of another storage, which is not supported", subject,
                    "Save it again with a newer PyTorch");
    const StorageType* type = global->type.empty() ? nullptr : safetensorsType(global->type);
    return {std::string(key.text), type, count.integer};
}

std::vector<TensorEntry> torchTensors(const Pickle& pickle, const std::shared_ptr<const MappedFile>& file,
                                      const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf) {
    const PickleValue& state = stateDict(pickle, file->path());
    std::vector<TensorEntry> entries;
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < state.items.size(); i += 2) {
        const PickleValue& value = pickle[state.items[i + 1]];
        if (!isTensor(pickle, value))
            continue;
        const PickleValue& key = pickle[state.items[i]];
        if (key.kind != Kind::text)
            throw Error("has a tensor whose name is not text", file->path());
        const std::string name(key.text);
        if (!names.insert(key.text).second)
            throw Error("appears twice", file->path() + ": " + name);
        entries.push_back(entryOf({pickle, value, file->path() + ": " + name}, name, file, bytesOf));
    }
    if (entries.empty())
        throw Error("has no weights", file->path(), "There are no tensors at its top level or under \"state_dict\"");
    return entries;
}

} // namespace secateur
