#include "widgets/neurons/neuron_delegate.h"

#include "widgets/layers/layer_marks.h"
#include "widgets/neurons/neuron_table.h"

#include <QPainter>

namespace secateur {

void NeuronDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const {
    const auto state = static_cast<NeuronState>(cell.data(NeuronTable::stateRole).toInt());
    if (state != NeuronState::kept && option.widget) {
        PlotTheme theme = themeOf(*option.widget);
        theme.text = mixed(theme.background, theme.text, 0.45); // the number stands on it
        const Cut cut = state == NeuronState::cut ? Cut::real : Cut::preview;
        painter->fillRect(option.rect, slantBrush(Slant::down, cut, 7, theme, painter->device()->devicePixelRatioF()));
    }
    QStyledItemDelegate::paint(painter, option, cell);
}

} // namespace secateur
