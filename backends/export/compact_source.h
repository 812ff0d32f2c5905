#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_card.h"
#include "backends/export/compact_tensors.h"
#include "backends/export/exported_weights.h"
#include "backends/formats/gguf.h"
#include "backends/formats/quants.h"
#include "backends/formats/tensor_slots.h"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The files from which an export reads.
class CompactSource {
public:
    /// @throws Error if the checkpoint cannot be opened
    explicit CompactSource(const ModelCard& card);
    /// The files of a model, and its weights that differ from them under a mask. The model must outlive it.
    /// @throws Error if the checkpoint cannot be opened
    CompactSource(const Model& model, const PruningMask& mask);

    const Checkpoint& checkpoint() const { return *m_checkpoint; }
    const CheckpointDescription& description() const { return m_description; }
    const TensorSlots& slots() const { return m_slots; }
    const ChangedWeights& changed() const { return m_changed.value(); } ///< of a model under a mask only
    /// The metadata of a GGUF source. @throws std::bad_optional_access for other sources
    const GgufMetadata& ggufMetadata() const { return m_firstPart.value().metadata; }
    /// The pattern by which the source names a weight, or by which its architecture would; null if it has none.
    const TensorPattern* ownPattern(WeightName weight) const;
    std::string_view prefix() const { return m_names.prefix(); } ///< of the source's tensor names

private:
    std::unique_ptr<const Checkpoint> m_checkpoint;
    CheckpointDescription m_description;
    TensorSlots m_slots;
    std::optional<ChangedWeights> m_changed;
    TensorFinder m_names;
    std::optional<GgufPart> m_firstPart; ///< of a GGUF source
};

/// The size in bytes of the files of a checkpoint that contain tensors. @throws Error if it cannot be opened
std::int64_t weightFileBytes(const ModelCard& card);

/// Largest allowed difference of a layer's update of the residual stream, relative to the largest number of the update,
/// in an export whose numbers were rounded to a smaller type. It only finds weights that are in the wrong place.
inline constexpr double roundedTolerance = 0.3;

/// Types of a format that an export can write, and those of another format that they replace.
struct WritableTypes {
    /// The type of the format with a name; null if there is none.
    const StorageType* (*named)(std::string_view name);
    bool hasFloatVectors; ///< whether vectors are always float32 (GGUF)
};
const WritableTypes& ggufTypes();
const WritableTypes& safetensorsTypes();
/// The names of these types, largest first.
std::vector<std::string_view> namesOf(const WritableTypes& format);

/// Chooses the types of exported tensors.
class WrittenTypes {
public:
    /// @param wanted the type of all matrices; empty = the type of the source
    /// @throws UsageError if it is unknown or cannot be written
    WrittenTypes(const WritableTypes& format, const std::string& wanted);

    /// The arguments are those of TensorConventions::type.
    const StorageType& choose(const std::vector<std::int64_t>& shape, const TensorEntry* source, NumbersFrom from,
                              std::int64_t width);
    std::string wanted() const { return m_wanted ? std::string(m_wanted->name) : std::string(); }
    /// "Q8_0 for matrices", "as in the source"
    std::string sentence() const;
    bool isLossy() const { return m_isLossy; } ///< whether a matrix was given a smaller type than its own
    std::vector<std::string> warnings() const;

private:
    const StorageType& forMatrix(const TensorEntry* source, NumbersFrom from, std::int64_t width);
    const StorageType& forMerged(const TensorEntry& source, const StorageType* own, std::int64_t width);

    const WritableTypes& m_format;
    const StorageType* m_wanted = nullptr;
    bool m_isLossy = false;
    std::vector<std::string> m_widened; ///< quantised tensors that are written as float32, because blocks are cut
    std::vector<std::string> m_unknown; ///< tensors of types that the format does not have
    std::vector<std::string> m_merged;  ///< tensors with an adapter that are written as float32 instead of their type
    std::set<std::string> m_tooNarrow;  ///< tensors whose rows are no whole blocks of the wanted type
};

} // namespace secateur
