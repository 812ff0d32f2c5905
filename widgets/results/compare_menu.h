#pragma once

#include <QMenu>

#include <utility>

namespace secateur {

class Comparison;
class Document;

/// What is compared with what, and which of both is shown.
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
