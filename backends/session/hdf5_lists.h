#pragma once

#include "backends/session/hdf5_io.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace secateur::hdf5 {

// Datasets of one dimension, for lists that are too long for attributes. If a dataset claims to be larger than the
// file, reading throws an Error that names it, before memory is allocated.

/// Writes a list as int64 [n].
Handle writeIntegerList(const Handle& group, const std::string& name, const std::vector<std::int64_t>& values);
/// Writes a list as float64 [n].
Handle writeNumberList(const Handle& group, const std::string& name, const std::vector<double>& values);
/// Writes float32 numbers as a list [n], or as a matrix [rows, n / rows]. @param rows 0 = a list
Handle writeFloats(const Handle& group, const std::string& name, const std::vector<float>& values, std::size_t rows);
/// Writes a list of texts as UTF-8 of variable length, [n].
Handle writeTextList(const Handle& group, const std::string& name, const std::vector<std::string>& texts);
/// Writes uint8 [rows, values / rows], or [values] if `flat`, with an attribute `meaning`.
Handle writeMarks(const Handle& group, const std::string& name, const std::vector<std::uint8_t>& values,
                  std::size_t rows, bool flat, const std::string& meaning);

/// The next unused number in a group whose members have numbers as names.
std::string nextNumber(const Handle& group);

std::vector<std::int64_t> readIntegerList(const Handle& group, const std::string& name);
std::vector<double> readNumberList(const Handle& group, const std::string& name);

/// Numbers of a list or a matrix.
struct StoredFloats {
    std::vector<float> values;
    std::size_t rows = 0; ///< 0 = a list
};
/// @throws Error if the dataset has neither one nor two dimensions, no floating-point numbers, or not all of them are in
/// the file
StoredFloats readFloats(const Handle& group, const std::string& name);
std::vector<std::string> readTextList(const Handle& group, const std::string& name);

} // namespace secateur::hdf5
