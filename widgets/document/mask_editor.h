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

/// Whether a mask leaves a head out, by itself or with its sublayer or block.
bool isHeadCut(const PruningMask& mask, HeadId head);

/// The masks that a person works on, of which one is edited and shown in every view. Each action is one step of undo;
/// quick repeats of one action are one. What is protected is left alone, and said so. Lives on the GUI thread.
class MaskEditor : public QObject {
    Q_OBJECT

public:
    explicit MaskEditor(QObject* parent = nullptr);

    /// Begins anew, without steps to undo. @param masks those of a session, fitting the model; may be none
    void reset(const ModelSpec& spec, std::vector<NamedMask> masks = {});

    const ModelSpec& spec() const { return m_spec; }
    const MaskState& state() const { return m_state; }
    const PruningMask& mask() const { return m_state.mask(); }
    const Protection& isProtected() const { return *m_state.isProtected; }
    QUndoStack* undoStack() { return &m_undo; }
    /// Whether the current mask leaves a head out, by itself or with its sublayer or block.
    bool isCut(HeadId head) const { return isHeadCut(mask(), head); }
    /// A mask with heads cut or restored and what is protected left alone: what setHeadsCut() makes of the current one.
    PruningMask withHeads(PruningMask from, const std::set<HeadId>& heads, bool cut) const;

    // The current mask; each call is one action. What is protected is not cut (refused() says how much was left).
    void setHeadsCut(const std::set<HeadId>& heads, bool cut);
    void setNeuronsCut(int layer, std::span<const int> neurons, bool cut);
    /// @param alpha of bypassQk
    void setAttention(const std::set<int>& layers, AttentionCut attention, double alpha = 1);
    void setMlpCut(const std::set<int>& layers, bool cut);
    void setBlockCut(const std::set<int>& layers, bool cut);
    /// With their heads, neurons, sublayers and blocks.
    void restoreLayers(const std::set<int>& layers);
    void invertHeads();
    void clearMask();
    /// Takes over a mask that a threshold, a strategy or an evaluation gave.
    /// @param repeats actions with the same text that follow within a second are one step
    void replaceMask(PruningMask mask, const QString& action, bool repeats = false,
                     std::optional<MaskProvenance> provenance = {});
    void setNote(const QString& note);

    // The list of masks; each call is one action.
    void addMask(const QString& name, MaskRecord record); ///< and edits it; @throws Error when it does not fit
    void duplicateMask();
    void renameMask(const QString& name);
    void removeMask(); ///< the current one; the last becomes an empty one
    void setCurrent(std::size_t index);

    void setProtected(const Protection& units, const QString& action);

    /// What a threshold would cut, drawn lightly until it is applied; not undone, gone with the next action.
    void setPreview(std::optional<PruningMask> preview);
    const std::optional<PruningMask>& preview() const { return m_preview; }
    /// Makes the preview the current mask.
    void applyPreview(const QString& action, std::optional<MaskProvenance> provenance = {});

    /// Another mask of the list to compare the current one with; empty = none. Not undone.
    void compareWith(std::optional<std::size_t> index);
    /// With the next of the others, behind the last with none.
    void compareWithNext();
    /// Edits the mask that is compared, and compares it with the one edited before.
    void swapCompared();
    /// Null when nothing is compared.
    const PruningMask* compared() const;
    const std::string& comparedName() const { return m_compared; }

signals:
    /// The current mask is another now, or has other cuts.
    void maskChanged();
    /// Names, notes, number, which one is current, or what it is compared with.
    void listChanged();
    void previewChanged();
    void protectionChanged();
    /// Something was not cut. @param message the sentence for the person
    void refused(const QString& message);

private:
    class Step;

    void commit(const QString& action, MaskState next, bool repeats = false);
    void commitMask(const QString& action, PruningMask mask, bool repeats = false,
                    std::optional<MaskProvenance> provenance = {});
    /// Changes the current mask layer by layer.
    template <typename Change>
    void edit(const QString& action, const std::set<int>& layers, Change change);
    /// The layers that may be cut as a whole; says so of the others.
    std::set<int> allowed(const std::set<int>& layers, bool cut);
    void show(const MaskState& state);

    ModelSpec m_spec;
    MaskState m_state;
    QUndoStack m_undo;
    std::optional<PruningMask> m_preview;
    std::string m_compared; ///< name; empty = none
};

} // namespace secateur
