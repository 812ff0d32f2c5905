#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/protection.h"
#include "analysis/model/model_spec.h"

#include <QObject>
#include <QUndoStack>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// Whether a mask cuts a head: the head itself, its attention sublayer or its block.
bool isHeadCut(const PruningMask& mask, HeadId head);

/// The list of masks; the current one is edited and shown in all views. A mask without a name of the user's has a title
/// that follows its cuts (mask_names.h). Each action is one undo step; quick repeats of
/// an action are merged. Protected units are not cut (see refused()). Lives on the GUI thread.
class MaskEditor : public QObject {
    Q_OBJECT

public:
    explicit MaskEditor(QObject* parent = nullptr);

    /// Replaces all masks and the protection, and removes all undo steps.
    /// @param state of a session, which fits the model; without masks = one that keeps all
    void reset(const ModelSpec& spec, MaskState state = {});

    const ModelSpec& spec() const { return m_spec; }
    const MaskState& state() const { return m_state; }
    const PruningMask& mask() const { return m_state.mask(); }
    const Protection& isProtected() const { return *m_state.isProtected; }
    QUndoStack* undoStack() { return &m_undo; }
    /// Whether the current mask cuts a head: the head itself, its attention sublayer or its block.
    bool isCut(HeadId head) const { return isHeadCut(mask(), head); }
    /// A copy of a mask in which heads are cut or restored. Like setHeadsCut(), it does not cut protected heads.
    PruningMask withHeads(PruningMask from, const std::set<HeadId>& heads, bool cut) const;

    // Edits of the current mask. Each call is one action. Protected units are not cut; refused() reports their number.
    void setHeadsCut(const std::set<HeadId>& heads, bool cut);
    void setNeuronsCut(int layer, std::span<const int> neurons, bool cut);
    /// @param alpha factor of the sublayer's output if `attention` is bypassQk
    void setAttention(const std::set<int>& layers, AttentionCut attention, double alpha = 1);
    void setMlpCut(const std::set<int>& layers, bool cut);
    void setBlockCut(const std::set<int>& layers, bool cut);
    /// Restores the heads, neurons, sublayers and blocks of these layers.
    void restoreLayers(const std::set<int>& layers);
    void invertHeads();
    void clearMask();
    /// Replaces the current mask by one that was made outside the editor (by a threshold, a strategy or an evaluation).
    /// @param repeats whether actions with the same text within a second are merged into one undo step
    void replaceMask(PruningMask mask, const QString& action, bool repeats = false,
                     std::optional<MaskProvenance> provenance = {});
    void setNote(const QString& note);

    // makes it current @throws Error if it does not fit
    void addMask(const QString& name, MaskRecord record); ///< makes it current @throws Error if it does not fit
    void duplicateMask();
    void renameMask(const QString& name);
    void renameMask(std::size_t index, const QString& name);
    void removeMask(); ///< removes the current mask, unless it is the only one
    void setCurrent(std::size_t index);

    void setProtected(const Protection& units, const QString& action);

    /// Sets a mask as the preview, whose cuts all views draw faintly. The next action removes it. It is not an undo
    /// step.
    void setPreview(std::optional<PruningMask> preview);
    const std::optional<PruningMask>& preview() const { return m_preview; }
    /// Makes the preview the current mask.
    void applyPreview(const QString& action, std::optional<MaskProvenance> provenance = {});

    /// Compares the current mask with another mask of the list; empty = no comparison. This is not an undo step.
    void compareWith(std::optional<std::size_t> index);
    /// Adds a mask to the list, and compares the current one with it, in one step. @throws Error if it does not fit
    void compareWithNew(const QString& name, MaskRecord record);
    /// Compares with the next mask of the list; after the last, with none.
    void compareWithNext();
    /// Exchanges the current and the compared mask.
    void swapCompared();
    /// The mask that the current mask is compared with; null = none.
    const PruningMask* compared() const;
    const std::string& comparedName() const { return m_compared; }

signals:
    /// Emitted when another mask became current, or the current mask's cuts changed.
    void maskChanged();
    /// Emitted when the list changed: a mask's name or note, the number of masks, the current or the compared mask.
    void listChanged();
    void previewChanged();
    void protectionChanged();
    /// Emitted when protected units were not cut. @param message sentence for the user
    void refused(const QString& message);

private:
    class Step;

    void commit(const QString& action, MaskState next, bool repeats = false);
    void commitMask(const QString& action, PruningMask mask, bool repeats = false,
                    std::optional<MaskProvenance> provenance = {});
    /// Changes the current mask layer by layer.
    template <typename Change>
    void edit(const QString& action, const std::set<int>& layers, Change change);
    /// The layers whose sublayers or block may be cut; refused() reports how many others there are.
    std::set<int> allowed(const std::set<int>& layers, bool cut);
    void show(const MaskState& state);

    ModelSpec m_spec;
    MaskState m_state;
    QUndoStack m_undo;
    std::optional<PruningMask> m_preview;
    std::string m_compared; ///< name of the compared mask; empty = none
};

} // namespace secateur
