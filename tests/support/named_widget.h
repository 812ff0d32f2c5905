#pragma once

#include <QString>
#include <QWidget>

namespace secateur::test {

/// The first widget in `parent` with an accessible name. Ends the program if there is none.
template <typename Widget>
Widget* named(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

} // namespace secateur::test
