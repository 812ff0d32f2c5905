#pragma once

#include <QTreeWidget>

namespace secateur {

class Document;
class ExportSizes;
struct ExportTarget;

/// The export targets as rows, below a row for the open model: whether they can hold the mask, which programs open
/// them, the type of the matrices, and the size of the export. Tooltips have the exact numbers.
class ExportTable : public QTreeWidget {
    Q_OBJECT

public:
    ExportTable(Document* document, ExportSizes* sizes, QWidget* parent = nullptr);

    /// The target of the current row; null = none.
    const ExportTarget* current() const;
    void setCurrent(const ExportTarget* target);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    /// Another row became current.
    void chosen();

protected:
    void changeEvent(QEvent* event) override;

private:
    void build();
    void refresh();
    void fillSource();

    Document* m_document;
    ExportSizes* m_sizes;
};

} // namespace secateur
