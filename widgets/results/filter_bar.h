#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QStringListModel;

namespace secateur {

class Document;
class HeadFilter;

/// The field for conditions on heads. While it is hidden, every head passes.
class FilterBar : public QWidget {
    Q_OBJECT

public:
    FilterBar(const Document* document, HeadFilter* filter, QWidget* parent = nullptr);

    /// Shows itself and takes the focus.
    void open();
    /// Hides itself and lets every head pass.
    void clear();
    QLineEdit* input() const { return m_input; }

signals:
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void describe();
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
