#include "backends/export/masked_files.h"

#include "backends/export/gguf_layout.h"
#include "backends/export/zip_checksums.h"
#include "backends/formats/formats.h"
#include "backends/formats/gguf.h"
#include "backends/formats/pytorch.h"
#include "backends/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace secateur {

namespace fs = std::filesystem;

namespace {

/// The bytes of a file in their order, some of them changed.
std::vector<FilePiece> piecesOf(const MappedFile& file, const std::vector<WeightCut>& cuts) {
    std::vector<FilePiece> pieces;
    std::span<const std::byte> rest = file.bytes();
    for (const WeightCut& cut : cuts) {
        const auto before = static_cast<std::size_t>(cut.entry->data.data() - rest.data());
        if (before > 0)
            pieces.push_back(copyOf(rest.first(before)));
        pieces.push_back(pieceOf(cut));
        rest = rest.subspan(before + cut.entry->data.size());
    }
    if (!rest.empty())
        pieces.push_back(copyOf(rest));
    return pieces;
}

/// The index that lists the shards of a folder that was opened, or nothing.
std::shared_ptr<const MappedFile> indexOf(const ModelCard& card, const fs::path& folder, std::size_t shards) {
    const HfWeights& weights = card.format == "pytorch" ? pytorchWeights : safetensorsWeights;
    const fs::path index = folder / weights.index;
    const bool isUsed = shards > 1 || fs::is_directory(card.path);
    return isUsed && fs::exists(index) ? MappedFile::open(index.string()) : nullptr;
}

} // namespace

MaskedFiles::MaskedFiles(const ModelCard& card, const PruningMask& mask)
    : m_isGguf(card.format == "gguf")
    , m_checkpoint(formatOf(card.path).open(card.path, {})) {
    const CheckpointDescription description = m_checkpoint->describe();
    mask.checkFits(description.spec);
    const TensorSlots slots(*m_checkpoint, description, card.path);
    const std::vector<WeightCut> cuts = weightCuts(slots, description.spec, mask);
    for (const auto& source : sources(card))
        addFile(source, cuts);
    for (const WeightCut& cut : cuts)
        if (cut.isWidened)
            m_warnings.push_back(fmt::format("{} is kept as F32: the blocks of {} hold numbers of heads that are cut "
                                             "beside those of others",
                                             cut.entry->name, cut.entry->type->name));
}

std::vector<std::shared_ptr<const MappedFile>> MaskedFiles::sources(const ModelCard& card) const {
    std::vector<std::shared_ptr<const MappedFile>> files;
    if (m_isGguf) { // a part of a split file may hold no tensors
        const std::string path = fs::is_directory(card.path) ? ggufModelIn(card.path) : card.path;
        for (const GgufPart& part : readGgufParts(path, {}))
            files.push_back(part.file);
        return files;
    }
    for (const TensorEntry& entry : m_checkpoint->tensors())
        if (std::ranges::find(files, entry.file) == files.end())
            files.push_back(entry.file);
    std::ranges::sort(files, {}, [](const auto& file) { return file->path(); });
    const fs::path folder = fs::path(files.front()->path()).parent_path();
    if (auto index = indexOf(card, folder, files.size()))
        files.push_back(std::move(index));
    return files;
}

void MaskedFiles::addFile(const std::shared_ptr<const MappedFile>& source, const std::vector<WeightCut>& cuts) {
    // Another mapping of the same file may have been made above: the tensors' own counts.
    const auto own = std::ranges::find_if(
        m_checkpoint->tensors(), [&](const TensorEntry& entry) { return entry.file->path() == source->path(); });
    File file{own != m_checkpoint->tensors().end() ? own->file : source, {}, {}};
    std::ranges::copy_if(cuts, std::back_inserter(file.cuts),
                         [&](const WeightCut& cut) { return cut.entry->file == file.source; });
    file.pieces = std::ranges::any_of(file.cuts, &WeightCut::isWidened)
                      ? relaidGguf(*file.source, m_checkpoint->tensors(), file.cuts)
                      : piecesOf(*file.source, file.cuts);
    m_files.push_back(std::move(file));
}

std::vector<std::string> MaskedFiles::names() const {
    std::vector<std::string> names;
    for (const File& file : m_files)
        names.push_back(file.source->path());
    return names;
}

std::int64_t MaskedFiles::bytes() const {
    std::size_t bytes = 0;
    for (const File& file : m_files)
        for (const FilePiece& piece : file.pieces)
            bytes += piece.bytes;
    return static_cast<std::int64_t>(bytes);
}

void MaskedFiles::write(const std::function<std::string(const std::string& name)>& place,
                        const Progress& progress) const {
    PieceWriter writer(progress, static_cast<std::size_t>(bytes()));
    for (const File& file : m_files) {
        const std::string target = place(file.source->path());
        writer.write(target, fs::path(file.source->path()).filename().string(), *file.source, file.pieces);
        if (!file.cuts.empty() && isZip(*file.source))
            renewChecksums(file.source, target, file.cuts);
    }
}

} // namespace secateur
