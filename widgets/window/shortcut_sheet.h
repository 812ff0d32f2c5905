#pragma once

#include <QDialog>
#include <QList>

class QAction;

namespace secateur {

/// Lists all shortcuts: first those of actions, then mouse and keyboard actions in each view.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    /// @param actions actions to list; those without a shortcut are left out
    ShortcutSheet(const QList<QAction*>& actions, QWidget* parent);
};

} // namespace secateur
