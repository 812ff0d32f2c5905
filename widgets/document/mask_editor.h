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

/// Whether a mask cuts a head, by itself or with its sublayer or block.
bool isHeadCut(const PruningMask& mask, HeadId head);

/// The list of masks; the current one is edited and shown in every view. Each action is one step of undo; quick repeats
/// of one action are merged. Protected units are not cut (see refused()). Lives on the GUI thread.
class MaskEditor : public QObject {
    Q_OBJECT

public:
    explicit MaskEditor(QObject* parent = nullptr);

    /// Starts over, without steps to undo. @param masks those of a session, fitting the model; may be empty
    void reset(const ModelSpec& spec, std::vector<NamedMask> masks = {});

    const ModelSpec& spec() const { return m_spec; }
    const MaskState& state() const { return m_state; }
    const PruningMask& mask() const { return m_state.mask(); }
    const Protection& isProtected() const { return *m_state.isProtected; }
    QUndoStack* undoStack() { return &m_undo; }
    /// Whether the current mask cuts a head, by itself or with its sublayer or block.
    bool isCut(HeadId head) const { return isHeadCut(mask(), head); }
    /// A mask with heads cut or restored, except protected ones; setHeadsCut() applies it to the current mask.
    PruningMask withHeads(PruningMask from, const std::set<HeadId>& heads, bool cut) const;

    // The current mask; each call is one action. Protected units are not cut; refused() counts them.
    void setHeadsCut(const std::set<HeadId>& heads, bool cut);
    void setNeuronsCut(int layer, std::span<const int> neurons, bool cut);
    /// @param alpha of bypassQk
    void setAttention(const std::set<int>& layers, AttentionCut attention, double alpha = 1);
    void setMlpCut(const std::set<int>& layers, bool cut);
    void setBlockCut(const std::set<int>& layers, bool cut);
    /// Restores their heads, neurons, sublayers and blocks.
    void restoreLayers(const std::set<int>& layers);
    void invertHeads();
    void clearMask();
    /// Takes a mask from a threshold, a strategy or an evaluation.
    /// @param repeats merges actions with the same text within a second into one step
    void replaceMask(PruningMask mask, const QString& action, bool repeats = false,
                     std::optional<MaskProvenance> provenance = {});
    void setNote(const QString& note);

    // The list of masks; each call is one action.
    void addMask(const QString& name, MaskRecord record); ///< as the current one; @throws Error when it does not fit
    void duplicateMask();
    void renameMask(const QString& name);
    void removeMask(); ///< the current one; the list never gets empty
    void setCurrent(std::size_t index);

    void setProtected(const Protection& units, const QString& action);

    /// What a threshold would cut, drawn faintly until it is applied; ends with the next action, without undo.
    void setPreview(std::optional<PruningMask> preview);
    const std::optional<PruningMask>& preview() const { return m_preview; }
    /// Makes the preview the current mask.
    void applyPreview(const QString& action, std::optional<MaskProvenance> provenance = {});

    /// The mask of the list that the current one is compared with; empty = none. Without undo.
    void compareWith(std::optional<std::size_t> index);
    /// Compares with the next mask of the list; after the last, with none.
    void compareWithNext();
    /// Exchanges the current and the compared mask.
    void swapCompared();
    /// Null = no comparison.
    const PruningMask* compared() const;
    const std::string& comparedName() const { return m_compared; }

signals:
    /// Another mask is current, or its cuts changed.
    void maskChanged();
    /// The list changed: names, notes, number, the current or the compared mask.
    void listChanged();
    void previewChanged();
    void protectionChanged();
    /// Protected units were not cut. @param message the sentence for the user
    void refused(const QString& message);

private:
    class Step;

    void commit(const QString& action, MaskState next, bool repeats = false);
    void commitMask(const QString& action, PruningMask mask, bool repeats = false,
                    std::optional<MaskProvenance> provenance = {});
    /// Changes the current mask layer by layer.
    template <typename Change>
    void edit(const QString& action, const std::set<int>& layers, Change change);
    /// The layers that may be cut as a whole; refused() counts the others.
    std::set<int> allowed(const std::set<int>& layers, bool cut);
    void show(const MaskState& state);

    ModelSpec m_spec;
    MaskState m_state;
    QUndoStack m_undo;
    std::optional<PruningMask> m_preview;
    std::string m_compared; ///< name; empty = none
};

} // namespace secateur
