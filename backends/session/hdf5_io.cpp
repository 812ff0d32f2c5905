#include "backends/session/hdf5_io.h"

#include "analysis/base/error.h"

#include <fmt/core.h>
#include <hdf5.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace secateur::hdf5 {

namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>);

/// Maximum number of elements of an attribute. HDF5 stores attributes in headers of 64 kB, so more elements mean a
/// damaged file.
constexpr hsize_t mostAttributeElements = 1 << 20;
constexpr std::size_t mostTextBytes = 1 << 24;
/// Maximum number of cells of a dataset. It is 512 MB of doubles, ten times a neuron metric of the largest models.
constexpr std::size_t mostCells = std::size_t{1} << 26;

std::int64_t check(std::int64_t result, std::string_view what, const std::string& place) {
    if (result < 0)
        throw Error(fmt::format("cannot {}", what), place, "The file is damaged");
    return result;
}

/// Disables two default behaviours of HDF5: printing its error stack (a setting of each thread), and loading unknown
/// filters from a folder that the environment names.
void silence() {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
}

Handle inMemory() {
    constexpr std::size_t growth = 1 << 20;
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access.id(), growth, false);
    return access;
}

/// A new name for a file in memory. HDF5 treats open files of the same name as one file, even in memory.
std::string unusedName() {
    static std::atomic<unsigned> count = 0;
    return fmt::format("session {}", count++);
}

Handle textType() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), H5T_VARIABLE);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    return type;
}

Handle space(hsize_t count, bool scalar) {
    return {scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose};
}

void writeAttribute(const Handle& object, const std::string& name, hid_t type, hsize_t count, bool scalar,
                    const void* values) {
    if (H5Aexists(object.id(), name.c_str()) > 0)
        check(H5Adelete(object.id(), name.c_str()), "be replaced", name);
    const Handle extent = space(count, scalar);
    const Handle attribute(
        check(H5Acreate2(object.id(), name.c_str(), type, extent.id(), H5P_DEFAULT, H5P_DEFAULT), "be written", name),
        H5Aclose);
    if (count > 0)
        check(H5Awrite(attribute.id(), type, values), "be written", name);
}

Handle openAttribute(const Handle& object, const std::string& name) {
    if (H5Aexists(object.id(), name.c_str()) <= 0)
        throw Error("is missing", name);
    return {check(H5Aopen(object.id(), name.c_str(), H5P_DEFAULT), "be read", name), H5Aclose};
}

std::size_t elements(const Handle& attribute, const std::string& name) {
    const Handle extent(check(H5Aget_space(attribute.id()), "be read", name), H5Sclose);
    const hssize_t count = check(H5Sget_simple_extent_npoints(extent.id()), "be read", name);
    if (static_cast<hsize_t>(count) > mostAttributeElements)
        throw Error(fmt::format("has {} elements, more than any session", count), name);
    return static_cast<std::size_t>(count);
}

template <typename Number>
std::vector<Number> readAttribute(const Handle& object, const std::string& name, hid_t type, H5T_class_t kind) {
    const Handle attribute = openAttribute(object, name);
    const Handle stored(H5Aget_type(attribute.id()), H5Tclose);
    if (H5Tget_class(stored.id()) != kind)
        throw Error("has another type than a session's", name);
    std::vector<Number> values(elements(attribute, name));
    if (!values.empty())
        check(H5Aread(attribute.id(), type, values.data()), "be read", name);
    return values;
}

std::vector<std::string> readVariableTexts(const Handle& attribute, const std::string& name, std::size_t count) {
    const Handle type = textType();
    std::vector<char*> pointers(count, nullptr);
    check(H5Aread(attribute.id(), type.id(), pointers.data()), "be read", name);
    std::vector<std::string> texts;
    for (const char* text : pointers)
        texts.emplace_back(text ? text : "");
    const Handle extent(H5Aget_space(attribute.id()), H5Sclose);
    H5Dvlen_reclaim(type.id(), extent.id(), H5P_DEFAULT, pointers.data());
    return texts;
}

std::vector<std::string> readFixedTexts(const Handle& attribute, hid_t type, const std::string& name,
                                        std::size_t count) {
    const std::size_t size = H5Tget_size(type);
    if (size == 0 || count > mostTextBytes / size)
        throw Error("is longer than any session's", name);
    std::vector<char> bytes(size * count);
    check(H5Aread(attribute.id(), type, bytes.data()), "be read", name);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i)
        texts.emplace_back(bytes.data() + i * size, strnlen(bytes.data() + i * size, size));
    return texts;
}

template <typename Values>
auto single(Values values, const std::string& name) {
    if (values.size() != 1)
        throw Error(fmt::format("should hold one value and holds {}", values.size()), name);
    return values.front();
}

} // namespace

bool looksLikeHdf5(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.starts_with("\x89HDF\r\n\x1a\n");
}

