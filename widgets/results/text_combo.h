#pragma once

#include <QComboBox>
#include <QString>

namespace secateur {

/// Chooses a text to run a model on: the built-in one, one of the last chosen, or a file.
class TextCombo : public QComboBox {
    Q_OBJECT

public:
    explicit TextCombo(QWidget* parent = nullptr);

    /// Empty = the built-in text.
    QString path() const { return m_path; }
    void setPath(const QString& path);

signals:
    /// A person chose another text.
    void chosen();

private:
    void refill();
    void take(int index);
    void chooseFile();

    QString m_path;
};

} // namespace secateur
