#include "backends/export/gguf_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <ranges>
#include <utility>

namespace secateur {

namespace {

constexpr std::size_t ggufAlignment = 32; ///< the default, so that no key states it
constexpr std::uint32_t ggufVersion = 3;

std::size_t paddedSize(std::size_t size) {
    return (size + ggufAlignment - 1) / ggufAlignment * ggufAlignment;
}

template <typename Number>
void appendValue(std::vector<std::byte>& bytes, Number number) {
    const auto own = std::as_bytes(std::span(&number, 1));
    bytes.insert(bytes.end(), own.begin(), own.end());
}

void appendName(std::vector<std::byte>& bytes, std::string_view text) {
    appendValue(bytes, static_cast<std::uint64_t>(text.size()));
    const auto own = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), own.begin(), own.end());
}

/// The entry of a tensor. Dimensions are stored fastest first.
void appendTensor(std::vector<std::byte>& bytes, const TargetTensor& tensor, std::size_t offset) {
    appendName(bytes, tensor.name);
    appendValue(bytes, static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::int64_t size : std::views::reverse(tensor.shape))
        appendValue(bytes, static_cast<std::uint64_t>(size));
    appendValue(bytes, static_cast<std::uint32_t>(tensor.type->ggufNumber));
    appendValue(bytes, static_cast<std::uint64_t>(offset));
}

} // namespace

GgufFile::GgufFile(const std::vector<GgufField>& fields, std::vector<TargetTensor> tensors) {
    std::vector<std::byte> head;
    for (const char letter : {'G', 'G', 'U', 'F'})
        appendValue(head, letter);
    appendValue(head, ggufVersion);
    appendValue(head, static_cast<std::uint64_t>(tensors.size()));
    appendValue(head, static_cast<std::uint64_t>(fields.size()));
    for (const GgufField& field : fields)
        appendField(head, field);
    std::size_t offset = 0;
    for (const TargetTensor& tensor : tensors) {
        appendTensor(head, tensor, offset);
        offset += paddedSize(tensor.bytes());
    }
    head.resize(paddedSize(head.size()));
    m_bytes = static_cast<std::int64_t>(head.size() + offset);
    m_pieces.push_back(pieceOf(std::move(head)));
    for (TargetTensor& tensor : tensors) {
        const std::size_t bytes = tensor.bytes();
        std::ranges::move(tensor.pieces, std::back_inserter(m_pieces));
        if (const std::size_t gap = paddedSize(bytes) - bytes; gap > 0)
            m_pieces.push_back(pieceOf(std::vector<std::byte>(gap)));
    }
}

void GgufFile::write(const std::function<std::string(const std::string& name)>& place, const Progress& progress) const {
    PieceWriter(progress, static_cast<std::size_t>(m_bytes)).write(place(names().front()), names().front(), m_pieces);
}

} // namespace secateur
