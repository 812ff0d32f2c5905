#include "widgets/document/mask_editor.h"

#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"
#include "widgets/document/mask_names.h"
#include "widgets/language/shown_texts.h"

#include <QElapsedTimer>
#include <QUndoCommand>

#include <algorithm>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

constexpr qint64 repeatMs = 1000;

std::shared_ptr<const MaskRecord> recordOf(PruningMask mask) {
    MaskRecord record;
    record.mask = std::move(mask);
    return std::make_shared<const MaskRecord>(std::move(record));
}

bool isNeuronCut(const LayerMask& layer, int neuron) {
    return !layer.block || !layer.mlp || !layer.neurons[static_cast<std::size_t>(neuron)];
}

bool isWhole(const std::vector<bool>& kept) {
    return std::ranges::find(kept, false) == kept.end();
}

/// Whether a layer's attention is already dropped, kept or bypassed like this.
bool hasAttention(const LayerMask& layer, AttentionCut attention, double alpha) {
    return layer.attention == attention && (attention != AttentionCut::keep || isWhole(layer.heads)) &&
           (attention != AttentionCut::bypassQk || layer.alpha == alpha);
}

/// Whether a layer's MLP is already dropped, or kept with all neurons.
bool hasMlp(const LayerMask& layer, bool kept) {
    return layer.mlp == kept && (!kept || isWhole(layer.neurons));
}

} // namespace

bool isHeadCut(const PruningMask& mask, HeadId head) {
    const LayerMask& layer = mask.layer(head.layer);
    return layer.attention == AttentionCut::drop || !layer.block || !layer.heads[static_cast<std::size_t>(head.head)];
}

/// An undo step: the states of the editor before and after it.
class MaskEditor::Step : public QUndoCommand {
public:
    Step(MaskEditor* editor, const QString& action, MaskState next, bool repeats)
        : QUndoCommand(action)
        , m_editor(editor)
        , m_before(editor->m_state)
        , m_after(std::move(next))
        , m_repeats(repeats) {
        m_since.start();
    }

    void undo() override { m_editor->show(m_before); }
    void redo() override { m_editor->show(m_after); }
    int id() const override { return m_repeats ? 1 : -1; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const Step*>(other);
        if (next->text() != text() || m_since.elapsed() > repeatMs)
            return false;
        m_after = next->m_after;
        m_since.restart();
        setObsolete(m_before == m_after);
        return true;
    }

private:
    MaskEditor* m_editor;
    MaskState m_before;
    MaskState m_after;
    bool m_repeats;
    QElapsedTimer m_since;
};

MaskEditor::MaskEditor(QObject* parent)
    : QObject(parent) {
    m_state.masks.push_back({tr("mask").toStdString(), recordOf({})});
}

void MaskEditor::reset(const ModelSpec& spec, MaskState state) {
    m_spec = spec;
    m_compared.clear();
    if (state.masks.empty())
        state.masks.push_back({tr("mask").toStdString(), recordOf(PruningMask(spec))});
    show(state);
    m_undo.clear();
}

void MaskEditor::show(const MaskState& state) {
    const MaskState before = std::exchange(m_state, state);
    const bool hadPreview = m_preview.has_value();
    m_preview.reset();
    if (std::ranges::find(m_state.masks, m_compared, &NamedMask::name) == m_state.masks.end())
        m_compared.clear();
    emit listChanged();
    if (before.edited().record != m_state.edited().record)
        emit maskChanged();
    if (before.isProtected != m_state.isProtected)
        emit protectionChanged();
    if (hadPreview)
        emit previewChanged();
}

void MaskEditor::commit(const QString& action, MaskState next, bool repeats) {
    if (next == m_state) {
        setPreview({});
        return;
    }
    m_undo.push(new Step(this, action, std::move(next), repeats));
}

void MaskEditor::commitMask(const QString& action, PruningMask mask, bool repeats,
                            std::optional<MaskProvenance> provenance) {
    MaskState next = m_state;
    MaskRecord record = *next.edited().record;
    if (record.mask == mask && !provenance) {
        setPreview({});
        return;
    }
    NamedMask& edited = next.masks[next.current];
    const bool hasTitle = isTitle(edited.name, record);
    record.mask = std::move(mask);
    record.provenance = std::move(provenance);
    if (hasTitle) {
        edited.name.clear();
        edited.name = next.freeName(maskTitle(record));
    }
    edited.record = std::make_shared<const MaskRecord>(std::move(record));
    commit(action, std::move(next), repeats);
}

template <typename Change>
void MaskEditor::edit(const QString& action, const std::set<int>& layers, Change change) {
    PruningMask mask = this->mask();
    for (int index : layers) {
        LayerMask layer = mask.layer(index);
        change(index, layer);
        setEdited(mask, index, std::move(layer));
    }
    commitMask(action, std::move(mask));
}

std::set<int> MaskEditor::allowed(const std::set<int>& layers, bool cut) {
    std::set<int> result = layers;
    if (!cut)
        return result;
    std::erase_if(result, [this](int layer) { return isProtected().touches(layer); });
    if (result.size() < layers.size())
        emit refused(tr("%1 left alone.").arg(countText(layers.size() - result.size(), "protected layer")));
    return result;
}

