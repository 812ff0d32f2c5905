#include "widgets/curves/curves_view.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/strategies/budget.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/point_widget.h"
#include "widgets/results/empty_page.h"

#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr const char* curvesId = "curves";

struct FigureChoice {
    const char* id;
    const char* title;
};

constexpr FigureChoice figureChoices[] = {{curvesId, QT_TRANSLATE_NOOP("secateur::CurvesView", "Curves")},
                                          {"removal_map", QT_TRANSLATE_NOOP("secateur::CurvesView", "Removal map")},
                                          {"agreement", QT_TRANSLATE_NOOP("secateur::CurvesView", "Agreement")},
                                          {"stability", QT_TRANSLATE_NOOP("secateur::CurvesView", "Stability")}};

QString stringFrom(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

void fill(QComboBox& combo, std::span<const CurveQuantity> quantities) {
    for (const CurveQuantity& quantity : quantities)
        combo.addItem(stringFrom(quantity.title), stringFrom(quantity.id));
}

void choose(QComboBox& combo, const std::string& data, int usual = 0) {
    const int found = combo.findData(QString::fromStdString(data));
    combo.setCurrentIndex(found >= 0 ? found : usual);
}

} // namespace

CurvesView::CurvesView(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_figure(new QComboBox)
    , m_which(new QComboBox)
    , m_x(new QComboBox)
    , m_y(new QComboBox)
    , m_empty(new EmptyPage)
    , m_stack(new QStackedWidget)
    , m_plot(new PointWidget)
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this)) {
    setObjectName("curvesView");
    build();
    for (QComboBox* combo : {m_figure, m_which, m_x, m_y})
        connect(combo, &QComboBox::activated, this, [this] {
            keep();
            refresh();
        });
    connect(m_refresh, &QTimer::timeout, this, &CurvesView::draw);
    connect(m_plot, &PointWidget::chosen, this, &CurvesView::preview);
    connect(m_plot, &PointWidget::activated, this, &CurvesView::activate);
    connect(m_actions, &FigureActions::failed, this, &CurvesView::failed);
    connect(document, &Document::opened, this, &CurvesView::restore);
    connect(document, &Document::curvesChanged, this, &CurvesView::refresh);
    connect(document, &Document::evaluationsChanged, this, &CurvesView::refresh);
    restore();
}

void CurvesView::build() {
    for (const FigureChoice& choice : figureChoices)
        m_figure->addItem(tr(choice.title), QString(choice.id));
    fill(*m_x, curveXs());
    m_y->addItem(tr("automatic"), QString("auto"));
    fill(*m_y, curveYs());
    m_figure->setAccessibleName(tr("Figure of curves"));
    m_figure->setToolTip(tr("The figure that is drawn from the sweeps"));
    m_which->setAccessibleName(tr("Texts of the curves"));
    m_which->setToolTip(tr("The texts and tasks of the sweep that is drawn"));
    m_x->setAccessibleName(tr("Horizontal axis"));
    m_x->setToolTip(tr("The quantity along the horizontal axis: the size of the pruned model"));
    m_y->setAccessibleName(tr("Vertical axis"));
    m_y->setToolTip(tr("The quantity along the vertical axis: the quality of the pruned model"));
    m_which->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // names of texts are long
    auto* row = new QHBoxLayout;
    row->addWidget(m_figure);
    row->addWidget(new QLabel(tr("x")));
    row->addWidget(m_x);
    row->addWidget(new QLabel(tr("y")));
    row->addWidget(m_y);
    row->addWidget(m_which, 1);
    row->addStretch(1);
    connect(m_empty, &EmptyPage::wanted, this, &CurvesView::sweepWanted);
    m_plot->setAccessibleName(tr("Curves"));
    m_plot->setWhatsThis(
        tr("Each point is a mask. A click or the arrows preview it; a double click or Enter makes it the "
           "current mask."));
    m_plot->setDescription([this](std::size_t place) { return describe(place); });
    m_stack->addWidget(m_empty);
    m_stack->addWidget(m_plot);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 6);
    column->addLayout(row);
    column->addWidget(m_stack, 1);
    constexpr int frameMs = 50;
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(frameMs);
}

void CurvesView::restore() {
    choose(*m_figure, m_document->storedView("curves.figure"));
    choose(*m_x, m_document->storedView("curves.x"));
    choose(*m_y, m_document->storedView("curves.y"));
    m_which->clear();
    refresh();
}

void CurvesView::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView("curves.figure", m_figure->currentData().toString().toStdString());
    m_document->setView("curves.x", m_x->currentData().toString().toStdString());
    m_document->setView("curves.y", m_y->currentData().toString().toStdString());
}

void CurvesView::refresh() {
    m_isStale = true;
    if (isVisible() && !m_refresh->isActive())
        m_refresh->start();
}

void CurvesView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_isStale)
        draw();
}

/// Lists the sets of scored curves. The latest is chosen until the user chooses another one.
void CurvesView::listCurves() {
    const std::vector<Curves>& all = m_document->session().curves;
    const bool isLatest = m_which->currentIndex() + 1 >= m_which->count();
    const int chosen = m_which->currentIndex();
    m_which->clear();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].areScored())
            m_which->addItem(QString::fromStdString(conditionsText(all[i].conditions)), QVariant::fromValue(i));
    m_which->setVisible(m_which->count() > 1);
    m_which->setCurrentIndex(isLatest ? m_which->count() - 1 : chosen);
}

/// Index in Session::curves of the chosen set.
std::size_t CurvesView::chosenSet() const {
    return m_which->currentIndex() < 0 ? m_document->session().curves.size()
                                       : m_which->currentData().value<std::size_t>();
}

