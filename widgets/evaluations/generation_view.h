#pragma once

#include <QWidget>

class QLabel;
class QTextEdit;

namespace secateur {

class Document;
class EmptyPage;
class ExtraEvaluation;
struct PromptContinuation;

/// Shows the continuations of a prompt by the dense model and under the current mask, side by side. The first word that
/// differs is marked.
class GenerationView : public QWidget {
    Q_OBJECT

public:
    GenerationView(Document* document, ExtraEvaluation* extra, QWidget* parent = nullptr);

signals:
    /// The user wants to choose a prompt.
    void choiceWanted();

protected:
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    /// @param differsAt position of the first different word in the continuation's text; negative = no mark
    void showText(QTextEdit* side, const PromptContinuation* written, qsizetype differsAt);

    Document* m_document;
    ExtraEvaluation* m_extra;
    QWidget* m_sides;
    EmptyPage* m_hint;
    QLabel* m_denseTitle;
    QLabel* m_maskTitle;
    QTextEdit* m_dense;
    QTextEdit* m_mask;
};

} // namespace secateur
