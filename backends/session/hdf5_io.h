#pragma once

#include "analysis/base/matrix.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur::hdf5 {

/// Owns an HDF5 identifier of any kind. Its type is that of hid_t, written out so that headers need not include hdf5.h.
class Handle {
public:
    using Close = int (*)(std::int64_t);
    Handle(std::int64_t id, Close close)
        : m_id(id)
        , m_close(close) {}
    Handle(Handle&& other) noexcept
        : m_id(std::exchange(other.m_id, -1))
        , m_close(other.m_close) {}
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
        if (m_id >= 0)
            m_close(m_id);
    }
    std::int64_t id() const { return m_id; }

private:
    std::int64_t m_id;
    Close m_close;
};

// Every function may throw an Error whose subject is the place inside the file. No function prints HDF5's error stack.

// Files are read and written in memory. HDF5 1.10 does not survive a failed write, and a file on disk could change
// between the check and the read. References to other files (soft and external links, external data) and filter
// plug-ins are rejected.

/// Whether bytes begin with the signature of HDF5.
bool looksLikeHdf5(std::span<const std::byte> bytes);
Handle createInMemory();
/// Opens a copy of a file's bytes in memory. The copy may be changed.
Handle openImage(std::span<const std::byte> bytes);
/// The bytes of a file that is open in memory.
std::string image(const Handle& file);
/// Opens or creates a group.
Handle group(const Handle& parent, const std::string& name);
Handle openGroup(const Handle& parent, const std::string& name);
bool exists(const Handle& parent, const std::string& name);
/// Names of the members of a group, sorted.
std::vector<std::string> children(const Handle& group);
/// Names of the members that are numbers, in numerical order.
std::vector<std::string> numbered(const Handle& group);
std::vector<std::string> attributeNames(const Handle& object);
bool hasAttribute(const Handle& object, const std::string& name);
void remove(const Handle& parent, const std::string& name);
void hardLink(const Handle& parent, const std::string& from, const std::string& to);

void writeText(const Handle& object, const std::string& name, std::string_view text);
void writeTexts(const Handle& object, const std::string& name, const std::vector<std::string>& texts);
void writeIntegers(const Handle& object, const std::string& name, const std::vector<std::int64_t>& values);
void writeNumbers(const Handle& object, const std::string& name, const std::vector<double>& values);
void writeInteger(const Handle& object, const std::string& name, std::int64_t value);
void writeNumber(const Handle& object, const std::string& name, double value);

std::vector<std::string> readTexts(const Handle& object, const std::string& name);
std::vector<std::int64_t> readIntegers(const Handle& object, const std::string& name);
std::vector<double> readNumbers(const Handle& object, const std::string& name);
std::string readText(const Handle& object, const std::string& name);
std::int64_t readInteger(const Handle& object, const std::string& name);
double readNumber(const Handle& object, const std::string& name);

/// Writes a float64 dataset [rows, columns]; [rows] if `flat` and the matrix has one column. With `leading`, `matrix`
/// contains that many matrices, one below another, and the dataset is [leading, rows / leading, ..].
Handle writeMatrix(const Handle& group, const std::string& name, const Matrix& matrix, bool flat,
                   std::size_t leading = 0);
Handle openDataset(const Handle& group, const std::string& name);
/// Checks that the file contains as many cells as the dataset claims. @throws Error if not
void checkIsStored(const Handle& dataset, std::size_t cells);
/// @param leading number of matrices, as for writeMatrix()
/// @throws Error if the dataset has another shape, or the file does not contain all its numbers
Matrix readMatrix(const Handle& dataset, std::size_t rows, std::size_t columns, std::size_t leading = 0);

} // namespace secateur::hdf5
