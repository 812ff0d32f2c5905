#include "backends/export/masked_files.h"

#include "analysis/base/error.h"
#include "backends/base/file_output.h"
#include "backends/base/mapped_file.h"
#include "backends/export/relaid_files.h"
#include "backends/formats/formats.h"
#include "backends/formats/gguf.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/pytorch.h"
#include "backends/formats/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

namespace secateur {

namespace fs = std::filesystem;

namespace {

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Tables for the CRC-32 of zip archives, to process eight bytes at a time. Table k has the effect of a byte that is
/// followed by k zero bytes.
constexpr CrcTables crcTables = [] {
    constexpr std::uint32_t polynomial = 0xedb88320;
    CrcTables made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? value >> 1U ^ polynomial : value >> 1U;
        made[0][byte] = value;
    }
    for (std::size_t table = 1; table < made.size(); ++table)
        for (std::size_t byte = 0; byte < 256; ++byte)
            made[table][byte] = made[table - 1][byte] >> 8U ^ made[0][made[table - 1][byte] & 255U];
    return made;
}();

std::uint32_t checksum(std::span<const std::byte> bytes) {
    std::uint32_t value = 0xffffffff;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        word ^= value;
        value = 0;
        for (std::size_t byte = 0; byte < 8; ++byte)
            value ^= crcTables[7 - byte][word >> 8 * byte & 255U];
    }
    for (; i < bytes.size(); ++i)
        value = value >> 8U ^ crcTables[0][(value ^ std::to_integer<std::uint32_t>(bytes[i])) & 255U];
    return ~value;
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

/// Whether a file is a zip archive. The entries of zip archives have checksums.
bool isZip(const MappedFile& file) {
    constexpr std::array magic{'P', 'K', '\3', '\4'};
    return file.bytes().size() > magic.size() && std::memcmp(file.bytes().data(), magic.data(), magic.size()) == 0;
}

/// Updates the checksums of changed entries in a copy of an archive, at every place where the archive states them.
/// @param source the original archive @param copy path of the copy, in which only the cut bytes differ
void renewChecksums(const std::shared_ptr<const MappedFile>& source, const std::string& copy,
                    std::span<const WeightCut> cuts) {
    const ZipDirectory archive(source);
    const auto all = source->bytes();
    const auto changed = MappedFile::open(copy);
    const auto write = [&](std::size_t place, std::uint32_t value) {
        overwrite(copy, place, std::as_bytes(std::span(&value, 1)));
    };
    for (const auto& [name, entry] : archive.entries()) {
        // Compressed entries contain no tensors.
        if (entry.method != 0 || entry.bytes == 0)
            continue;
        const auto bytes = archive.bytes(name);
        if (std::ranges::none_of(cuts, [&](const WeightCut& cut) { return overlap(bytes, cut.entry->data); }))
            continue;
        const auto begin = static_cast<std::size_t>(bytes.data() - all.data());
        const std::uint32_t renewed = checksum(changed->bytes().subspan(begin, bytes.size()));
        constexpr std::size_t inRecord = 16;
        constexpr std::size_t inHeader = 14;
        write(static_cast<std::size_t>(entry.record) + inRecord, renewed);
        // The checksum is stored again in the local header, or in a descriptor after the entry's bytes. The descriptor
        // may begin with a signature of four bytes.
        for (const std::size_t place : {static_cast<std::size_t>(entry.offset) + inHeader, begin + bytes.size(),
                                        begin + bytes.size() + sizeof renewed}) {
            std::uint32_t stated = 0;
            if (place + sizeof stated > all.size())
                continue;
            std::memcpy(&stated, all.data() + place, sizeof stated);
            if (stated == entry.checksum && stated != 0)
                write(place, renewed);
        }
    }
}

/// The pieces of a file whose tensors keep their sizes.
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

/// The index file that lists the shards of an opened folder; null if there is none.
std::shared_ptr<const MappedFile> indexOf(const ModelCard& card, const fs::path& folder, std::size_t shards) {
    const HfWeights& weights = card.format == "pytorch" ? pytorchWeights : safetensorsWeights;
    const fs::path index = folder / weights.index;
    const bool isUsed = shards > 1 || fs::is_directory(card.path);
    return isUsed && fs::exists(index) ? MappedFile::open(index.string()) : nullptr;
}

} // namespace

MaskedFiles::MaskedFiles(const Model& source, const ModelSpec& exported, const PruningMask& mask)
    : m_format(source.card().format)
    , m_isGguf(m_format == "gguf")
    , m_checkpoint(formatOf(source.card().path).open(source.card().path, {}))
    , m_description(m_checkpoint->describe())
    , m_slots(*m_checkpoint, m_description, source.card().path)
    , m_changed(source, mask, m_slots, m_description) {
    const ModelCard& card = source.card();
    mask.checkFits(m_description.spec);
    const TensorFinder names(*m_checkpoint, m_description.tensors, m_description.prefixes);
    const std::vector<WeightCut> cuts = weightCuts(m_slots, m_description.spec, mask, &m_changed);
    const std::vector<AddedBias> added = addedBiases(m_slots, names, m_description.spec, exported, mask);
    checkTypes(cuts);
    m_isRounded = std::ranges::any_of(cuts, &WeightCut::isQuantised);
    std::shared_ptr<const MappedFile> index;
    for (const auto& file : sources(card)) {
        if (fs::path(file->path()).extension() == ".json")
            index = file;
        else
            addFile(file, cuts, added);
    }
    if (index)
        addIndex(index, added);
    checkParts(added);
    warnOfWidened(cuts);
}

