#pragma once

#include <QPlainTextEdit>

namespace secateur {

/// What happened, line by line, to read and to copy.
class LogPanel : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit LogPanel(QWidget* parent = nullptr);

    /// @param level "info", "warning", "error"
    void add(const QString& level, const QString& text);
};

} // namespace secateur
