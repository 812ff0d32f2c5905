#pragma once

#include <QDialog>
#include <QList>

class QAction;

namespace secateur {

/// Lists all shortcuts: those of actions, then mouse and keyboard in each view.
class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    /// @param actions of which those with a shortcut are listed
    ShortcutSheet(const QList<QAction*>& actions, QWidget* parent);
};

} // namespace secateur