PruningMask MaskEditor::withHeads(PruningMask from, const std::set<HeadId>& heads, bool cut) const {
    std::vector<HeadId> chosen;
    std::ranges::copy_if(heads, std::back_inserter(chosen),
                         [&](HeadId head) { return !cut || !isProtected().has(head); });
    setHeads(from, chosen, !cut);
    return from;
}

void MaskEditor::setHeadsCut(const std::set<HeadId>& heads, bool cut) {
    const auto left = static_cast<std::size_t>(
        std::ranges::count_if(heads, [&](HeadId head) { return cut && isProtected().has(head); }));
    PruningMask next = withHeads(mask(), heads, cut);
    const auto changes =
        std::ranges::count_if(heads, [&](HeadId head) { return isHeadCut(mask(), head) != isHeadCut(next, head); });
    const QString count = countText(static_cast<std::size_t>(changes), "head");
    commitMask(cut ? tr("Cut %1").arg(count) : tr("Restore %1").arg(count), std::move(next));
    if (left > 0)
        emit refused(tr("%1 left alone.").arg(countText(left, "protected head")));
}

void MaskEditor::setNeuronsCut(int layer, std::span<const int> neurons, bool cut) {
    if (cut && isProtected().layers.contains(layer)) {
        emit refused(tr("Layer %1 is protected.").arg(layer));
        return;
    }
    PruningMask next = mask();
    setNeurons(next, layer, neurons, !cut); // restored within a dropped MLP, they come back alone
    const auto changes = std::ranges::count_if(neurons, [&](int neuron) {
        return isNeuronCut(mask().layer(layer), neuron) != isNeuronCut(next.layer(layer), neuron);
    });
    const QString count = countText(static_cast<std::size_t>(changes), "neuron");
    commitMask(cut ? tr("Cut %1 of layer %2").arg(count).arg(layer)
                   : tr("Restore %1 of layer %2").arg(count).arg(layer),
               std::move(next));
}

void MaskEditor::setAttention(const std::set<int>& layers, AttentionCut attention, double alpha) {
    std::set<int> chosen = allowed(layers, attention != AttentionCut::keep);
    std::erase_if(chosen, [&](int layer) {
        return m_spec.layers[static_cast<std::size_t>(layer)].heads == 0 ||
               hasAttention(mask().layer(layer), attention, alpha);
    });
    const QString count = countText(chosen.size(), "layer");
    const QString action = attention == AttentionCut::drop   ? tr("Drop the attention of %1").arg(count)
                           : attention == AttentionCut::keep ? tr("Restore the attention of %1").arg(count)
                                                             : tr("Bypass Q/K of %1").arg(count);
    edit(action, chosen, [&](int, LayerMask& layer) {
        if (attention == AttentionCut::keep)
            layer.heads.assign(layer.heads.size(), true);
        layer.attention = attention;
        layer.alpha = attention == AttentionCut::bypassQk ? alpha : 1;
    });
}

void MaskEditor::setMlpCut(const std::set<int>& layers, bool cut) {
    std::set<int> chosen = allowed(layers, cut);
    std::erase_if(chosen, [&](int layer) { return hasMlp(mask().layer(layer), !cut); });
    const QString count = countText(chosen.size(), "layer");
    edit(cut ? tr("Drop the MLP of %1").arg(count) : tr("Restore the MLP of %1").arg(count), chosen,
         [&](int, LayerMask& layer) {
             if (!cut)
                 layer.neurons.assign(layer.neurons.size(), true);
             layer.mlp = !cut;
         });
}

void MaskEditor::setBlockCut(const std::set<int>& layers, bool cut) {
    std::set<int> chosen = allowed(layers, cut);
    std::erase_if(chosen, [&](int layer) { return mask().layer(layer).block != cut; });
    const QString count = countText(chosen.size(), "layer");
    edit(cut ? tr("Drop the blocks of %1").arg(count) : tr("Restore the blocks of %1").arg(count), chosen,
         [&](int, LayerMask& layer) { layer.block = !cut; });
}

void MaskEditor::restoreLayers(const std::set<int>& layers) {
    const PruningMask whole(m_spec);
    std::set<int> chosen = layers;
    std::erase_if(chosen, [&](int layer) { return mask().layer(layer).keepsAll(); });
    edit(tr("Restore %1").arg(countText(chosen.size(), "layer")), chosen,
         [&](int index, LayerMask& layer) { layer = whole.layer(index); });
}

void MaskEditor::invertHeads() {
    std::set<int> layers;
    for (int layer = 0; layer < mask().layerCount(); ++layer)
        layers.insert(layer);
    edit(tr("Invert heads"), layers, [&](int index, LayerMask& layer) {
        const bool whole = layer.attention == AttentionCut::drop;
        if (!layer.block)
            return;
        if (whole)
            layer.attention = AttentionCut::keep;
        for (int head = 0; head < static_cast<int>(layer.heads.size()); ++head) {
            const bool cut = !whole && layer.heads[static_cast<std::size_t>(head)] && !isProtected().has({index, head});
            layer.heads[static_cast<std::size_t>(head)] = !cut;
        }
    });
}

