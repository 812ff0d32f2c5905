#pragma once

#include "widgets/gallery/gallery_contents.h"

#include <QDialog>
#include <QString>

#include <memory>

class QLabel;
class QPushButton;
class QStackedWidget;
class QTimer;

namespace secateur {

class FigureActions;
class FigureWidget;
class OptionForm;
struct OptionField;

/// An item of the gallery, large, with its caption and its options. It is drawn again when an option or the session
/// changes. An item that runs the model runs on *Run*.
class FigureDialog : public QDialog {
    Q_OBJECT

public:
    FigureDialog(Document* document, GalleryContents* contents, const FigureInfo& item, QWidget* parent = nullptr);

    /// The figure on screen; null = it cannot be drawn with these options.
    const std::shared_ptr<const Figure>& figure() const { return m_figure; }
    /// The figure's text: "id:key=value".
    std::string request() const;

signals:
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void build();
    QWidget* buildSide();
    QWidget* buildButtons();
    void connectAll();
    OptionField fieldOf(const OptionInfo& option) const;
    void draw();
    void take(const DrawnItem& drawn);

    Document* m_document;
    GalleryContents* m_contents;
    const FigureInfo& m_item;
    std::shared_ptr<const Figure> m_figure;
    quint64 m_turn = 0; ///< number of the last drawing; earlier ones are dropped
    OptionForm* m_form;
    QPushButton* m_run;
    QStackedWidget* m_stack;
    QLabel* m_reason;
    FigureWidget* m_plot;
    QLabel* m_caption;
    FigureActions* m_actions;
    QTimer* m_typing; ///< waits until the user has stopped typing
};

} // namespace secateur
