#include "widgets/attention/attention_view.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/figures/model_figures.h"
#include "widgets/attention/attention_plot.h"
#include "widgets/attention/attention_run.h"
#include "widgets/attention/attention_sheet.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/selection.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/colour_controls.h"
#include "widgets/results/passed_focus.h"
#include "widgets/results/result_combo.h"

#include <QCheckBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QStackedWidget>
#include <QStyle>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

constexpr int typingMs = 600;
constexpr int stripSide = 84;
constexpr int stripStep = stripSide + 4;
constexpr int sheetSide = 56;
constexpr int smallestSide = 20;
constexpr int largestSide = 192;
constexpr double sideNotch = 1.15;

QScrollArea* scrolling(QWidget* content) {
    auto* area = new QScrollArea;
    area->setWidget(content);
    area->setFrameShape(QFrame::NoFrame);
    area->setBackgroundRole(QPalette::Base);
    area->setFocusPolicy(Qt::NoFocus); // the thumbnails have it
    return area;
}

QString nameOf(HeadId head) {
    return QString::fromStdString(headName(head.layer, head.head));
}

} // namespace

AttentionView::AttentionView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_run(new AttentionRun(document, jobs, this))
    , m_prompt(new QPlainTextEdit)
    , m_masked(new QCheckBox(tr("under the &mask")))
    , m_colours(
          new ColourControls(document, "attention", {ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::automatic}))
    , m_all(new QToolButton)
    , m_size(new QSlider(Qt::Horizontal))
    , m_title(new QLabel)
    , m_stack(new QStackedWidget)
    , m_plot(new AttentionPlot)
    , m_strip(new AttentionSheet(selection))
    , m_sheet(new AttentionSheet(selection))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_typing(new QTimer(this)) {
    m_typing->setSingleShot(true);
    m_typing->setInterval(typingMs);
    build();
    connectAll();
    restore();
}

void AttentionView::build() {
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setToolTip(tr("The text that the model runs on for the attention maps"));
    m_prompt->setPlaceholderText(tr("Type a text to see its attention maps"));
    m_prompt->setFixedHeight(fontMetrics().lineSpacing() * 3);
    m_prompt->setTabChangesFocus(true);
    m_masked->setToolTip(tr("Run the model with the current mask"));
    m_all->setText(tr("All heads"));
    m_all->setToolTip(tr("Thumbnails of all heads of the model"));
    m_all->setCheckable(true);
    m_all->setAutoRaise(true);
    m_size->setAccessibleName(tr("Thumbnail size"));
    m_size->setToolTip(tr("Thumbnail size (Ctrl+wheel)"));
    m_size->setRange(smallestSide, largestSide);
    m_size->setFixedWidth(fontMetrics().averageCharWidth() * 11);
    m_size->hide();
    m_title->setAccessibleName(tr("Head shown"));
    m_title->setTextFormat(Qt::RichText);
    auto* controls = new QWidget;
    auto* row = new QHBoxLayout(controls);
    row->setContentsMargins(8, 0, 8, 6);
    row->addWidget(m_title);
    row->addSpacing(8);
    row->addWidget(m_colours);
    row->addSpacing(8);
    row->addWidget(m_masked);
    row->addStretch();
    row->addWidget(m_size);
    row->addWidget(m_all);
    auto* prompt = new QVBoxLayout;
    prompt->setContentsMargins(8, 6, 8, 6);
    prompt->addWidget(m_prompt);

    m_strip->setSide(stripSide);
    m_stripArea = scrolling(m_strip);
    m_stripArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* single = new QWidget;
    auto* halves = new QHBoxLayout(single);
    halves->setContentsMargins(0, 0, 0, 0);
    halves->setSpacing(0);
    halves->addWidget(m_plot, 1);
    halves->addWidget(m_stripArea);
    m_stack->addWidget(single);
    m_sheetArea = scrolling(m_sheet);
    m_stack->addWidget(m_sheetArea);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(prompt);
    layout->addWidget(controls);
    layout->addWidget(m_stack, 1);
    new PassedFocus(this, [this] { return m_stack->currentIndex() == 0 ? static_cast<QWidget*>(m_plot) : m_sheet; });
}

