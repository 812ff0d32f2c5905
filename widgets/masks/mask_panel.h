#pragma once

#include <QScrollArea>

namespace secateur {

class CutBox;
class Document;
class ExportBox;
class LiveEvaluation;
class MaskListBox;

/// The current mask: its name, what it cuts and saves, what it does to the model, how to cut
/// by a metric, and in which forms it can leave.
class MaskPanel : public QScrollArea {
    Q_OBJECT

public:
    MaskPanel(Document* document, LiveEvaluation* live, QWidget* parent = nullptr);

    MaskListBox* list() const { return m_list; }
    CutBox* cutBox() const { return m_cut; }
    ExportBox* exports() const { return m_exports; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// As wide as its rows want: nothing is cut off at the side, and it does not shrink again under the hand.
    void makeRoom();

    MaskListBox* m_list;
    CutBox* m_cut;
    ExportBox* m_exports;
};

} // namespace secateur