Handle createInMemory() {
    silence();
    return {check(H5Fcreate(unusedName().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, inMemory().id()), "be made", {}),
            H5Fclose};
}

Handle openImage(std::span<const std::byte> bytes) {
    if (!looksLikeHdf5(bytes))
        throw Error("is not an HDF5 file");
    silence();
    const Handle access = inMemory();
    // HDF5 copies the bytes. The parameter is not const only because other drivers do not copy.
    check(H5Pset_file_image(access.id(), const_cast<std::byte*>(bytes.data()), bytes.size()), "be read", {});
    const hid_t file = H5Fopen(unusedName().c_str(), H5F_ACC_RDWR, access.id());
    if (file < 0)
        throw Error("cannot be opened as HDF5: it is cut short or damaged");
    return {file, H5Fclose};
}

std::string image(const Handle& file) {
    check(H5Fflush(file.id(), H5F_SCOPE_GLOBAL), "be put together", {});
    const ssize_t size = check(H5Fget_file_image(file.id(), nullptr, 0), "be put together", {});
    std::string bytes(static_cast<std::size_t>(size), '\0');
    check(H5Fget_file_image(file.id(), bytes.data(), bytes.size()), "be put together", {});
    return bytes;
}

Handle group(const Handle& parent, const std::string& name) {
    if (exists(parent, name))
        return openGroup(parent, name);
    return {check(H5Gcreate2(parent.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "be written", name),
            H5Gclose};
}

namespace {

/// Rejects what is missing, and soft and external links, which may lead to other files.
void checkLiesHere(const Handle& parent, const std::string& name) {
    if (H5Lexists(parent.id(), name.c_str(), H5P_DEFAULT) == 0)
        throw Error("is missing", name);
    H5L_info_t info{};
    check(H5Lget_info(parent.id(), name.c_str(), &info, H5P_DEFAULT), "be read", name);
    if (info.type != H5L_TYPE_HARD)
        throw Error("is a soft or external link, which no session has", name);
}

} // namespace

Handle openGroup(const Handle& parent, const std::string& name) {
    checkLiesHere(parent, name);
    return {check(H5Gopen2(parent.id(), name.c_str(), H5P_DEFAULT), "be read", name), H5Gclose};
}

bool exists(const Handle& parent, const std::string& name) {
    return H5Lexists(parent.id(), name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> children(const Handle& parent) {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
    };
    check(H5Literate(parent.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), "be listed", "a group");
    return names;
}

std::vector<std::string> numbered(const Handle& parent) {
    std::vector<std::string> names = children(parent);
    std::erase_if(names, [](const std::string& name) { return name.find_first_not_of("0123456789") != name.npos; });
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return std::pair(name.size(), name); });
    return names;
}

std::vector<std::string> attributeNames(const Handle& object) {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
    };
    check(H5Aiterate2(object.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), "be listed", "attributes");
    return names;
}

bool hasAttribute(const Handle& object, const std::string& name) {
    return H5Aexists(object.id(), name.c_str()) > 0;
}

void remove(const Handle& parent, const std::string& name) {
    check(H5Ldelete(parent.id(), name.c_str(), H5P_DEFAULT), "be replaced", name);
}

void hardLink(const Handle& parent, const std::string& from, const std::string& to) {
    if (exists(parent, to))
        remove(parent, to);
    check(H5Lcreate_hard(parent.id(), from.c_str(), parent.id(), to.c_str(), H5P_DEFAULT, H5P_DEFAULT), "be written",
          to);
}

void writeText(const Handle& object, const std::string& name, std::string_view text) {
    const std::string terminated(text);
    const char* pointer = terminated.c_str();
    writeAttribute(object, name, textType().id(), 1, true, &pointer);
}

void writeTexts(const Handle& object, const std::string& name, const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts)
        pointers.push_back(text.c_str());
    writeAttribute(object, name, textType().id(), texts.size(), false, pointers.data());
}

void writeIntegers(const Handle& object, const std::string& name, const std::vector<std::int64_t>& values) {
    writeAttribute(object, name, H5T_NATIVE_INT64, values.size(), false, values.data());
}

void writeNumbers(const Handle& object, const std::string& name, const std::vector<double>& values) {
    writeAttribute(object, name, H5T_NATIVE_DOUBLE, values.size(), false, values.data());
}

void writeInteger(const Handle& object, const std::string& name, std::int64_t value) {
    writeAttribute(object, name, H5T_NATIVE_INT64, 1, true, &value);
}

void writeNumber(const Handle& object, const std::string& name, double value) {
    writeAttribute(object, name, H5T_NATIVE_DOUBLE, 1, true, &value);
}

