#pragma once

#include "analysis/masks/price.h"

#include <QWidget>

class QLabel;
class QGridLayout;

namespace secateur {

class Document;

/// What the current mask cuts and saves; of the preview, while there is one.
class PriceBox : public QWidget {
    Q_OBJECT

public:
    explicit PriceBox(Document* document, QWidget* parent = nullptr);

private:
    void refresh();
    QLabel* addRow(QGridLayout* grid, const QString& name);

    Document* m_document;
    QLabel* m_cuts;
    QLabel* m_parameters;
    QLabel* m_bytes;
    QLabel* m_cache;
    QLabel* m_operations;
    QLabel* m_notes;
};

/// "34 heads · 2 attentions · 1 block"; empty when nothing is cut.
QString cutSummary(const Price& price);

} // namespace secateur
