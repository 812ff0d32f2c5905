#include "widgets/weights/circuits_page.h"

#include "analysis/base/text.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/colour_controls.h"
#include "widgets/weights/circuit_box.h"
#include "widgets/weights/circuit_sheet.h"
#include "widgets/weights/matrix_map.h"
#include "widgets/weights/unit_edges.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

/// The singular values of both circuits over their index, on a logarithmic scale.
Figure singularValues(const HeadCircuits& circuits) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.x.label = "index of the singular value";
    figure.y = {"singular value", true};
    for (const CircuitKind kind : {CircuitKind::queryKey, CircuitKind::outputValue}) {
        const auto& circuit = circuits.of(kind);
        if (!circuit || circuit->singularValues.empty())
            continue;
        FigureSeries series;
        series.label = kind == CircuitKind::queryKey ? "query-key" : "output-value";
        series.style = SeriesStyle::plainLine;
        const double least = 1e-7 * circuit->singularValues.front(); // below is rounding
        for (std::size_t i = 0; i < circuit->singularValues.size(); ++i) {
            if (!(circuit->singularValues[i] > least))
                break;
            series.positions.push_back(static_cast<double>(i));
            series.values.push_back(circuit->singularValues[i]);
        }
        if (!series.values.empty())
            figure.series.push_back(std::move(series));
    }
    return figure;
}

/// The share of the averaged norm's square in each rotary pair, in per cent.
Figure rotaryShares(const HeadCircuit* circuit) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.x.label = "rotary pair, fastest first";
    figure.y.label = "share of the norm (%)";
    if (!circuit || circuit->rotaryShares.empty())
        return figure;
    FigureSeries series;
    series.label = "query-key";
    for (std::size_t pair = 0; pair < circuit->rotaryShares.size(); ++pair) {
        series.positions.push_back(static_cast<double>(pair));
        series.values.push_back(100 * circuit->rotaryShares[pair]);
    }
    const double most = *std::ranges::max_element(series.values);
    figure.y.range = AxisRange{0, std::isfinite(most) && most > 0 ? 1.08 * most : 1};
    figure.series.push_back(std::move(series));
    return figure;
}

} // namespace