void MaskEditor::clearMask() {
    commitMask(tr("Restore everything"), PruningMask(m_spec));
}

void MaskEditor::replaceMask(PruningMask mask, const QString& action, bool repeats,
                             std::optional<MaskProvenance> provenance) {
    mask.checkFits(m_spec);
    commitMask(action, std::move(mask), repeats, std::move(provenance));
}

void MaskEditor::setNote(const QString& note) {
    MaskState next = m_state;
    MaskRecord record = *next.edited().record;
    record.note = note.toStdString();
    next.masks[next.current].record = std::make_shared<const MaskRecord>(std::move(record));
    commit(tr("Change a note"), std::move(next), true);
}

void MaskEditor::addMask(const QString& name, MaskRecord record) {
    record.mask.checkFits(m_spec);
    MaskState next = m_state;
    next.masks.push_back({next.freeName(name.toStdString()), std::make_shared<const MaskRecord>(std::move(record))});
    next.current = next.masks.size() - 1;
    commit(tr("Add %1").arg(name), std::move(next));
}

void MaskEditor::duplicateMask() {
    MaskState next = m_state;
    NamedMask copy = next.edited();
    copy.name = next.freeName(tr("%1 copy").arg(QString::fromStdString(copy.name)).toStdString());
    next.masks.insert(next.masks.begin() + static_cast<std::ptrdiff_t>(next.current) + 1, std::move(copy));
    ++next.current;
    commit(tr("Duplicate a mask"), std::move(next));
}

void MaskEditor::renameMask(const QString& name) {
    renameMask(m_state.current, name);
}

void MaskEditor::renameMask(std::size_t index, const QString& name) {
    const std::string wanted = name.trimmed().toStdString();
    if (wanted.empty() || wanted == m_state.masks.at(index).name)
        return;
    MaskState next = m_state;
    next.masks[index].name.clear();
    next.masks[index].name = next.freeName(wanted);
    commit(tr("Rename a mask"), std::move(next));
}

void MaskEditor::removeMask() {
    MaskState next = m_state;
    next.masks.erase(next.masks.begin() + static_cast<std::ptrdiff_t>(next.current));
    if (next.masks.empty())
        next.masks.push_back({tr("mask").toStdString(), recordOf(PruningMask(m_spec))});
    next.current = std::min(next.current, next.masks.size() - 1);
    commit(tr("Remove a mask"), std::move(next));
}

void MaskEditor::setCurrent(std::size_t index) {
    MaskState next = m_state;
    next.current = std::min(index, next.masks.size() - 1);
    commit(tr("Show another mask"), std::move(next));
}

void MaskEditor::setProtected(const Protection& units, const QString& action) {
    MaskState next = m_state;
    next.isProtected = std::make_shared<const Protection>(units);
    commit(action, std::move(next));
}

void MaskEditor::setPreview(std::optional<PruningMask> preview) {
    if (preview == m_preview)
        return;
    m_preview = std::move(preview);
    emit previewChanged();
}

void MaskEditor::applyPreview(const QString& action, std::optional<MaskProvenance> provenance) {
    if (m_preview)
        commitMask(action, PruningMask(*m_preview), false, std::move(provenance));
}

void MaskEditor::compareWith(std::optional<std::size_t> index) {
    m_compared = index ? m_state.masks.at(*index).name : std::string();
    emit listChanged();
}

void MaskEditor::compareWithNew(const QString& name, MaskRecord record) {
    record.mask.checkFits(m_spec);
    MaskState next = m_state;
    next.masks.push_back({next.freeName(name.toStdString()), std::make_shared<const MaskRecord>(std::move(record))});
    commit(tr("Add %1").arg(name), std::move(next));
    compareWith(m_state.masks.size() - 1);
}

void MaskEditor::compareWithNext() {
    const auto found = std::ranges::find(m_state.masks, m_compared, &NamedMask::name);
    const bool compares = !m_compared.empty() && found != m_state.masks.end();
    std::size_t next = compares ? static_cast<std::size_t>(found - m_state.masks.begin()) + 1 : 0;
    if (next == m_state.current)
        ++next;
    compareWith(next < m_state.masks.size() ? std::optional(next) : std::nullopt);
}

void MaskEditor::swapCompared() {
    const auto found = std::ranges::find(m_state.masks, m_compared, &NamedMask::name);
    if (m_compared.empty() || found == m_state.masks.end())
        return;
    const std::size_t before = m_state.current;
    setCurrent(static_cast<std::size_t>(found - m_state.masks.begin()));
    compareWith(before);
}

const PruningMask* MaskEditor::compared() const {
    const auto found = std::ranges::find(m_state.masks, m_compared, &NamedMask::name);
    return m_compared.empty() || found == m_state.masks.end() ? nullptr : &found->record->mask;
}

} // namespace secateur
