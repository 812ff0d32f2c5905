#include "backends/session/hdf5_lists.h"

#include "analysis/base/error.h"

#include <fmt/core.h>
#include <hdf5.h>

#include <array>
#include <charconv>
#include <limits>

namespace secateur::hdf5 {

namespace {

constexpr const char* floatingPoint = "floating-point numbers";

Handle listTextType() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), H5T_VARIABLE);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    return type;
}

/// Writes a dataset, and replaces an existing one. @param stored type in the file @param given type of `values`
Handle writeDataset(const Handle& group, const std::string& name, hid_t stored, hid_t given,
                    const std::vector<hsize_t>& extents, const void* values) {
    if (exists(group, name))
        remove(group, name);
    const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
    const hid_t made = H5Dcreate2(group.id(), name.c_str(), stored, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (made < 0)
        throw Error("cannot be written", name, "The file is damaged");
    Handle dataset(made, H5Dclose);
    hsize_t cells = 1;
    for (const hsize_t extent : extents)
        cells *= extent;
    if (cells > 0 && H5Dwrite(made, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        throw Error("cannot be written", name, "The file is damaged");
    return dataset;
}

/// The length of a list. @throws Error if its elements have another kind of type, or not all of them are in the file
std::size_t lengthOf(const Handle& dataset, H5T_class_t kind, const char* cells) {
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const bool isList = kind != H5T_STRING || H5Tis_variable_str(type.id()) > 0;
    if (H5Tget_class(type.id()) != kind || !isList)
        throw Error(fmt::format("does not hold {}", cells));
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    hsize_t length = 0;
    if (H5Sget_simple_extent_ndims(space.id()) != 1 || H5Sget_simple_extent_dims(space.id(), &length, nullptr) < 0)
        throw Error("is not a list");
    checkIsStored(dataset, length);
    return length;
}

void readAll(const Handle& dataset, hid_t type, void* values) {
    if (H5Dread(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        throw Error("cannot be read", {}, "The file is damaged");
}

template <typename Number>
std::vector<Number> readList(const Handle& group, const std::string& name, hid_t type, H5T_class_t kind,
                             const char* cells) {
    const Handle dataset = openDataset(group, name);
    try {
        std::vector<Number> values(lengthOf(dataset, kind, cells));
        if (!values.empty())
            readAll(dataset, type, values.data());
        return values;
    } catch (const Error& error) {
        throw error.within(name);
    }
}

} // namespace

Handle writeIntegerList(const Handle& group, const std::string& name, const std::vector<std::int64_t>& values) {
    return writeDataset(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, {values.size()}, values.data());
}

Handle writeNumberList(const Handle& group, const std::string& name, const std::vector<double>& values) {
    return writeDataset(group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}

Handle writeFloats(const Handle& group, const std::string& name, const std::vector<float>& values, std::size_t rows) {
    std::vector<hsize_t> extents{values.size()};
    if (rows > 0)
        extents = {rows, values.size() / rows};
    return writeDataset(group, name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, extents, values.data());
}

Handle writeTextList(const Handle& group, const std::string& name, const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts)
        pointers.push_back(text.c_str());
    const Handle type = listTextType();
    return writeDataset(group, name, type.id(), type.id(), {pointers.size()}, pointers.data());
}

Handle writeMarks(const Handle& group, const std::string& name, const std::vector<std::uint8_t>& values,
                  std::size_t rows, bool flat, const std::string& meaning) {
    const std::vector<hsize_t> extents =
        flat ? std::vector<hsize_t>{rows} : std::vector<hsize_t>{rows, rows > 0 ? values.size() / rows : 0};
    Handle dataset = writeDataset(group, name, H5T_STD_U8LE, H5T_NATIVE_UINT8, extents, values.data());
    writeText(dataset, "meaning", meaning);
    return dataset;
}

std::string nextNumber(const Handle& group) {
    const std::vector<std::string> numbers = numbered(group);
    std::uint64_t next = 0;
    if (!numbers.empty())
        std::from_chars(numbers.back().data(), numbers.back().data() + numbers.back().size(), next);
    return std::to_string(numbers.empty() ? 0 : next + 1);
}

std::vector<std::int64_t> readIntegerList(const Handle& group, const std::string& name) {
    return readList<std::int64_t>(group, name, H5T_NATIVE_INT64, H5T_INTEGER, "whole numbers");
}

std::vector<double> readNumberList(const Handle& group, const std::string& name) {
    return readList<double>(group, name, H5T_NATIVE_DOUBLE, H5T_FLOAT, floatingPoint);
}

StoredFloats readFloats(const Handle& group, const std::string& name) {
    const Handle dataset = openDataset(group, name);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    if (H5Sget_simple_extent_ndims(space.id()) != 2)
        return {readList<float>(group, name, H5T_NATIVE_FLOAT, H5T_FLOAT, floatingPoint), 0};
    try {
        const Handle type(H5Dget_type(dataset.id()), H5Tclose);
        if (H5Tget_class(type.id()) != H5T_FLOAT)
            throw Error(fmt::format("does not hold {}", floatingPoint));
        std::array<hsize_t, 2> extents{};
        H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
        if (extents[0] == 0 || extents[1] > std::numeric_limits<std::uint32_t>::max() / extents[0])
            throw Error("has no size that a weight has");
        checkIsStored(dataset, extents[0] * extents[1]);
        StoredFloats found{std::vector<float>(extents[0] * extents[1]), extents[0]};
        readAll(dataset, H5T_NATIVE_FLOAT, found.values.data());
        return found;
    } catch (const Error& error) {
        throw error.within(name);
    }
}

std::vector<std::string> readTextList(const Handle& group, const std::string& name) {
    const Handle dataset = openDataset(group, name);
    try {
        std::vector<char*> pointers(lengthOf(dataset, H5T_STRING, "texts"), nullptr);
        if (pointers.empty())
            return {};
        const Handle type = listTextType();
        readAll(dataset, type.id(), pointers.data());
        std::vector<std::string> texts;
        for (const char* text : pointers)
            texts.emplace_back(text ? text : "");
        const Handle space(H5Dget_space(dataset.id()), H5Sclose);
        H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, pointers.data());
        return texts;
    } catch (const Error& error) {
        throw error.within(name);
    }
}

} // namespace secateur::hdf5
