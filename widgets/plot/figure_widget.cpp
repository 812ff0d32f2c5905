#include "widgets/plot/figure_widget.h"

#include "analysis/base/error.h"
#include "analysis/figures/table_text.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/figure_size.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_fit.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStandardPaths>
#include <QWheelEvent>

#include <qcustomplot.h>

#include <algorithm>
#include <string>

namespace secateur {

namespace {

/// The text of a figure by the extension of its file; empty for pictures.
std::string textForFile(const Figure& figure, const QString& extension) {
    const bool isTable = figure.kind == FigureKind::table;
    return extension == "csv"               ? toCsv(figure)
           : isTable && extension == "md"   ? toMarkdown(figure)
           : isTable && extension == "tex"  ? toLatex(figure)
           : isTable && extension == "html" ? toHtmlPage(figure)
                                            : std::string();
}

} // namespace

FigureWidget::FigureWidget(QWidget* parent)
    : QWidget(parent)
    , m_plot(addPlot(this))
    , m_scroll(new QScrollBar(Qt::Vertical, this)) {
    setMinimumSize(240, 120);
    m_scroll->hide();
    connect(m_scroll, &QScrollBar::valueChanged, this, [this](int value) { m_plot->move(0, -value); });
}

void FigureWidget::setFigure(const Figure& figure) {
    m_figure = figure;
    paint();
}

/// Gives the plot the height that the figure needs, with a scroll bar where it is more than that of the widget.
void FigureWidget::placePlot() {
    const PlotTheme theme = themeOf(*this);
    const bool isHigh = neededHeight(m_figure, width(), theme) > height();
    const int breadth = isHigh ? m_scroll->sizeHint().width() : 0;
    const QSize size(width() - breadth, std::max(height(), neededHeight(m_figure, width() - breadth, theme)));
    m_scroll->setVisible(isHigh);
    if (isHigh && focusPolicy() == Qt::NoFocus)
        setFocusPolicy(Qt::StrongFocus); // for the keys that scroll
    m_scroll->setGeometry(size.width(), 0, breadth, height());
    m_scroll->setRange(0, size.height() - height());
    m_scroll->setPageStep(height());
    m_scroll->setSingleStep(3 * fontMetrics().height());
    m_plot->setGeometry({QPoint(0, -m_scroll->value()), size});
    m_plot->setViewport({QPoint(), size});
}

void FigureWidget::paint() {
    placePlot();
    paintFigure(*m_plot, m_figure, themeOf(*this));
    layOutFigure(*m_plot);
    painted();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void FigureWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        paint();
    QWidget::changeEvent(event);
}

void FigureWidget::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    paint(); // line breaks in the legend and the axis labels depend on the size
}

void FigureWidget::wheelEvent(QWheelEvent* event) {
    if (m_scroll->maximum() > 0)
        QApplication::sendEvent(m_scroll, event);
    else
        QWidget::wheelEvent(event);
}

void FigureWidget::keyPressEvent(QKeyEvent* event) {
    const bool scrolls = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down || event->key() == Qt::Key_PageUp ||
                         event->key() == Qt::Key_PageDown || event->key() == Qt::Key_Home ||
                         event->key() == Qt::Key_End;
    if (scrolls && m_scroll->maximum() > 0)
        QApplication::sendEvent(m_scroll, event);
    else
        QWidget::keyPressEvent(event);
}

FigureActions::FigureActions(QWidget* view, std::function<Figure()> figure)
    : QObject(view)
    , m_view(view)
    , m_figure(std::move(figure))
    , m_folder(QStandardPaths::writableLocation(QStandardPaths::PicturesLocation)) {
    const auto add = [this](const QString& text, const QString& help, auto&& slot) {
        auto* action = new QAction(text, this);
        action->setWhatsThis(help);
        connect(action, &QAction::triggered, this, slot);
        m_actions << action;
    };
    add(tr("Copy as &image"), tr("Copies this picture as an image."), [this] { copyImage(); });
    add(tr("Copy as &CSV"), tr("Copies the numbers of this picture."), [this] { copyCsv(); });
    add(tr("Copy figure as command &line"), tr("Copies the command that draws this picture."),
        [this] { copyCommand(); });
    add(tr("Save figure, c&olumn width (8.4 cm)…"), tr("Saves this picture for one column of a paper."),
        [this] { saveAs(FigureWidth::column); });
    add(tr("Save figure, &page width (17.4 cm)…"), tr("Saves this picture for the full width of a page."),
        [this] { saveAs(FigureWidth::page); });
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
        if (const std::string text = textForFile(figure, QFileInfo(path).suffix().toLower()); !text.empty())
            writeAside(path, QByteArray::fromStdString(text));
        else
            saveFigure(figure, path, width);
        emit saved(path);
    } catch (const Error& error) {
        emit failed(error.what());
    }
}

void FigureActions::saveAs(FigureWidth width) {
    const Figure figure = m_figure();
    const QString start = m_folder + '/' + suggestedName(figure) + ".pdf";
    QString formats = tr("PDF (*.pdf);;SVG (*.svg);;PNG, 300 dpi (*.png);;The numbers, CSV (*.csv)");
    if (figure.kind == FigureKind::table)
        formats += tr(";;Markdown (*.md);;LaTeX (*.tex);;HTML (*.html)");
    QString format;
    QString path = QFileDialog::getSaveFileName(m_view, tr("Save figure"), start, formats, &format);
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
    QString name = QString::fromStdString(what.empty() ? figure.title : figure.title + '-' + what);
    static const QRegularExpression awkward("[^\\w.+-]+");
    return name.replace(awkward, "-").left(80);
}

} // namespace secateur
