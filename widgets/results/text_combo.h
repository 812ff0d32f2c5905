#pragma once

#include <QComboBox>
#include <QString>

namespace secateur {

/// A combo box to choose a text to run a model on: the built-in text, a recent one, or a file.
class TextCombo : public QComboBox {
    Q_OBJECT

public:
    explicit TextCombo(QWidget* parent = nullptr);

    /// The path of the chosen text; empty = the built-in text.
    QString path() const { return m_path; }
    void setPath(const QString& path);

signals:
    /// The user chose another text.
    void chosen();

private:
    void refill();
    void take(int index);
    void chooseFile();

    QString m_path;
};

} // namespace secateur
