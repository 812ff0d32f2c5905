#include "widgets/evaluations/evaluations_panel.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/figures/evaluation_figure.h"
#include "analysis/session/command_line.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/evaluation_table.h"
#include "widgets/evaluations/extra_choice_dialog.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/results/text_combo.h"

#include <QCheckBox>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QSplitter>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double reachPixels = 9;
constexpr double ringSize = 13;

} // namespace

EvaluationScatter::EvaluationScatter(QWidget* parent)
    : FigureWidget(parent) {
    setMouseTracking(true);
}

std::vector<EvaluationScatter::Point> EvaluationScatter::points() const {
    std::vector<Point> points;
    for (const FigureSeries& series : figure().series)
        for (std::size_t i = 0; i < series.places.size(); ++i)
            if (std::isfinite(series.values[i]) && std::isfinite(series.positions[i]))
                points.push_back({&series, i});
    return points;
}

std::optional<EvaluationScatter::Point> EvaluationScatter::find(std::size_t place) const {
    const std::vector<Point> all = points();
    const auto found = std::ranges::find(all, place, &Point::place);
    return found == all.end() ? std::nullopt : std::optional(*found);
}

QPointF EvaluationScatter::pixels(const Point& point) const {
    const QCPGraph* any = plot()->graph(0);
    return {any->keyAxis()->coordToPixel(point.series->positions[point.index]),
            any->valueAxis()->coordToPixel(point.series->values[point.index])};
}

std::optional<QPoint> EvaluationScatter::position(std::size_t place) const {
    const auto point = find(place);
    return point ? std::optional(pixels(*point).toPoint()) : std::nullopt;
}

std::optional<EvaluationScatter::Point> EvaluationScatter::under(const QPointF& position) const {
    std::optional<Point> nearest;
    double reach = reachPixels;
    for (const Point& point : points()) {
        const QPointF apart = pixels(point) - position;
        const double distance = std::hypot(apart.x(), apart.y());
        if (distance > reach)
            continue;
        nearest = point;
        reach = distance;
    }
    return nearest;
}

QString EvaluationScatter::text(std::size_t place) const {
    const auto point = find(place);
    if (!point)
        return {};
    const FigureSeries& series = *point->series;
    const double error = point->index < series.errors.size() ? series.errors[point->index] : 0;
    const QString name = point->index < series.names.size() ? QString::fromStdString(series.names[point->index])
                                                            : QString::fromStdString(series.label);
    const auto line = [](const FigureAxis& axis, const std::string& value) {
        return QString::fromStdString(axis.label + ": " + value);
    };
    return QStringList{name, line(figure().x, significant(series.positions[point->index], 5)),
                       line(figure().y, withError(series.values[point->index], error))}
        .join('\n');
}

void EvaluationScatter::highlight(std::optional<std::size_t> place) {
    if (place == m_highlighted)
        return;
    m_highlighted = place;
    repaintFigure();
}

void EvaluationScatter::painted() {
    const auto point = m_highlighted ? find(*m_highlighted) : std::nullopt;
    if (!point)
        return;
    const QCPGraph* any = plot()->graph(0);
    const PlotTheme theme = themeOf(*this);
    QCPGraph* ring = plot()->addGraph(any->keyAxis(), any->valueAxis());
    ring->setData({point->series->positions[point->index]}, {point->series->values[point->index]});
    ring->setLineStyle(QCPGraph::lsNone);
    ring->setScatterStyle({QCPScatterStyle::ssCircle, theme.pen(theme.accent, 2), Qt::NoBrush, ringSize * theme.unit});
}

void EvaluationScatter::showText(const Point& point) {
    QToolTip::showText(mapToGlobal(pixels(point).toPoint()), text(point.place()), this);
}

bool EvaluationScatter::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return FigureWidget::event(event);
    if (const auto point = under(static_cast<QHelpEvent*>(event)->pos()))
        showText(*point);
    else
        QToolTip::hideText();
    return true;
}

void EvaluationScatter::mousePressEvent(QMouseEvent* event) {
    const auto point = under(event->position());
    if (event->button() != Qt::LeftButton || !point)
        return FigureWidget::mousePressEvent(event);
    emit chosen(point->place());
}

void EvaluationScatter::mouseReleaseEvent(QMouseEvent* event) {
    if (const auto point = under(event->position())) // Qt hides the tooltip when the button is released
        showText(*point);
}

void EvaluationScatter::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto point = under(event->position());
    if (event->button() == Qt::LeftButton && point)
        emit activated(point->place());
}

