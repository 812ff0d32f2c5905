#pragma once

#include <QWidget>

namespace secateur {

class Document;
class LiveEvaluation;
class MaskListBox;

/// The current mask: its name, what it cuts and saves, and what it does to the model.
class MaskPanel : public QWidget {
    Q_OBJECT

public:
    MaskPanel(Document* document, LiveEvaluation* live, QWidget* parent = nullptr);

    MaskListBox* list() const { return m_list; }

private:
    MaskListBox* m_list;
};

} // namespace secateur
