#pragma once

#include <QMenu>
#include <QWidget>

#include <utility>

class QLabel;
class QLineEdit;
class QStringListModel;
class QButtonGroup;

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

class Comparison;

/// Names of A and B while two measurements are compared, and which of them the views show. Otherwise hidden.
class CompareBar : public QWidget {
    Q_OBJECT

public:
    explicit CompareBar(Comparison* comparison, QWidget* parent = nullptr);

private:
    void refresh();

    Comparison* m_comparison;
    QLabel* m_names;
    QButtonGroup* m_shown;
};

/// The menu that chooses the measurements to compare, and which of them is shown.
class CompareMenu : public QMenu {
    Q_OBJECT

public:
    CompareMenu(Document* document, QWidget* parent);

private:
    void addShown();
    void listChoices();
    void update();
    void choose(bool folder);

    Document* m_document;
    Comparison* m_comparison;
    QMenu* m_with;
    QList<std::pair<QAction*, int>> m_shown;
    QAction* m_close;
};

} // namespace secateur