const Curves* CurvesView::curves() const {
    const std::vector<Curves>& all = m_document->session().curves;
    const std::size_t index = chosenSet();
    return index < all.size() ? &all[index] : nullptr;
}

CurveLook CurvesView::look() const {
    CurveLook look;
    look.x = m_x->currentData().toString().toStdString();
    look.y = m_y->currentData().toString().toStdString();
    look.current = m_document->services().maskDigest(m_document->masks()->mask());
    return look;
}

std::string CurvesView::figureText() const {
    const std::string id = m_figure->currentData().toString().toStdString();
    return id == curvesId ? fmt::format("{}:x={}:y={}", id, look().x, look().y) : id;
}

void CurvesView::draw() {
    m_isStale = false;
    listCurves();
    const bool showsCurves = m_figure->currentData().toString() == curvesId;
    m_x->setEnabled(showsCurves);
    m_y->setEnabled(showsCurves);
    m_shown = {};
    const Session& session = m_document->session();
    if (!m_document->isOpen()) {
        m_empty->say(tr("No model is open."));
    } else if (!curves()) {
        m_empty->say(tr("No curves yet. The panel Sweep runs strategies over budgets and scores every mask."),
                     tr("Show the panel Sweep"));
    } else {
        try {
            if (showsCurves)
                m_shown = curveFigure(session, *curves(), look());
            else
                m_shown.figure = makeFigure(session, figureText());
            m_shownCurves = chosenSet();
        } catch (const Error& error) {
            m_shown = {};
            m_empty->say(QString::fromStdString(error.what()));
        }
    }
    const Figure& figure = m_shown.figure;
    const bool hasFigure = !figure.series.empty() || !figure.cells.empty() || !figure.panels.empty();
    m_stack->setCurrentWidget(hasFigure ? static_cast<QWidget*>(m_plot) : m_empty);
    m_actions->setEnabled(hasFigure);
    if (hasFigure)
        m_plot->setFigure(figure);
}

const CurvePoint* CurvesView::point(std::size_t place) const {
    const std::vector<Curves>& all = m_document->session().curves;
    if (place >= m_shown.places.size() || !m_shownCurves || *m_shownCurves >= all.size())
        return nullptr;
    const CurvePlace& at = m_shown.places[place];
    const Curves& own = all[*m_shownCurves];
    if (at.evaluation || at.points.empty() || at.curve >= own.curves.size() ||
        at.points.front() >= own.curves[at.curve].points.size())
        return nullptr;
    return &own.curves[at.curve].points[at.points.front()];
}

QString CurvesView::describe(std::size_t place) const {
    const auto line = [](const std::string& text) { return QString::fromStdString(text); };
    const CurvePoint* found = point(place);
    if (!found) {
        const Evaluation* evaluation = evaluationAt(place);
        const SessionMask* mask = evaluation ? m_document->session().mask(evaluation->mask.digest) : nullptr;
        return mask ? line(shownName({mask->name, mask->digest}, evaluation->adapter)) : QString();
    }
    const CurvePlace& at = m_shown.places[place];
    const Curve& curve = m_document->session().curves[*m_shownCurves].curves[at.curve];
    QStringList lines{line(curveLabel(curve, found->key)), tr("budget %1").arg(line(budgetText(found->key.budget)))};
    if (at.points.size() > 1)
        lines << tr("mean of %1 repetitions; the first:").arg(at.points.size());
    if (found->reached)
        lines << tr("largest budget that can be reached: %1").arg(line(budgetText(*found->reached)));
    lines << tr("parameters kept: %1").arg(line(grouped(static_cast<std::uint64_t>(found->parameters))));
    if (std::isfinite(found->deltaNats))
        lines << tr("Δ loss: %1 nats").arg(line(shownChange(found->deltaNats, found->deltaStandardError)));
    if (std::isfinite(found->perplexity))
        lines << tr("perplexity: %1").arg(line(shownNumber(found->perplexity, 4)));
    if (std::isfinite(found->pooledDistance))
        lines << tr("pooled distance: %1").arg(line(shownWithError(found->pooledDistance, found->pooledStandardError)));
    for (const PointMetric& metric : found->tasks)
        lines << QString("%1 %2: %3")
                     .arg(line(metric.task), line(metric.id), line(shownWithError(metric.value, metric.standardError)));
    if (std::isfinite(found->tokensPerSecond))
        lines << tr("tokens/s: %1").arg(line(shownNumber(found->tokensPerSecond)));
    if (!found->error.empty())
        lines << line(found->error);
    return lines.join('\n');
}

std::optional<std::string> CurvesView::digestAt(std::size_t place) const {
    if (const CurvePoint* found = point(place))
        return found->mask;
    const Evaluation* evaluation = evaluationAt(place);
    return evaluation ? std::optional(evaluation->mask.digest) : std::nullopt;
}

const Evaluation* CurvesView::evaluationAt(std::size_t place) const {
    const std::vector<Evaluation>& all = m_document->session().evaluations;
    if (place >= m_shown.places.size() || !m_shown.places[place].evaluation ||
        *m_shown.places[place].evaluation >= all.size())
        return nullptr;
    return &all[*m_shown.places[place].evaluation];
}

void CurvesView::preview(std::size_t place) {
    const auto digest = digestAt(place);
    m_plot->highlight(place);
    if (const SessionMask* mask = digest ? m_document->session().mask(*digest) : nullptr)
        m_document->masks()->setPreview(mask->record.mask);
}

void CurvesView::activate(std::size_t place) {
    const auto digest = digestAt(place);
    const SessionMask* mask = digest ? m_document->session().mask(*digest) : nullptr;
    if (!mask)
        return;
    m_document->masks()->setPreview({});
    m_document->restoreMask({mask->name, mask->digest});
}

void CurvesView::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
