#include "widgets/window/detail_delegate.h"

#include <QApplication>
#include <QPainter>

#include <utility>

namespace secateur {

void DetailDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const QString text = std::exchange(item.text, {});
    const QStyle* style = item.widget ? item.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);

    const int character = item.fontMetrics.averageCharWidth();
    const QRect room = item.rect.adjusted(character, 0, -character, 0);
    const QString detail = index.data(detailRole).toString();
    const int taken = detail.isEmpty() ? 0 : item.fontMetrics.horizontalAdvance(detail) + 2 * character;
    painter->setFont(item.font);
    painter->setPen(item.palette.color(QPalette::Text));
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                      item.fontMetrics.elidedText(text, Qt::ElideMiddle, room.width() - taken));
    painter->setPen(item.palette.color(QPalette::PlaceholderText));
    painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, detail);
}

QSize DetailDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    return {QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() * 3 / 2};
}

} // namespace secateur
