#pragma once

#include <QMenu>
#include <QWidget>

#include <utility>

class QButtonGroup;
class QLabel;

namespace secateur {

class Comparison;
class Document;

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
