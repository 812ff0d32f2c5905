#pragma once

#include <QEvent>
#include <QLabel>
#include <QObject>

namespace secateur {

/// Installed on the application: labels and message boxes show their text as it is, since names from files may look
/// like HTML. Labels that are meant to be rich text state it by setTextFormat(). Tooltips are left alone.
class PlainLabels : public QObject {
public:
    using QObject::QObject;

    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::Polish)
            return false;
        auto* label = qobject_cast<QLabel*>(watched);
        const bool isToolTip = label && label->windowFlags().testFlag(Qt::ToolTip);
        if (label && !isToolTip && label->textFormat() == Qt::AutoText)
            label->setTextFormat(Qt::PlainText);
        return false;
    }
};

} // namespace secateur
