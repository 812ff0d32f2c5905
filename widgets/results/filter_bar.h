#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QStringListModel;

namespace secateur {

class Document;
class HeadFilter;

/// Where a person writes which heads are looked at. Hidden, nothing is left out.
class FilterBar : public QWidget {
    Q_OBJECT

public:
    FilterBar(const Document* document, HeadFilter* filter, QWidget* parent = nullptr);

    /// Shows itself and takes the keyboard.
    void open();
    /// Hides itself and lets every head pass.
    void clear();
    QLineEdit* input() const { return m_input; }

signals:
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void listWords();
    void insert(const QString& word);
    void tell();

    const Document* m_document;
    HeadFilter* m_filter;
    QLineEdit* m_input;
    QLabel* m_count;
    QLabel* m_error;
    QStringListModel* m_words;
};

} // namespace secateur
