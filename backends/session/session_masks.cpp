#include "backends/session/session_masks.h"

#include "analysis/base/error.h"
#include "backends/session/hdf5_lists.h"
#include "backends/session/mask_digest.h"
#include "backends/session/mask_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr std::uint8_t noCell = 255;
/// Of a mask for any model there is, many times over; a mask has a bit for each.
constexpr std::int64_t mostCells = std::int64_t{1} << 28;

std::size_t widest(const PruningMask& mask, std::vector<bool> LayerMask::*marks) {
    std::size_t most = 0;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        most = std::max(most, (mask.layer(layer).*marks).size());
    return most;
}

/// [layers, widest]
void writeCells(const Handle& group, const char* name, const PruningMask& mask, std::vector<bool> LayerMask::*marks) {
    const std::size_t columns = widest(mask, marks);
    const auto layers = static_cast<std::size_t>(mask.layerCount());
    std::vector<std::uint8_t> cells(layers * columns, noCell);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::vector<bool>& kept = mask.layer(static_cast<int>(layer)).*marks;
        std::copy(kept.begin(), kept.end(), cells.begin() + static_cast<std::ptrdiff_t>(layer * columns));
    }
    hdf5::writeMarks(group, name, cells, layers, false, "1 = kept, 0 = cut, 255 = the layer has no such cell");
}

std::uint8_t cutCode(AttentionCut cut) {
    return cut == AttentionCut::keep ? 1 : cut == AttentionCut::drop ? 0 : 2;
}

void writeArrays(const Handle& group, const PruningMask& mask) {
    std::vector<std::uint8_t> attention;
    std::vector<std::uint8_t> mlp;
    std::vector<std::uint8_t> block;
    std::vector<double> alpha;
    bool cutsNeurons = false;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        attention.push_back(cutCode(layer.attention));
        mlp.push_back(layer.mlp ? 1 : 0);
        block.push_back(layer.block ? 1 : 0);
        alpha.push_back(layer.alpha);
        cutsNeurons = cutsNeurons || std::ranges::find(layer.neurons, false) != layer.neurons.end();
    }
    writeCells(group, "heads", mask, &LayerMask::heads);
    if (cutsNeurons)
        writeCells(group, "neurons", mask, &LayerMask::neurons);
    hdf5::writeMarks(group, "attention", attention, attention.size(), true, "1 = kept, 0 = dropped, 2 = bypass_qk");
    hdf5::writeMarks(group, "mlp", mlp, mlp.size(), true, "1 = kept, 0 = dropped");
    hdf5::writeMarks(group, "block", block, block.size(), true, "1 = kept, 0 = dropped");
    hdf5::writeNumberList(group, "alpha", alpha);
}

SessionMask readStoredMask(const Handle& group, const ModelSpec& spec) {
    SessionMask mask;
    mask.name = hdf5::readText(group, "name");
    mask.record = parseMask(hdf5::readText(group, "mask"), "mask", spec, {}).record;
    mask.digest = maskDigest(mask.record.mask);
    if (hdf5::readText(group, "digest") != mask.digest)
        throw Error("is not that of the mask", "digest");
    return mask;
}

void checkSize(const ModelSpec& spec) {
    std::int64_t cells = 0;
    for (const LayerSpec& layer : spec.layers)
        cells += std::int64_t{layer.heads} + layer.ffn;
    if (cells > mostCells)
        throw Error(fmt::format("are of a model of {} heads and neurons, more than any has", cells), "/masks");
}

} // namespace

std::vector<SessionMask> readMasks(const Handle& file, const ModelSpec& spec) {
    std::vector<SessionMask> masks;
    if (!hdf5::exists(file, "masks"))
        return masks;
    const Handle all = hdf5::openGroup(file, "masks");
    for (const std::string& number : hdf5::numbered(all)) {
        checkSize(spec);
        try {
            SessionMask mask = readStoredMask(hdf5::openGroup(all, number), spec);
            if (std::ranges::find(masks, mask.name, &SessionMask::name) != masks.end())
                throw Error(fmt::format("\"{}\" is another mask's too", mask.name), "name");
            masks.push_back(std::move(mask));
        } catch (const Error& error) {
            throw error.within("/masks/" + number);
        }
    }
    return masks;
}

void writeMasks(const Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held) {
    const Handle all = hdf5::group(file, "masks");
    const std::vector<std::string> numbers = hdf5::numbered(all);
    for (std::size_t i = 0; i < masks.size(); ++i) {
        if (i < held.size() && masks[i].record == held[i].record)
            continue;
        const Handle group = hdf5::group(all, i < held.size() ? numbers[i] : hdf5::nextNumber(all));
        hdf5::writeText(group, "name", masks[i].name);
        hdf5::writeText(group, "digest", masks[i].digest);
        hdf5::writeText(group, "mask", maskJson(masks[i].record));
        writeArrays(group, masks[i].record.mask);
    }
}

} // namespace secateur
