#include "widgets/plot/figure_widget.h"

#include "analysis/base/error.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_axes.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFileDialog>
#include <QRegularExpression>
#include <QResizeEvent>
#include <QStandardPaths>

#include <qcustomplot.h>

namespace secateur {

FigureWidget::FigureWidget(QWidget* parent)
    : QWidget(parent)
    , m_plot(addPlot(this)) {
    setMinimumSize(240, 120);
}

void FigureWidget::setFigure(const Figure& figure) {
    m_figure = figure;
    paint();
}

void FigureWidget::paint() {
    paintFigure(*m_plot, m_figure, themeOf(*this));
    layOut(*m_plot);
    painted();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void FigureWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        paint();
    QWidget::changeEvent(event);
}

void FigureWidget::resizeEvent(QResizeEvent* event) {
    m_plot->setGeometry({QPoint(), event->size()});
    m_plot->setViewport({QPoint(), event->size()});
    paint(); // line breaks in the legend and the axis labels depend on the size
}

FigureActions::FigureActions(QWidget* view, std::function<Figure()> figure)
    : QObject(view)
    , m_view(view)
    , m_figure(std::move(figure))
    , m_folder(QStandardPaths::writableLocation(QStandardPaths::PicturesLocation)) {
    const auto add = [this](const QString& text, auto&& slot) {
        auto* action = new QAction(text, this);
        connect(action, &QAction::triggered, this, slot);
        m_actions << action;
    };
    add(tr("Copy as &image"), [this] { copyImage(); });
    add(tr("Copy as &CSV"), [this] { copyCsv(); });
    add(tr("Copy figure as command &line"), [this] { copyCommand(); });
    add(tr("Save figure, c&olumn width (8.4 cm)…"), [this] { saveAs(FigureWidth::column); });
    add(tr("Save figure, &page width (17.4 cm)…"), [this] { saveAs(FigureWidth::page); });
}

void FigureActions::setEnabled(bool enabled) {
    for (QAction* action : m_actions)
        action->setEnabled(enabled);
}

void FigureActions::copyImage() {
    QApplication::clipboard()->setImage(figureImage(m_figure(), FigureWidth::page));
}

void FigureActions::copyCsv() {
    QApplication::clipboard()->setText(QString::fromStdString(toCsv(m_figure())));
}

void FigureActions::copyCommand() {
    if (m_copies && m_copies())
        return;
    const QString command = QString::fromStdString(m_figure().command);
    if (command.isEmpty())
        emit failed(tr("This figure has no command. Figures of a saved session have one."));
    else
        QApplication::clipboard()->setText(command);
}

void FigureActions::save(const QString& path, FigureWidth width) {
    try {
        const Figure figure = m_figure();
        if (QFileInfo(path).suffix().toLower() == "csv")
            writeAside(path, QByteArray::fromStdString(toCsv(figure)));
        else
            saveFigure(figure, path, width);
        emit saved(path);
    } catch (const Error& error) {
        emit failed(error.what());
    }
}

void FigureActions::saveAs(FigureWidth width) {
    const QString start = m_folder + '/' + suggestedName(m_figure()) + ".pdf";
    QString format;
    QString path = QFileDialog::getSaveFileName(
        m_view, tr("Save figure"), start,
        tr("PDF (*.pdf);;SVG (*.svg);;PNG, 300 dpi (*.png);;The numbers, CSV (*.csv)"), &format);
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += format.section("(*", 1).section(')', 0, 0);
    m_folder = QFileInfo(path).path();
    save(path, width);
}

/// A file name without extension: "SmolLM2-135M-Instruct-gate-norm-per-head".
QString FigureActions::suggestedName(const Figure& figure) const {
    const std::string& what = figure.kind == FigureKind::heatMap     ? figure.colour.label
                              : figure.kind == FigureKind::histogram ? figure.x.label
                                                                     : figure.y.label;
    QString name = QString::fromStdString(figure.title + '-' + what);
    static const QRegularExpression awkward("[^\\w.+-]+");
    return name.replace(awkward, "-").left(80);
}

} // namespace secateur
