#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/figure_painter.h"

#include <QAction>
#include <QList>
#include <QObject>

#include <functional>

class QWidget;

namespace secateur {

/// What can be done with the picture that a view shows: copied as an image, as CSV or as the command that draws it
/// again, saved as PNG, SVG, PDF or CSV.
class FigureActions : public QObject {
    Q_OBJECT

public:
    /// @param figure gives what the view shows when an action is triggered
    FigureActions(QWidget* view, std::function<Figure()> figure);

    /// For menus: copy image, copy CSV, copy command, save in column width, save in page width.
    const QList<QAction*>& actions() const { return m_actions; }
    void setEnabled(bool enabled);
    /// For a figure whose command is not known at once. @param copies true = it takes care of it
    void setCommandCopier(std::function<bool()> copies) { m_copies = std::move(copies); }
    /// What saveAs does once the person has chosen a file; the extension decides the format.
    void save(const QString& path, FigureWidth width);

public slots:
    void copyImage();
    void copyCsv();
    void copyCommand();
    void saveAs(secateur::FigureWidth width);

signals:
    void saved(const QString& path);
    void failed(const QString& message);

private:
    QString suggestedName(const Figure& figure) const;

    QWidget* m_view;
    std::function<Figure()> m_figure;
    std::function<bool()> m_copies;
    QList<QAction*> m_actions;
    QString m_folder; ///< where the last picture was saved
};

} // namespace secateur
