#pragma once

#include "widgets/help/manual.h"

#include <QDialog>
#include <QList>
#include <QString>

class QLineEdit;
class QTextBrowser;
class QTreeWidget;
class QUrl;

namespace secateur {

/// The manual beside the program: contents or search results on the left, a page on the right.
class ManualWindow : public QDialog {
    Q_OBJECT

public:
    explicit ManualWindow(QWidget* parent);

    /// Shows a page and, unless the anchor is empty or unknown, the section of that anchor.
    void showPage(const QString& name, const QString& anchor = {});
    /// Searches all pages, as if the words had been typed.
    void search(const QString& words);

protected:
    void changeEvent(QEvent* event) override;

private:
    void listContents();
    void listMatches(const QString& words);
    void openRow();
    void openLink(const QUrl& link);
    void setPage(qsizetype page);
    void scrollTo(qsizetype section);
    void markWords();

    QList<ManualPage> m_pages;
    qsizetype m_page = -1;
    QLineEdit* m_search;
    QTreeWidget* m_list;
    QTextBrowser* m_text;
};

} // namespace secateur
