#pragma once

#include <QWidget>

class QComboBox;
class QSpinBox;

namespace secateur {

class Document;
class TextCombo;

/// What metrics that run the model are measured on: a text, how much of it, and the whole model or what a mask leaves.
class MeasuringBox : public QWidget {
    Q_OBJECT

public:
    explicit MeasuringBox(Document* document, QWidget* parent = nullptr);

private:
    void showChoice();
    void choose();

    Document* m_document;
    TextCombo* m_text;
    QSpinBox* m_tokens;
    QComboBox* m_mask;
};

} // namespace secateur
