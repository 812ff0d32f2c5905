#pragma once

#include <QWidget>

class QComboBox;
class QLineEdit;
class QMenu;
class QToolButton;

namespace secateur {

class MaskEditor;

/// The masks by name: which one is edited, what it is called, what is noted about it, and what can be done with it as a
/// whole.
class MaskListBox : public QWidget {
    Q_OBJECT

public:
    explicit MaskListBox(MaskEditor* masks, QWidget* parent = nullptr);

signals:
    void openWanted();
    void saveWanted();
    /// What makes the mask, or shows it, is wanted on the clipboard.
    void commandWanted();

private:
    void refresh();
    void rename();
    void buildMenu();
    /// Fills a submenu with the other masks. @param chosen gets a mask's place in the list
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

} // namespace secateur
