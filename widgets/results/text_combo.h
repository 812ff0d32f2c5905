#pragma once

#include <QComboBox>
#include <QString>

namespace secateur {

/// A combo box to choose the text that a model runs on: the built-in text, a recent text or a file.
class TextCombo : public QComboBox {
    Q_OBJECT

public:
    /// @param unnamed title of the entry for an empty path; empty = "built-in text"
    explicit TextCombo(QWidget* parent = nullptr, const QString& unnamed = {});

    /// The path of the chosen text; empty = the built-in text, or what `unnamed` says.
    QString path() const { return m_path; }
    void setPath(const QString& path);

signals:
    /// Emitted when the user chose another text.
    void chosen();

private:
    void refill();
    void take(int index);
    void chooseFile();

    QString m_unnamed;
    QString m_path;
};

} // namespace secateur
