#pragma once

#include <QWidget>

class QLabel;
class QTextEdit;

namespace secateur {

class Document;
class ExtraEvaluation;
struct PromptContinuation;

/// What the dense model and the current mask put behind a prompt, side by side, the first word that differs marked.
class GenerationView : public QWidget {
    Q_OBJECT

public:
    GenerationView(Document* document, ExtraEvaluation* extra, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    /// @param differsAt place in the continuation's text; negative = nothing is marked
    void showText(QTextEdit* side, const PromptContinuation* written, qsizetype differsAt);

    Document* m_document;
    ExtraEvaluation* m_extra;
    QWidget* m_sides;
    QLabel* m_hint;
    QLabel* m_denseTitle;
    QLabel* m_maskTitle;
    QTextEdit* m_dense;
    QTextEdit* m_mask;
};

} // namespace secateur
