#include "backends/export/safetensors_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

using FileJson = nlohmann::ordered_json;

FilePiece pieceOfText(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return pieceOf(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// The header of a file and its tensors. Tensors are sorted by the size of their numbers, largest first, so that all
/// numbers are aligned.
std::vector<FilePiece> piecesOf(std::vector<TargetTensor> tensors) {
    std::ranges::stable_sort(tensors, std::ranges::greater(), [](const TargetTensor& t) { return t.type->bytes; });
    FileJson header{{"__metadata__", {{"format", "pt"}}}};
    std::vector<FilePiece> pieces(1);
    std::size_t end = 0;
    for (TargetTensor& tensor : tensors) {
        const std::size_t begin = std::exchange(end, end + tensor.bytes());
        header[tensor.name] = {{"dtype", tensor.type->name}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
        std::ranges::move(tensor.pieces, std::back_inserter(pieces));
    }
    std::string text = header.dump();
    text.resize((text.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t), ' ');
    const auto length = static_cast<std::uint64_t>(text.size());
    std::vector<std::byte> head(sizeof length + text.size());
    std::memcpy(head.data(), &length, sizeof length);
    std::memcpy(head.data() + sizeof length, text.data(), text.size());
    pieces.front() = pieceOf(std::move(head));
    return pieces;
}

std::vector<std::vector<TargetTensor>> shardsOf(std::vector<TargetTensor> tensors, std::size_t shardBytes) {
    std::vector<std::vector<TargetTensor>> shards(1);
    std::size_t bytes = 0;
    for (TargetTensor& tensor : tensors) {
        if (!shards.back().empty() && bytes + tensor.bytes() > shardBytes) {
            shards.emplace_back();
            bytes = 0;
        }
        bytes += tensor.bytes();
        shards.back().push_back(std::move(tensor));
    }
    return shards;
}

} // namespace

SafetensorsFiles::SafetensorsFiles(std::vector<TargetTensor> tensors, std::size_t shardBytes) {
    std::vector<std::vector<TargetTensor>> shards = shardsOf(std::move(tensors), shardBytes);
    if (shards.size() == 1) {
        m_files.push_back({"model.safetensors", piecesOf(std::move(shards.front()))});
        return;
    }
    FileJson index{{"metadata", {{"total_size", 0}}}, {"weight_map", FileJson::object()}};
    std::size_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
        for (const TargetTensor& tensor : shards[i]) {
            index["weight_map"][tensor.name] = name;
            total += tensor.bytes();
        }
        m_files.push_back({name, piecesOf(std::move(shards[i]))});
    }
    index["metadata"]["total_size"] = total;
    m_files.push_back({"model.safetensors.index.json", {pieceOfText(index.dump(2) + "\n")}});
}

std::vector<std::string> SafetensorsFiles::names() const {
    std::vector<std::string> names;
    for (const File& file : m_files)
        names.push_back(file.name);
    return names;
}

std::int64_t SafetensorsFiles::bytes() const {
    std::size_t bytes = 0;
    for (const File& file : m_files)
        for (const FilePiece& piece : file.pieces)
            bytes += piece.bytes;
    return static_cast<std::int64_t>(bytes);
}

void SafetensorsFiles::write(const std::function<std::string(const std::string& name)>& place,
                             const Progress& progress) const {
    PieceWriter writer(progress, static_cast<std::size_t>(bytes()));
    for (const File& file : m_files)
        writer.write(place(file.name), file.name, file.pieces);
}

} // namespace secateur
