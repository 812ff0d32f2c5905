#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace secateur {

class Document;

/// What can be said of the open model without touching its weights.
class ModelCardPanel : public QWidget {
    Q_OBJECT

public:
    explicit ModelCardPanel(Document* document, QWidget* parent = nullptr);

signals:
    void locateModelWanted();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();
    void keepRoom();

    Document* m_document;
    QLabel* m_name;
    QLabel* m_facts;
    QLabel* m_warnings;
    QPushButton* m_locate;
};

} // namespace secateur
