#pragma once

#include <QScrollArea>

class QComboBox;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace secateur {

class CutBox;
class Document;
class LiveEvaluation;
class MaskEditor;

/// The list of masks, the name and note of the current one, and actions on whole masks.
class MaskListBox : public QWidget {
    Q_OBJECT

public:
    explicit MaskListBox(MaskEditor* masks, QWidget* parent = nullptr);

signals:
    void openWanted();
    void saveWanted();
    /// Emitted when the user wants to copy the command that makes or prints the mask.
    void commandWanted();

private:
    void refresh();
    void rename();
    void buildMenu();
    /// Fills a submenu with the other masks. @param chosen called with the index of the chosen mask in the list
    template <typename Chosen>
    void listOthers(QMenu* menu, Chosen chosen);
    void fillMenus();

    MaskEditor* m_masks;
    QComboBox* m_names;
    QLineEdit* m_note;
    QToolButton* m_more;
    QMenu* m_compare;
    QMenu* m_union;
    QMenu* m_intersect;
    QMenu* m_subtract;
};

/// Lists the export targets that can hold the current mask, and the reasons why the other targets cannot. Offers the
/// nearest mask that more targets can hold (legalised()).
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

/// The current mask: its name, its cuts and savings, its effect on the model, cutting by a metric, and export.
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
    /// Makes the panel as wide as the widest row that it had so far. Rows are not clipped, and the width never
    /// decreases.
    void makeRoom();

    MaskListBox* m_list;
    CutBox* m_cut;
    ExportBox* m_exports;
};

} // namespace secateur