void AttentionView::connectAll() {
    connect(m_document, &Document::opened, this, &AttentionView::restore);
    connect(m_prompt, &QPlainTextEdit::textChanged, m_typing, qOverload<>(&QTimer::start));
    connect(m_typing, &QTimer::timeout, this, [this] {
        m_document->setView("attention.prompt", m_prompt->toPlainText().toStdString());
        m_run->setPrompt(m_prompt->toPlainText());
    });
    connect(m_masked, &QCheckBox::clicked, m_run, &AttentionRun::setMasked);
    connect(m_colours, &ColourControls::changed, this, &AttentionView::showMap);
    connect(m_all, &QToolButton::toggled, this, &AttentionView::showAllHeads);
    connect(m_selection, &Selection::changed, this, &AttentionView::follow);
    connect(m_run, &AttentionRun::restarted, this, &AttentionView::restart);
    connect(m_run, &AttentionRun::tokensChanged, this, [this] {
        QStringList tokens;
        for (const std::string& label : m_run->tokens()->labels)
            tokens << QString::fromStdString(label);
        m_plot->setTokens(tokens);
    });
    connect(m_run, &AttentionRun::layerRead, this, &AttentionView::onLayerRead);
    connect(m_run, &AttentionRun::mapChanged, this, &AttentionView::showMap);
    connect(m_run, &AttentionRun::stateChanged, this, &AttentionView::showMap);
    connect(m_plot, &AttentionPlot::partWanted, m_run, &AttentionRun::showPart);
    connect(m_run, &AttentionRun::partChanged, this, [this] { m_plot->setPart(m_run->part()); });
    connect(m_plot, &AttentionPlot::hoverChanged, this, &AttentionView::updateHoverText);
    for (AttentionSheet* sheet : {m_strip, m_sheet}) {
        connect(sheet, &AttentionSheet::opened, this, &AttentionView::showHead);
        connect(sheet, &AttentionSheet::toolTipRequested, this,
                [this, sheet](const QPoint& at, HeadId head) { QToolTip::showText(at, describe(head), sheet); });
    }
    connect(m_selection, &Selection::hoverChanged, this, &AttentionView::updateHoverText);
    connect(m_sheet, &AttentionSheet::zoomWanted, this, [this](double steps, const QPointF& about) {
        resizeThumbnails(static_cast<int>(std::lround(m_sheet->side() * std::pow(sideNotch, steps))), about);
    });
    connect(m_size, &QSlider::valueChanged, this, [this](int side) {
        const QRect seen = m_sheet->visibleRegion().boundingRect();
        resizeThumbnails(side, seen.topLeft());
    });
    connect(m_actions, &FigureActions::failed, this, &AttentionView::failed);
    m_actions->setCommandCopier([this] {
        if (!m_run->isMasked())
            return false;
        emit maskedCommandWanted();
        return true;
    });
}

/// Shows the open model with the view settings kept in the session.
void AttentionView::restore() {
    const auto& view = m_document->session().view;
    const auto kept = view.find("attention.prompt");
    if (kept != view.end())
        m_run->setPrompt(QString::fromStdString(kept->second));
    const auto side = view.find("attention.side");
    const QSignalBlocker quiet(m_prompt);
    const QSignalBlocker quietSize(m_size);
    m_prompt->setPlainText(m_run->prompt());
    m_fitsWidth = side == view.end();
    m_size->setValue(m_fitsWidth ? sheetSide : QString::fromStdString(side->second).toInt());
    m_sheet->setSide(m_size->value());
    m_colours->restore();
    restart();
}

void AttentionView::restart() {
    const ModelSpec& spec = m_document->spec();
    std::vector<int> all(static_cast<std::size_t>(spec.layerCount()));
    std::iota(all.begin(), all.end(), 0);
    m_sheet->setLayers(spec, all);
    if (m_fitsWidth)
        fitThumbnails();
    m_stripLayer = -1;
    follow();
}

HeadId AttentionView::head() const {
    return m_selection->active().value_or(HeadId());
}

void AttentionView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void AttentionView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    shareWidth();
}

void AttentionView::shareWidth() {
    const int scrollBar = style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    const int room = m_stack->width() - m_stack->height() - m_plot->widthBesideMap() - scrollBar;
    m_strip->setColumns(std::clamp(room / stripStep, 1, std::max(m_document->spec().maxHeads(), 1)));
    m_stripArea->setFixedWidth(m_strip->width() + scrollBar);
    if (m_fitsWidth)
        fitThumbnails();
}

void AttentionView::fitThumbnails() {
    constexpr int widest = 112;
    const int besideMaps = m_sheet->width() - m_document->spec().maxHeads() * (m_sheet->side() + 4);
    const int room = m_stack->width() - besideMaps - style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    const QSignalBlocker quiet(m_size);
    m_size->setValue(std::clamp(room / std::max(m_document->spec().maxHeads(), 1) - 4, sheetSide, widest));
    m_sheet->setSide(m_size->value());
}

void AttentionView::follow() {
    if (!m_document->isOpen())
        return;
    if (head().layer != m_stripLayer) {
        m_stripLayer = head().layer;
        m_strip->setLayers(m_document->spec(), {m_stripLayer});
        shareWidth();
        if (m_run->isRead(m_stripLayer))
            onLayerRead(m_stripLayer);
    }
    if (isVisible()) {
        m_run->show(head());
        if (m_all->isChecked()) {
            m_run->readAll();
            const QPoint middle = m_sheet->cellRect(head()).center();
            m_sheetArea->ensureVisible(middle.x(), middle.y(), m_sheet->side(), m_sheet->side());
        }
    }
    showMap();
}

