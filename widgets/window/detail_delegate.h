#pragma once

#include <QStyledItemDelegate>

namespace secateur {

/// An item's text at the left, cut short where it must be, and a detail in a quiet colour at the right.
class DetailDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    static constexpr int detailRole = Qt::UserRole;

    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace secateur