CircuitsPage::CircuitsPage(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_run(new CircuitRun(document, jobs, this))
    , m_title(new QLabel)
    , m_value(new QComboBox)
    , m_colours(new ColourControls(document, "circuits", {}))
    , m_foldNorm(new QCheckBox(tr("with the &norm's weight")))
    , m_augmented(new QCheckBox(tr("with &biases")))
    , m_normedHeads(new QCheckBox(tr("&QK-norm")))
    , m_queryKey(new CircuitBox(CircuitKind::queryKey, jobs))
    , m_outputValue(new CircuitBox(CircuitKind::outputValue, jobs))
    , m_curves(new FigureWidget)
    , m_shares(new FigureWidget)
    , m_sheet(new CircuitSheet(document->masks(), selection))
    , m_sheetArea(new QScrollArea) {
    build();
    connectAll();
    restart();
}

void CircuitsPage::build() {
    m_title->setAccessibleName(tr("Head shown"));
    m_title->setTextFormat(Qt::RichText);
    m_value->setAccessibleName(tr("Number of a block"));
    m_value->setToolTip(tr("Where a pixel stands for a block of numbers: their mean, or the number of the largest "
                           "magnitude"));
    m_value->addItems({tr("largest"), tr("means")});
    m_foldNorm->setToolTip(tr("Multiply the columns of the weights by the weight of the norm before attention, as the "
                              "metric gate-norm does with fold_norm"));
    m_augmented->setToolTip(tr("Append the biases of queries and keys as one more column"));
    m_normedHeads->setToolTip(tr("Divide out the scale of queries and keys, and fold in the weights of their norms"));
    m_curves->setAccessibleName(tr("Singular values of both circuits"));
    m_shares->setAccessibleName(tr("Share of each rotary pair"));
    for (FigureWidget* figure : {m_curves, m_shares}) {
        figure->setMinimumHeight(80);
        figure->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    }
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(8, 0, 8, 4);
    controls->setSpacing(6);
    controls->addWidget(m_title);
    controls->addSpacing(4);
    controls->addWidget(m_value);
    controls->addWidget(m_colours);
    for (QCheckBox* option : {m_foldNorm, m_augmented, m_normedHeads})
        controls->addWidget(option);
    controls->addStretch();
    auto* maps = new QHBoxLayout;
    maps->setSpacing(4);
    maps->addWidget(m_queryKey, 1);
    maps->addWidget(m_outputValue, 1);
    auto* curves = new QHBoxLayout;
    curves->setSpacing(4);
    curves->addWidget(m_curves, 1);
    curves->addWidget(m_shares, 1);
    auto* left = new QVBoxLayout;
    left->setSpacing(2);
    left->addLayout(maps, 5);
    left->addLayout(curves, 3);
    m_sheetArea->setWidget(m_sheet);
    m_sheetArea->setFrameShape(QFrame::NoFrame);
    m_sheetArea->setBackgroundRole(QPalette::Base);
    m_sheetArea->setFocusPolicy(Qt::NoFocus); // the thumbnails have it
    m_sheetArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* halves = new QHBoxLayout;
    halves->setSpacing(0);
    halves->addLayout(left, 1);
    halves->addWidget(m_sheetArea);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(controls);
    column->addLayout(halves, 1);
}

void CircuitsPage::connectAll() {
    connect(m_run, &CircuitRun::restarted, this, &CircuitsPage::restart);
    connect(m_run, &CircuitRun::circuitsChanged, this, &CircuitsPage::showCircuits);
    connect(m_run, &CircuitRun::thumbnailMade, this,
            [this](HeadId head) { m_sheet->setThumbnail(head, m_run->thumbnails().at(head)); });
    connect(m_selection, &Selection::changed, this, &CircuitsPage::follow);
    for (const auto changed : {&MaskEditor::maskChanged, &MaskEditor::previewChanged, &MaskEditor::listChanged})
        connect(m_document->masks(), changed, this, &CircuitsPage::followMask);
    connect(m_document, &Document::opened, m_colours, &ColourControls::restore);
    connect(m_colours, &ColourControls::changed, this, [this] {
        for (CircuitBox* box : {m_queryKey, m_outputValue})
            box->setScale(m_colours->scale());
    });
    connect(m_value, &QComboBox::activated, this, [this](int index) {
        for (CircuitBox* box : {m_queryKey, m_outputValue})
            box->setValue(index == 0 ? BlockValue::largest : BlockValue::mean);
    });
    for (QCheckBox* option : {m_foldNorm, m_augmented, m_normedHeads})
        connect(option, &QCheckBox::clicked, this, &CircuitsPage::applyOptions);
    for (CircuitBox* box : {m_queryKey, m_outputValue}) {
        connect(box, &CircuitBox::cursorChanged, this, [this, box] {
            const QString text = box->readout();
            if (!text.isEmpty())
                box->map()->setAccessibleDescription(text);
            emit hoverText(text);
        });
        connect(box, &CircuitBox::shown, this, &CircuitsPage::shown);
    }
    m_colours->offer({}, true); // circuits have both signs
}

HeadId CircuitsPage::head() const {
    return m_selection->active().value_or(HeadId());
}

QWidget* CircuitsPage::picture() const {
    return m_queryKey->map();
}

void CircuitsPage::applyOptions() {
    m_run->setOptions({m_foldNorm->isChecked(), m_augmented->isChecked(), m_normedHeads->isChecked()});
}

void CircuitsPage::restart() {
    m_sheet->clear();
    for (QCheckBox* option : {m_augmented, m_normedHeads})
        option->setVisible(false);
    if (m_document->isOpen()) {
        const std::vector<LayerSpec>& layers = m_document->spec().layers;
        m_augmented->setVisible(
            std::ranges::any_of(layers, [](const LayerSpec& layer) { return layer.queryBias || layer.keyBias; }));
        m_normedHeads->setVisible(std::ranges::any_of(layers, &LayerSpec::normsHeads));
    }
    follow();
    showCircuits();
}

void CircuitsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void CircuitsPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    constexpr int charactersForSheet = 100;
    m_sheetArea->setVisible(width() > charactersForSheet * fontMetrics().averageCharWidth());
    m_sheet->revealActive();
}

