#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_card.h"
#include "backends/export/export_files.h"
#include "backends/export/weight_cuts.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// The weight files of a checkpoint with cut weights set to 0, and with the compensation of the mask and the adapter.
class MaskedFiles : public ExportFiles {
public:
    /// Plans which bytes of the files change, without writing. The source must outlive this object.
    /// @param exported spec of the exported model
    /// @throws Error as weightCuts() does, if the checkpoint cannot be opened, and if its format cannot hold the
    /// compensation's numbers
    MaskedFiles(const Model& source, const ModelSpec& exported, const PruningMask& mask);

    /// Names of the source's files, including the index of shards.
    std::vector<std::string> names() const override;
    bool isGguf() const { return m_isGguf; }
    bool isOneGguf() const { return m_isGguf && m_files.size() == 1; }
    std::int64_t bytes() const override;
    bool isRounded() const { return m_isRounded; } ///< whether weights are quantised again
    const std::vector<std::string>& warnings() const { return m_warnings; }

    void write(const std::function<std::string(const std::string& name)>& place,
               const Progress& progress) const override;

private:
    struct File {
        std::shared_ptr<const MappedFile> source;
        std::vector<WeightCut> cuts;
        std::vector<FilePiece> pieces;
    };
    std::vector<std::shared_ptr<const MappedFile>> sources(const ModelCard& card) const;
    void addFile(const std::shared_ptr<const MappedFile>& source, const std::vector<WeightCut>& cuts,
                 const std::vector<AddedBias>& added);
    void addIndex(const std::shared_ptr<const MappedFile>& index, const std::vector<AddedBias>& added);
    void checkTypes(const std::vector<WeightCut>& cuts) const;
    void checkParts(const std::vector<AddedBias>& added) const;
    void warnOfWidened(const std::vector<WeightCut>& cuts);

    std::string m_format;
    bool m_isGguf;
    std::unique_ptr<const Checkpoint> m_checkpoint;
    CheckpointDescription m_description;
    TensorSlots m_slots;
    ChangedWeights m_changed;
    bool m_isRounded = false;
    std::vector<File> m_files;
    std::vector<std::string> m_warnings;
};

} // namespace secateur
