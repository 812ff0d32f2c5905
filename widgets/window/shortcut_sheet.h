#pragma once

#include <QDialog>
#include <QList>

class QAction;

namespace secateur {

/// All keys on one sheet: those of the actions, and those of mouse and keyboard in the views.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    /// @param actions those with a shortcut are listed
    ShortcutSheet(const QList<QAction*>& actions, QWidget* parent);
};

} // namespace secateur