std::vector<std::string> readTexts(const Handle& object, const std::string& name) {
    const Handle attribute = openAttribute(object, name);
    const Handle type(H5Aget_type(attribute.id()), H5Tclose);
    if (H5Tget_class(type.id()) != H5T_STRING)
        throw Error("has another type than a session's", name);
    const std::size_t count = elements(attribute, name);
    if (count == 0)
        return {};
    return H5Tis_variable_str(type.id()) > 0 ? readVariableTexts(attribute, name, count)
                                             : readFixedTexts(attribute, type.id(), name, count);
}

std::vector<std::int64_t> readIntegers(const Handle& object, const std::string& name) {
    return readAttribute<std::int64_t>(object, name, H5T_NATIVE_INT64, H5T_INTEGER);
}

std::vector<double> readNumbers(const Handle& object, const std::string& name) {
    return readAttribute<double>(object, name, H5T_NATIVE_DOUBLE, H5T_FLOAT);
}

std::string readText(const Handle& object, const std::string& name) {
    return single(readTexts(object, name), name);
}

std::int64_t readInteger(const Handle& object, const std::string& name) {
    return single(readIntegers(object, name), name);
}

double readNumber(const Handle& object, const std::string& name) {
    return single(readNumbers(object, name), name);
}

Handle writeMatrix(const Handle& parent, const std::string& name, const Matrix& matrix, bool flat,
                   std::size_t leading) {
    if (exists(parent, name))
        remove(parent, name);
    const std::size_t groups = std::max<std::size_t>(leading, 1);
    const hsize_t extents[] = {groups, matrix.rows() / groups, matrix.columns()};
    const int first = leading > 0 ? 0 : 1;
    const Handle extent(H5Screate_simple((flat ? 2 : 3) - first, extents + first, nullptr), H5Sclose);
    Handle dataset(
        check(H5Dcreate2(parent.id(), name.c_str(), H5T_IEEE_F64LE, extent.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
              "be written", name),
        H5Dclose);
    if (!matrix.empty())
        check(H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, matrix.values().data()),
              "be written", name);
    return dataset;
}

namespace {

/// Rejects external storage, for which HDF5 would open other files.
void checkHoldsItsNumbers(const Handle& creation) {
    if (H5Pget_layout(creation.id()) == H5D_VIRTUAL || H5Pget_external_count(creation.id()) != 0)
        throw Error("keeps its numbers in another file, which no session does");
}

/// Whether the stored data can contain `cells` cells. It is checked before memory is allocated for them.
bool areStored(const Handle& dataset, const Handle& creation, std::size_t cells) {
    constexpr hsize_t mostCompression = 1032; // largest compression ratio of deflate
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const hsize_t bytes = H5Dget_storage_size(dataset.id());
    const hsize_t room = H5Pget_nfilters(creation.id()) > 0 ? bytes * mostCompression : bytes;
    return room / std::max<std::size_t>(H5Tget_size(type.id()), 1) >= cells;
}

} // namespace

void checkIsStored(const Handle& dataset, std::size_t cells) {
    if (cells > mostCells)
        throw Error(fmt::format("has {} cells, more than any session", cells));
    const Handle creation(check(H5Dget_create_plist(dataset.id()), "be read", "a dataset"), H5Pclose);
    checkHoldsItsNumbers(creation);
    if (!areStored(dataset, creation, cells))
        throw Error("claims more numbers than the file holds");
}

Handle openDataset(const Handle& parent, const std::string& name) {
    checkLiesHere(parent, name);
    return {check(H5Dopen2(parent.id(), name.c_str(), H5P_DEFAULT), "be read", name), H5Dclose};
}

Matrix readMatrix(const Handle& dataset, std::size_t rows, std::size_t columns, std::size_t leading) {
    const Handle type(check(H5Dget_type(dataset.id()), "be read", "a dataset"), H5Tclose);
    if (H5Tget_class(type.id()) != H5T_FLOAT)
        throw Error("does not hold floating-point numbers");
    const Handle extent(check(H5Dget_space(dataset.id()), "be read", "a dataset"), H5Sclose);
    const int most = leading > 0 ? 3 : 2;
    const int dimensions = H5Sget_simple_extent_ndims(extent.id());
    hsize_t sizes[3] = {1, 1, 1};
    if (dimensions < most - 1 || dimensions > most ||
        H5Sget_simple_extent_dims(extent.id(), sizes + 3 - most, nullptr) < 0 ||
        sizes[0] != std::max<std::size_t>(leading, 1) || sizes[1] != rows || sizes[2] != columns)
        throw Error(fmt::format("should be {}{} x {} as its model has them",
                                leading > 0 ? fmt::format("{} x ", leading) : "", rows, columns));
    rows *= std::max<std::size_t>(leading, 1);
    if (columns > 0 && rows > mostCells / columns)
        throw Error(fmt::format("has {} x {} cells, more than any session", rows, columns));
    checkIsStored(dataset, rows * columns);
    Matrix matrix(rows, columns);
    if (!matrix.empty())
        check(H5Dread(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, matrix.values().data()),
              "be read", "a dataset");
    return matrix;
}

} // namespace secateur::hdf5
