#pragma once

#include <QWidget>

class QLabel;
class QScrollArea;
class QSplitter;

namespace secateur {

class Document;
class ExportForm;
class ExportProgress;
class ExportSizes;
class ExportTable;
class JobRunner;
class LegalBox;
class Selection;

/// Exports the model under the current mask: the targets with the sizes of their exports, the reasons against a target,
/// the nearest legal mask, and the export itself with its progress and result.
class ExportPanel : public QWidget {
    Q_OBJECT

public:
    /// @param selection shared by all views; a reason selects its heads there
    ExportPanel(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    ExportForm* form() const { return m_form; }
    ExportSizes* sizes() const { return m_sizes; }
    /// Selects the target that can hold the mask, and gives the table the keyboard.
    void begin();

    QSize sizeHint() const override;

signals:
    /// See ExportForm::browseWanted().
    void browseWanted(const QString& suggestion, bool isOneFile);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QWidget* buildDetails();
    void choose();
    void refresh();
    void showFacts();
    double denseCache() const;
    void showReasons();
    void selectUnits(const QString& link);
    void startExport(const QString& path, bool mayReplace);

    Document* m_document;
    Selection* m_selection;
    ExportSizes* m_sizes;
    ExportTable* m_table;
    QSplitter* m_parts;
    QScrollArea* m_details = nullptr;
    QLabel* m_title;
    QLabel* m_facts;
    QLabel* m_reasons;
    LegalBox* m_legal;
    ExportForm* m_form;
    ExportProgress* m_progress;
    bool m_isDividedByUser = false; ///< whether the user moved the border between table and details
};

} // namespace secateur
