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

/// The bar with the field for conditions on heads. While the bar is hidden, all heads pass.
class FilterBar : public QWidget {
    Q_OBJECT

public:
    FilterBar(const Document* document, HeadFilter* filter, QWidget* parent = nullptr);

    /// Shows the bar and moves the focus to its field.
    void open();
    /// Hides the bar. All heads pass then.
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

/// A bar with the names of the compared measurements A and B and the choice of what the views show. Hidden while
/// nothing is compared.
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

/// The menu to choose which measurements are compared and which of them the views show.
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
