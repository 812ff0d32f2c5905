#pragma once

#include <QStyledItemDelegate>

namespace secateur {

/// Hatches the rows of neurons that are cut, lightly those that a preview would cut or restore.
class NeuronDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const override;
};

} // namespace secateur