void MaskedFiles::checkTypes(const std::vector<WeightCut>& cuts) const {
    const auto widened =
        std::ranges::find_if(cuts, [](const WeightCut& cut) { return cut.isWidened && cut.isCompensated(); });
    if (m_format == "pytorch" && widened != cuts.end())
        throw Error(
            fmt::format("is stored as {}, which rounds the numbers of the {}, and tensors of PyTorch files keep "
                        "their type",
                        widened->entry->type->name, widened->isMerged ? "adapter" : "compensation"),
            widened->entry->subject(), "Convert the checkpoint to safetensors");
}

void MaskedFiles::checkParts(const std::vector<AddedBias>& added) const {
    if (m_isGguf && m_files.size() > 1 && !added.empty())
        throw Error("is one of several GGUF files, whose number of tensors is fixed; the compensation adds biases",
                    added.front().beside->file->path(), "Merge the files (llama-gguf-split --merge)");
}

void MaskedFiles::warnOfWidened(const std::vector<WeightCut>& cuts) {
    std::vector<std::string> compensated;
    std::vector<std::string> merged;
    for (const WeightCut& cut : cuts) {
        if (cut.isWidened && cut.isCompensated())
            (cut.isMerged ? merged : compensated).push_back(cut.entry->name);
        else if (cut.isWidened)
            m_warnings.push_back(fmt::format("{} is stored as F32: blocks of {} contain numbers of cut and of kept "
                                             "heads",
                                             cut.entry->name, cut.entry->type->name));
    }
    const auto warn = [this](const std::vector<std::string>& names, const char* of) {
        if (!names.empty())
            m_warnings.push_back(
                fmt::format("{} is stored as F32, because its type would round the numbers of the {}{}", names.front(),
                            of, names.size() > 1 ? fmt::format("; so are {} other tensors", names.size() - 1) : ""));
    };
    warn(compensated, "compensation");
    warn(merged, "adapter");
}

std::vector<std::shared_ptr<const MappedFile>> MaskedFiles::sources(const ModelCard& card) const {
    std::vector<std::shared_ptr<const MappedFile>> files;
    if (m_isGguf) { // a part of a split file may contain no tensors
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

void MaskedFiles::addFile(const std::shared_ptr<const MappedFile>& source, const std::vector<WeightCut>& cuts,
                          const std::vector<AddedBias>& added) {
    // `source` may be another mapping of the same file. The cuts refer to the mapping of the checkpoint's tensors.
    const auto own = std::ranges::find_if(
        m_checkpoint->tensors(), [&](const TensorEntry& entry) { return entry.file->path() == source->path(); });
    File file{own != m_checkpoint->tensors().end() ? own->file : source, {}, {}};
    std::ranges::copy_if(cuts, std::back_inserter(file.cuts),
                         [&](const WeightCut& cut) { return cut.entry->file == file.source; });
    std::vector<AddedBias> biases;
    std::ranges::copy_if(added, std::back_inserter(biases),
                         [&](const AddedBias& bias) { return bias.beside->file == file.source; });
    if (biases.empty() && std::ranges::none_of(file.cuts, &WeightCut::isWidened))
        file.pieces = piecesOf(*file.source, file.cuts);
    else
        file.pieces =
            (m_isGguf ? relaidGguf : relaidSafetensors)(*file.source, m_checkpoint->tensors(), file.cuts, biases);
    m_files.push_back(std::move(file));
}

/// Adds the index of shards. @param added all biases that the shards get
void MaskedFiles::addIndex(const std::shared_ptr<const MappedFile>& index, const std::vector<AddedBias>& added) {
    File file{index, {}, {}};
    std::size_t tensorBytes = 0;
    bool isWidened = false;
    for (const TensorEntry& tensor : m_checkpoint->tensors())
        tensorBytes += tensor.data.size();
    for (const File& shard : m_files)
        for (const WeightCut& cut : shard.cuts) {
            isWidened = isWidened || cut.isWidened;
            tensorBytes += pieceOf(cut).bytes - cut.entry->data.size();
        }
    for (const AddedBias& bias : added)
        tensorBytes += bias.values.size() * sizeof(float);
    if (added.empty() && !isWidened) {
        file.pieces.push_back(copyOf(index->bytes()));
    } else {
        const std::string text = indexWithBiases(*index, added, tensorBytes);
        const auto bytes = std::as_bytes(std::span(text));
        file.pieces.push_back(pieceOf(std::vector<std::byte>(bytes.begin(), bytes.end())));
    }
    m_files.push_back(std::move(file));
}

std::vector<std::string> MaskedFiles::names() const {
    std::vector<std::string> names;
    for (const File& file : m_files)
        names.push_back(fs::path(file.source->path()).filename().string());
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
        const std::string name = fs::path(file.source->path()).filename().string();
        const std::string target = place(name);
        writer.write(target, name, *file.source, file.pieces);
        if (!file.cuts.empty() && isZip(*file.source))
            renewChecksums(file.source, target, file.cuts);
    }
}

} // namespace secateur