void AttentionView::onLayerRead(int layer) {
    const auto from = m_run->thumbnails().lower_bound({layer, 0});
    const auto to = m_run->thumbnails().lower_bound({layer + 1, 0});
    for (AttentionSheet* sheet : {m_strip, m_sheet}) {
        if (sheet == m_strip && layer != m_stripLayer)
            continue;
        for (auto each = from; each != to; ++each)
            sheet->setThumbnail(each->second);
        sheet->setRead(layer);
    }
}

void AttentionView::showHead(HeadId wanted) {
    m_selection->select({wanted}, Selection::Mode::replace, wanted);
    m_all->setChecked(false);
}

void AttentionView::showAllHeads(bool all) {
    m_all->setChecked(all);
    m_size->setVisible(all);
    m_stack->setCurrentIndex(all ? 1 : 0);
    follow();
}

bool AttentionView::showsAllHeads() const {
    return m_all->isChecked();
}

void AttentionView::showMap() {
    const bool isCurrent = m_run->head() == head();
    const auto map = isCurrent ? m_run->map() : nullptr;
    const std::vector<double> sample = map ? m_run->sample() : std::vector<double>();
    m_colours->offer(sample);
    const QString reason = !m_run->isAvailable()         ? tr("Maps need the model's weights: File ▸ Locate model…")
                           : !m_run->failure().isEmpty() ? m_run->failure()
                           : isCurrent                   ? tr("%1 is cut: it has no attention map").arg(nameOf(head()))
                                                         : tr("Computing the map of %1…").arg(nameOf(head()));
    ColourScale scale = m_colours->scale();
    scale.kind = usedScale(scale.kind, sample, scale.clipPercent);
    m_plot->setMap(map, ColourRange(sample, scale), reason);
    for (AttentionSheet* sheet : {m_strip, m_sheet})
        sheet->setColours(QString::fromStdString(scale.map));
    const bool isCut = m_run->tokens() && m_run->tokens()->ids.size() == AttentionRun::mostTokens;
    m_title->setText(isCut ? tr("<b>%1</b>, first %2 tokens").arg(nameOf(head())).arg(AttentionRun::mostTokens)
                           : tr("<b>%1</b>").arg(nameOf(head())));
    m_actions->setEnabled(map != nullptr);
}

void AttentionView::setFilter(const HeadFilter* filter) {
    m_strip->setFilter(filter);
    m_sheet->setFilter(filter);
}

void AttentionView::resizeThumbnails(int side, const QPointF& about) {
    m_fitsWidth = false;
    side = std::clamp(side, smallestSide, largestSide);
    const QSignalBlocker quiet(m_size);
    m_size->setValue(side);
    const double factor = static_cast<double>(side) / m_sheet->side();
    const QPointF onScreen = about + m_sheet->pos();
    m_sheet->setSide(side);
    m_sheetArea->horizontalScrollBar()->setValue(static_cast<int>(about.x() * factor - onScreen.x()));
    m_sheetArea->verticalScrollBar()->setValue(static_cast<int>(about.y() * factor - onScreen.y()));
    if (m_document->isOpen())
        m_document->setView("attention.side", std::to_string(side));
}

QString AttentionView::describe(HeadId wanted) const {
    HeadReadout pattern(m_document);
    pattern.setResult("attention_pattern");
    return pattern.value(wanted) ? pattern.describe(wanted) : nameOf(wanted);
}

void AttentionView::updateHoverText() {
    const std::optional<AttentionCell> cell = m_plot->hovered();
    if (!cell || !m_plot->map())
        return emit hoverText(m_selection->hovered() ? describe(*m_selection->hovered()) : QString());
    const auto token = [this](int index) { return QString("%1 “%2”").arg(index).arg(m_plot->tokens()[index]); };
    const AttentionPlot::Value found = m_plot->valueAt(*cell);
    const QString value = QString::fromStdString(shownNumber(found.value, 4));
    QString text = tr("%1: query %2 → key %3 = %4").arg(nameOf(head()), token(cell->query), token(cell->key), value);
    if (found.cells > 1)
        text += tr(" (maximum of %1 × %1 cells)").arg(found.cells);
    m_plot->setAccessibleDescription(text);
    emit hoverText(text);
}

Figure AttentionView::currentFigure() const {
    const auto& map = m_plot->map();
    if (!map || !m_run->tokens())
        return {};
    Figure figure =
        attentionFigure(m_document->session().model.name, head(), *map, m_run->tokens()->labels, m_colours->scale());
    if (!m_run->isMasked())
        figure.command = shellText(command({}));
    return figure;
}

CommandLine AttentionView::command(const std::string& maskFile) const {
    return plotPromptCommand(modelPath(*m_document), figureText({head(), m_colours->scale()}),
                             m_run->prompt().toStdString(), maskFile);
}

void AttentionView::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addActions(m_actions->actions());
    menu.addSeparator();
    menu.addAction(tr("&Reset zoom"), m_plot, &AttentionPlot::resetZoom);
    menu.exec(event->globalPos());
}

} // namespace secateur
