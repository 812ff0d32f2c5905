#pragma once

#include <QWidget>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace secateur {

class Document;

/// Which forms of checkpoint the current mask can leave in, and why not; the nearest mask that more of them take.
class ExportBox : public QWidget {
    Q_OBJECT

public:
    explicit ExportBox(Document* document, QWidget* parent = nullptr);

signals:
    void exportWanted();

private:
    void refresh();
    void offerLegalMask();
    void takeLegalMask();

    Document* m_document;
    QVBoxLayout* m_targets;
    QLabel* m_legal;
    QPushButton* m_takeLegal;
    QPushButton* m_export;
};

} // namespace secateur