/// The heads of the layer, then selected heads of other layers.
void CircuitsPage::listHeads() {
    std::vector<HeadId> heads;
    const int layer = head().layer;
    for (int index = 0; index < m_document->spec().layers[static_cast<std::size_t>(layer)].heads; ++index)
        heads.push_back({layer, index});
    for (const HeadId& other : m_selection->heads())
        if (other.layer != layer)
            heads.push_back(other);
    if (heads != m_sheet->heads())
        m_sheet->setHeads(heads, layer);
    m_sheetArea->setFixedWidth(m_sheet->width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    m_run->showThumbnails(heads);
    m_sheet->revealActive();
}

void CircuitsPage::follow() {
    if (!m_document->isOpen() || !isVisible())
        return;
    if (m_run->isAvailable()) {
        m_run->show(head());
        listHeads();
    }
    if (m_run->head() != head())
        showCircuits();
}

void CircuitsPage::followMask() {
    if (!m_document->isOpen())
        return;
    const Hatch hatch = unitHatch(*m_document->masks(), {CutUnit::head, head().layer, head().head});
    m_queryKey->setHatch(hatch);
    m_outputValue->setHatch(hatch);
    const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head().layer)];
    const QString name = QString::fromStdString(headName(head().layer, head().head));
    QString text = QString("<b>%1</b>").arg(name);
    if (layer.kvHeads > 0 && layer.kvHeads < layer.heads)
        text = tr("%1, KV group %2").arg(text).arg(layer.kvGroup(head().head));
    m_title->setText(hatch == Hatch::cut || hatch == Hatch::both ? tr("%1, cut").arg(text) : text);
}

QString CircuitsPage::reason() const {
    if (!m_document->isOpen())
        return tr("Drop a model folder or file here");
    if (!m_run->isAvailable())
        return tr("Circuits need the model's weights: File ▸ Locate model…");
    if (!m_run->failure().isEmpty())
        return m_run->failure();
    return m_run->head() == head() ? tr("This layer has no such circuit") : tr("Computing the circuits…");
}

void CircuitsPage::showCircuits() {
    followMask();
    const bool isCurrent = m_run->head() == head();
    const Hatch hatch = m_document->isOpen()
                            ? unitHatch(*m_document->masks(), {CutUnit::head, head().layer, head().head})
                            : Hatch::none;
    for (CircuitBox* box : {m_queryKey, m_outputValue}) {
        const CircuitKind kind = box == m_queryKey ? CircuitKind::queryKey : CircuitKind::outputValue;
        const auto& circuit = m_run->circuits().of(kind);
        box->setScale(m_colours->scale());
        if (isCurrent && circuit)
            box->show(circuit, m_value->currentIndex() == 0 ? BlockValue::largest : BlockValue::mean, hatch);
        else
            box->say(reason());
    }
    showCurves();
    emit shown();
}

void CircuitsPage::showCurves() {
    const bool isCurrent = m_run->head() == head();
    m_curvesFigure = singularValues(isCurrent ? m_run->circuits() : HeadCircuits());
    m_sharesFigure = rotaryShares(isCurrent ? m_run->circuits().queryKey.get() : nullptr);
    m_curves->setVisible(!m_curvesFigure.series.empty());
    m_shares->setVisible(!m_sharesFigure.series.empty());
    if (m_curves->isVisibleTo(this))
        m_curves->setFigure(m_curvesFigure);
    if (m_shares->isVisibleTo(this))
        m_shares->setFigure(m_sharesFigure);
}

/// The figure as the command line draws it.
std::string CircuitsPage::figureText() const {
    std::string text = "circuit:layer=" + std::to_string(head().layer) + ":head=" + std::to_string(head().head);
    const CircuitOptions& options = m_run->options();
    for (const auto& [isOn, name] :
         {std::pair(options.foldNorm, "fold_norm"), std::pair(options.augmented, "augmented"),
          std::pair(options.normedHeads, "qk_norm")})
        if (isOn)
            text += std::string(":") + name + "=true";
    if (m_value->currentIndex() != 0)
        text += ":show=mean";
    return text + ":clip=" + exactly(m_colours->scale().clipPercent);
}

bool CircuitsPage::hasPicture() const {
    return m_queryKey->map()->tile() || m_outputValue->map()->tile();
}

Figure CircuitsPage::currentFigure() const {
    Figure grid;
    const std::string& model = m_document->session().model.name;
    for (const CircuitBox* box : {m_queryKey, m_outputValue})
        if (Figure figure = box->figure(model); !figure.cells.empty())
            grid.parts.push_back(std::move(figure));
    if (grid.parts.size() == 1)
        return grid.parts.front();
    if (grid.parts.empty())
        return grid;
    if (!m_curvesFigure.series.empty())
        grid.parts.push_back(m_curvesFigure);
    if (!m_sharesFigure.series.empty())
        grid.parts.push_back(m_sharesFigure);
    grid.kind = FigureKind::grid;
    grid.gridColumns = 2;
    grid.caption = grid.parts[0].caption;
    const bool showsAll = m_queryKey->map()->showsAll() && m_outputValue->map()->showsAll();
    if (showsAll)
        grid.command = shellText(plotCommand(modelPath(*m_document), figureText()));
    return grid;
}

} // namespace secateur
