#pragma once

#include <QWidget>

class QComboBox;
class QLineEdit;
class QMenu;
class QPushButton;
class QScrollArea;
class QToolButton;

namespace secateur {

class CutBox;
class Document;
class JobRunner;
class LiveEvaluation;
class MaskEditor;
class StillLabel;

/// The list of masks, the name and note of the current one, and actions on whole masks. Evaluated masks that are not in
/// the list stand below the others; choosing one adds it.
class MaskListBox : public QWidget {
    Q_OBJECT

public:
    explicit MaskListBox(Document* document, QWidget* parent = nullptr);

signals:
    void openWanted();
    void saveWanted();
    /// Emitted when the user wants to copy the command that makes or prints the mask.
    void commandWanted();

private:
    void refresh();
    void listEvaluated();
    void choose(int index);
    void rename();
    void buildMenu();
    /// Fills a submenu with the other masks. @param chosen called with the index of the chosen mask in the list
    template <typename Chosen>
    void listOthers(QMenu* menu, Chosen chosen);
    void fillMenus();

    Document* m_document;
    MaskEditor* m_masks;
    QComboBox* m_names;
    QLineEdit* m_note;
    QToolButton* m_more;
    QMenu* m_compare;
    QMenu* m_union;
    QMenu* m_intersect;
    QMenu* m_subtract;
};

/// Names the export targets that can hold the current mask, and has the button that shows the export panel.
class ExportBox : public QWidget {
    Q_OBJECT

public:
    explicit ExportBox(Document* document, QWidget* parent = nullptr);

    /// The button that shows the export panel. Its place is chosen by the mask panel, so that it is always visible.
    QPushButton* button() const { return m_export; }

signals:
    void exportWanted();

private:
    void refresh();

    Document* m_document;
    StillLabel* m_targets;
    QPushButton* m_export;
};

/// The current mask: its name, its cuts and savings, its effect on the model, cutting by a metric, compensation, and
/// export. The name
/// and the export stay in sight; the rest scrolls. Rows keep their places whatever they say.
class MaskPanel : public QWidget {
    Q_OBJECT

public:
    MaskPanel(Document* document, JobRunner* jobs, LiveEvaluation* live, QWidget* parent = nullptr);

    MaskListBox* list() const { return m_list; }
    CutBox* cutBox() const { return m_cut; }
    ExportBox* exports() const { return m_exports; }

private:
    QScrollArea* scrolledRows(Document* document, JobRunner* jobs, LiveEvaluation* live);

    MaskListBox* m_list;
    CutBox* m_cut;
    ExportBox* m_exports;
};

} // namespace secateur