void EvaluationScatter::mouseMoveEvent(QMouseEvent* event) {
    setCursor(under(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

namespace {

constexpr int mostTokens = 1'000'000'000;

QLabel* captionFor(const QString& text, QWidget* field) {
    auto* caption = new QLabel(text);
    caption->setBuddy(field);
    return caption;
}

} // namespace

EvaluationsPanel::EvaluationsPanel(Document* document, LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_live(live)
    , m_model(new EvaluationTable(document, this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_text(new TextCombo)
    , m_tokens(new QSpinBox)
    , m_window(new QSpinBox)
    , m_automatic(new QCheckBox(tr("after each edit")))
    , m_table(new QTableView)
    , m_hint(new QLabel(tr("Each evaluated mask becomes a row; the dense model is the first.")))
    , m_scatter(new EvaluationScatter)
    , m_actions(new FigureActions(m_scatter, [this] { return currentFigure(); }))
    , m_drawing(new QTimer(this)) {
    auto* row = new QHBoxLayout;
    row->setContentsMargins(8, 4, 8, 4);
    row->setSpacing(8);
    buildChoice(*row);
    buildTable();
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setForegroundRole(QPalette::PlaceholderText);
    auto* split = new QSplitter;
    split->addWidget(m_table);
    split->addWidget(m_hint);
    split->addWidget(m_scatter);
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 3);
    split->setStretchFactor(2, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(split, 1);
    connect(m_actions, &FigureActions::failed, this, &EvaluationsPanel::failed);
    m_drawing->setSingleShot(true);
    m_drawing->setInterval(0);
    connect(m_drawing, &QTimer::timeout, this, &EvaluationsPanel::drawScatter);
    // The table's model was connected to these signals earlier, so it is up to date when refresh() runs.
    connect(document, &Document::opened, this, &EvaluationsPanel::refresh);
    connect(document, &Document::evaluationsChanged, this, &EvaluationsPanel::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, m_drawing, qOverload<>(&QTimer::start));
    connect(m_scatter, &EvaluationScatter::chosen, this, &EvaluationsPanel::showRow);
    connect(m_scatter, &EvaluationScatter::activated, this, [this](std::size_t place) {
        if (const int found = m_model->rowOf(place); found >= 0)
            restore(found);
    });
    showChoice();
    refresh();
}

void EvaluationsPanel::buildChoice(QHBoxLayout& row) {
    m_tokens->setRange(0, mostTokens);
    m_tokens->setSpecialValueText(tr("automatic"));
    m_tokens->setGroupSeparatorShown(true);
    m_tokens->setSingleStep(1024);
    m_tokens->setAccessibleName(tr("Tokens of the text"));
    m_window->setRange(2, 1 << 20);
    m_window->setAccessibleName(tr("Tokens of a window"));
    m_window->setToolTip(tr("Window length in tokens; more windows give a narrower confidence interval"));
    for (QSpinBox* field : {m_tokens, m_window})
        field->findChild<QLineEdit*>()->setAccessibleName(field->accessibleName());
    m_automatic->setToolTip(tr("Evaluate the mask a moment after each edit"));
    auto* now = new QToolButton;
    now->setText(tr("Evaluate now"));
    now->setToolTip(tr("Ctrl+E"));
    row.addWidget(captionFor(tr("Text"), m_text));
    row.addWidget(m_text);
    row.addSpacing(8);
    row.addWidget(captionFor(tr("tokens"), m_tokens));
    row.addWidget(m_tokens);
    row.addSpacing(8);
    row.addWidget(captionFor(tr("window"), m_window));
    row.addWidget(m_window);
    row.addSpacing(8);
    row.addWidget(m_automatic);
    row.addWidget(now);
    row.addWidget(extraButton(m_live, this));
    row.addStretch();
    connect(m_text, &TextCombo::chosen, this, &EvaluationsPanel::choose);
    connect(m_tokens, &QSpinBox::editingFinished, this, &EvaluationsPanel::choose);
    connect(m_window, &QSpinBox::editingFinished, this, &EvaluationsPanel::choose);
    connect(m_automatic, &QCheckBox::clicked, this, &EvaluationsPanel::choose);
    connect(now, &QToolButton::clicked, m_live, &LiveEvaluation::evaluate);
}

void EvaluationsPanel::buildTable() {
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(EvaluationTable::numberRole);
    m_table->setModel(m_sorted);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(0, Qt::AscendingOrder);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAlternatingRowColors(true);
    m_table->setShowGrid(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->setAccessibleName(tr("Evaluations"));
    connect(m_table, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { restore(m_sorted->mapToSource(index).row()); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &EvaluationsPanel::followRow);
}

void EvaluationsPanel::showChoice() {
    const EvaluationChoice& choice = m_live->choice();
    m_text->setPath(QString::fromStdString(choice.text.path));
    m_tokens->setValue(static_cast<int>(std::min<std::int64_t>(choice.tokens.value_or(0), mostTokens)));
    m_window->setValue(choice.text.rules.window);
    m_automatic->setChecked(choice.isAutomatic);
}

void EvaluationsPanel::choose() {
    EvaluationChoice choice = m_live->choice();
    choice.text.path = m_text->path().toStdString();
    choice.tokens = m_tokens->value() > 0 ? std::optional<std::int64_t>(m_tokens->value()) : std::nullopt;
    choice.text.rules.window = m_window->value();
    choice.isAutomatic = m_automatic->isChecked();
    if (!(choice == m_live->choice()))
        m_live->choose(choice);
}

void EvaluationsPanel::refresh() {
    const bool hasRows = m_model->rowCount() > 0;
    m_table->setVisible(hasRows);
    m_hint->setVisible(!hasRows);
    if (!hasRows)
        m_scatter->hide();
    m_actions->setEnabled(hasRows);
    if (!hasRows)
        return followRow();
    m_table->resizeColumnsToContents();
    m_drawing->start();
}

void EvaluationsPanel::drawScatter() {
    if (m_model->rowCount() == 0)
        return;
    try {
        m_scatter->setFigure(currentFigure());
        m_scatter->show();
    } catch (const Error&) {
        m_scatter->hide(); // the session has evaluations, but none with a loss
    }
    followRow(); // the row's index among the evaluations may have changed
}

void EvaluationsPanel::followRow() {
    const QModelIndex index = m_table->currentIndex();
    m_scatter->highlight(index.isValid() ? std::optional(m_model->place(m_sorted->mapToSource(index).row()))
                                         : std::nullopt);
    emit currentChanged();
}

void EvaluationsPanel::showRow(std::size_t place) {
    const int row = m_model->rowOf(place);
    if (row < 0)
        return;
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 1));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
}

const Evaluation* EvaluationsPanel::current() const {
    const QModelIndex index = m_table->currentIndex();
    return index.isValid() ? &m_model->evaluation(m_sorted->mapToSource(index).row()) : nullptr;
}

Figure EvaluationsPanel::currentFigure() const {
    const PruningMask& mask = m_document->masks()->mask();
    const std::string current = m_document->services().maskDigest(mask);
    Figure figure = evaluationScatter(m_document->session(), *m_document->prices(), current);
    if (m_document->sessionPath().isEmpty() || m_document->isModified())
        return figure; // no session file holds these values, so no command can draw them
    const SessionMask* apart = m_document->session().mask(current);
    const bool canName = apart && apart->name.find(':') == std::string::npos;
    figure.command = shellText(plotCommand(QFileInfo(m_document->sessionPath()).absoluteFilePath().toStdString(),
                                           canName ? "evaluations:mask=" + apart->name : "evaluations"));
    return figure;
}

void EvaluationsPanel::restore(int row) {
    m_document->restoreMask(m_model->evaluation(row).mask);
}

std::vector<int> EvaluationsPanel::rows(bool onlySelected) const {
    std::vector<int> rows;
    for (int row = 0; row < m_sorted->rowCount(); ++row)
        if (!onlySelected || m_table->selectionModel()->isRowSelected(row))
            rows.push_back(m_sorted->mapToSource(m_sorted->index(row, 0)).row());
    return rows.empty() && onlySelected ? this->rows(false) : rows;
}

void EvaluationsPanel::copyRows() {
    QGuiApplication::clipboard()->setText(m_model->toCsv(rows(true)));
}

void EvaluationsPanel::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu;
    if (m_scatter->geometry().contains(m_scatter->parentWidget()->mapFrom(this, event->pos()))) {
        menu.addActions(m_actions->actions());
    } else {
        const QModelIndex index = m_table->currentIndex();
        QAction* restoreAction = menu.addAction(tr("&Restore this mask"), this,
                                                [this, index] { restore(m_sorted->mapToSource(index).row()); });
        restoreAction->setEnabled(index.isValid());
        QAction* command =
            menu.addAction(tr("Copy as command &line"), this, [this] { emit commandWanted(Evaluation(*current())); });
        command->setEnabled(index.isValid());
        menu.addAction(tr("&Copy rows as CSV"), this, &EvaluationsPanel::copyRows);
    }
    menu.exec(event->globalPos());
}

} // namespace secateur
