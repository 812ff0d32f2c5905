#pragma once

#include "analysis/export/export_target.h"

#include <QWidget>

class QComboBox;
class QPushButton;

namespace secateur {

class Document;
class StillLabel;

/// Makes the current mask one in which all KV groups of a layer keep equally many heads: by cutting, by restoring or by
/// the fewest changes. Shows the result as a preview in all views, and applies it as one undo step.
class LegalBox : public QWidget {
    Q_OBJECT

public:
    explicit LegalBox(Document* document, QWidget* parent = nullptr);

    /// Offers the change for a target if it removes a reason against the target; otherwise hides the box.
    void offerFor(const ExportTarget* target);
    /// Ends the preview.
    void endPreview();

private:
    LegalMask legal() const;
    void refresh();
    void preview(bool shown);
    void apply();
    QString effectText(const LegalMask& legal) const;

    Document* m_document;
    const ExportTarget* m_target = nullptr;
    QComboBox* m_by;
    QPushButton* m_preview;
    QPushButton* m_apply;
    StillLabel* m_effect;
};

} // namespace secateur
