#include "widgets/masks/cut_box.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "analysis/strategies/prune.h"
#include "widgets/document/document.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/still_label.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

QString unitName(CutUnit unit) {
    switch (unit) {
    case CutUnit::head:
        return CutBox::tr("heads");
    case CutUnit::kvGroup:
        return CutBox::tr("KV groups");
    case CutUnit::neuron:
        return CutBox::tr("neurons");
    case CutUnit::attention:
        return CutBox::tr("attention layers");
    case CutUnit::mlp:
        return CutBox::tr("MLPs");
    case CutUnit::block:
        return CutBox::tr("blocks");
    }
    return {};
}

constexpr int sliderSteps = 1000;               ///< positions of a slider that stands for a percentage
constexpr std::string_view stopOption = "stop"; ///< option of strategies that can stop at the knee of the loss

bool canCutBy(const MetricInfo& metric) {
    try {
        unitOf(metric);
        return metric.pruneFirst != PruneFirst::neither && findMetric(metric.id); // no strategy ranks unknown metrics
    } catch (const Error&) {
        return false;
    }
}

bool hasOption(const StrategyInfo& strategy, std::string_view name) {
    return std::ranges::find(strategy.options, name, &OptionInfo::name) != strategy.options.end();
}

} // namespace

CutBox::CutBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_metric(new QComboBox)
    , m_end(new QComboBox)
    , m_amount(new QDoubleSpinBox)
    , m_counted(new QComboBox)
    , m_slider(new QSlider(Qt::Horizontal))
    , m_perLayer(new QCheckBox(tr("in each layer")))
    , m_again(new QCheckBox(tr("measuring again after each")))
    , m_knee(new QCheckBox(tr("up to the knee")))
    , m_effect(new StillLabel(2))
    , m_filtered(new StillLabel(2))
    , m_protected(new StillLabel)
    , m_protect(new QToolButton)
    , m_cut(new QPushButton(tr("C&ut"))) {
    setObjectName("cutBox");
    m_metric->setAccessibleName(tr("Metric to cut by"));
    m_metric->setWhatsThis(tr("The metric or strategy that ranks the units for the cut."));
    for (QWidget* field :
         {static_cast<QWidget*>(m_end), static_cast<QWidget*>(m_amount), static_cast<QWidget*>(m_metric)})
        field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // so that the panel can be narrow
    // The longest name of a unit needs all of its room. The number before it needs four digits.
    m_counted->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_counted->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    m_amount->setMinimumWidth(m_amount->fontMetrics().horizontalAdvance("000000"));
    m_end->addItems({tr("lowest"), tr("highest")});
    m_end->setAccessibleName(tr("Which end to cut"));
    m_end->setToolTip(tr("Cuts the units with the lowest or with the highest values"));
    m_amount->setAccessibleName(tr("How many to cut"));
    m_amount->findChild<QLineEdit*>()->setAccessibleName(m_amount->accessibleName());
    m_amount->setToolTip(tr("Previews the cut of this many; Cut cuts them"));
    m_counted->setAccessibleName(tr("What is counted"));
    m_counted->setToolTip(tr("The unit that the number counts"));
    m_slider->setAccessibleName(tr("How many to cut, by sliding"));
    m_slider->setToolTip(tr("Drag for a preview; release to cut"));
    m_again->setToolTip(tr("Measure the metric again after each cut, under the mask so far (Greedy-Gnorm)"));
    m_knee->setToolTip(tr("Measure the whole budget, but keep only the cuts up to the knee of the loss curve"));
    m_perLayer->setToolTip(tr("Cut this many in each layer instead of in the whole model"));
    m_cut->setWhatsThis(tr("Cuts the units that are previewed. One step of undo restores them."));
    for (QCheckBox* box : {m_again, m_knee}) {
        keepRoomWhenHidden(box);
        box->hide(); // until the metric has a strategy that cuts in steps
    }
    m_effect->setForegroundRole(QPalette::PlaceholderText);
    m_effect->setAccessibleName(tr("What would be cut"));
    m_filtered->setAccessibleName(tr("Effect of the filter"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    grid->setColumnStretch(2, 1);
    grid->addWidget(new QLabel(tr("Cut the")), 0, 0);
    grid->addWidget(m_end, 0, 1, 1, 2);
    auto* amount = new QHBoxLayout; // a row of its own, because names of units are long
    amount->addWidget(m_amount, 1);
    amount->addWidget(m_counted);
    grid->addLayout(amount, 1, 0, 1, 3);
    grid->addWidget(new QLabel(tr("by")), 2, 0);
    grid->addWidget(m_metric, 2, 1, 1, 2);
    grid->addWidget(m_slider, 3, 0, 1, 3);
    grid->addWidget(m_perLayer, 4, 0, 1, 2);
    grid->addWidget(m_cut, 4, 2);
    grid->addWidget(m_again, 5, 0, 1, 3);
    grid->addWidget(m_knee, 6, 0, 1, 3);
    grid->addWidget(m_effect, 7, 0, 1, 3);
    grid->addWidget(m_filtered, 8, 0, 1, 3);
    grid->addWidget(m_protected, 9, 0, 1, 2);
    grid->addWidget(m_protect, 9, 2, Qt::AlignRight);
    buildProtection();
    connect(m_metric, &QComboBox::activated, this, &CutBox::chooseMetric);
    connect(m_end, &QComboBox::activated, this, &CutBox::preview);
    connect(m_counted, &QComboBox::activated, this, &CutBox::readRange);
    connect(m_perLayer, &QCheckBox::clicked, this, &CutBox::readRange);
    connect(m_again, &QCheckBox::clicked, this, &CutBox::readRange);
    connect(m_knee, &QCheckBox::clicked, this, &CutBox::preview);
    connect(m_amount, &QDoubleSpinBox::valueChanged, this, &CutBox::preview);
    connect(m_slider, &QSlider::valueChanged, this,
            [this](int value) { m_amount->setValue(m_amount->maximum() * value / m_slider->maximum()); });
    connect(m_slider, &QSlider::sliderReleased, this, &CutBox::cut);
    connect(m_cut, &QPushButton::clicked, this, [this] { isStepwise() ? cutStepwise() : cut(); });
    connect(document, &Document::opened, this, &CutBox::listMetrics);
    connect(document->measurements(), &Measurements::stateChanged, this, &CutBox::listMetrics);
    connect(document->masks(), &MaskEditor::previewChanged, this, [this] {
        if (!m_document->masks()->preview() && std::exchange(m_previewing, false)) {
            const QSignalBlocker quiet(m_slider);
            m_slider->setValue(0);
            m_amount->setValue(0);
            say({});
        }
    });
    listMetrics();
}

void CutBox::buildProtection() {
    MaskEditor* masks = m_document->masks();
    auto* menu = new QMenu(m_protect);
    menu->addAction(tr("&First and last layer"), this, [masks] {
        Protection units = masks->isProtected();
        for (const int layer : {0, masks->spec().layerCount() - 1})
            units.protectLayer(masks->spec(), layer);
        masks->setProtected(units, tr("Protect the first and the last layer"));
    });
    menu->addAction(tr("&Nothing"), this, [masks] { masks->setProtected({}, tr("Protect nothing")); });
    m_protect->setText(tr("Protect"));
    m_protect->setToolTip(tr("Exclude units from cuts; P protects the selected heads"));
    m_protect->setMenu(menu);
    m_protect->setPopupMode(QToolButton::InstantPopup);
    m_protected->setForegroundRole(QPalette::PlaceholderText);
    m_protected->setAccessibleName(tr("What is protected"));
    connect(masks, &MaskEditor::protectionChanged, this, &CutBox::showProtection);
    showProtection();
}

void CutBox::showProtection() {
    const Protection& units = m_document->masks()->isProtected();
    QStringList parts;
    if (!units.layers.empty())
        parts << countText(units.layers.size(), "layer");
    if (!units.heads.empty())
        parts << countText(units.heads.size(), "head");
    m_protected->setText(parts.isEmpty() ? tr("Nothing is protected.") : tr("%1 protected").arg(parts.join(", ")));
    preview();
}

void CutBox::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    connect(filter, &HeadFilter::changed, this, &CutBox::showFilter);
    showFilter();
}

void CutBox::showFilter() {
    m_filtered->setText(m_filter->isActive() ? tr("Only %1 that pass the filter can be cut.").arg(m_filter->summary())
                                             : QString());
    preview();
}

/// The latest complete result: while the metric is measured again, the one before.
const MetricResult* CutBox::result() const {
    return m_document->session().latest(m_metric->currentData().toString().toStdString());
}

void CutBox::listMetrics() {
    const QString chosen = m_metric->currentData().toString();
    m_metric->clear();
    for (const std::string& id : m_document->measurements()->resultIds()) {
        const MetricResult* found = m_document->session().latest(id);
        if (!found || !canCutBy(*found->request.info))
            continue;
        m_metric->addItem(metricTitle(found->request), QString::fromStdString(id));
        m_metric->setItemData(m_metric->count() - 1, QString::fromStdString(id), Qt::ToolTipRole);
    }
    m_metric->setCurrentIndex(std::max(m_metric->findData(chosen), 0));
    setEnabled(m_metric->count() > 0);
    if (m_metric->currentData().toString() != chosen)
        chooseMetric();
}

void CutBox::showMetric(const QString& resultId) {
    const int index = m_metric->findData(resultId);
    if (index < 0 || index == m_metric->currentIndex() || m_previewing)
        return;
    m_metric->setCurrentIndex(index);
    chooseMetric();
}

void CutBox::chooseMetric() {
    const MetricResult* found = result();
    if (!found)
        return;
    m_metric->setToolTip(m_metric->currentData().toString());
    m_end->setCurrentIndex(found->request.info->pruneFirst == PruneFirst::high ? 1 : 0);
    m_again->setVisible(stepwise() && m_document->model() && m_document->services().prune);
    const int counted = std::max(m_counted->currentIndex(), 0);
    m_counted->clear();
    m_counted->addItems({unitName(unitOf(*found->request.info)), "%"});
    m_counted->setCurrentIndex(counted);
    readRange();
}

void CutBox::readRange() {
    const MetricResult* found = result();
    if (!found)
        return;
    m_knee->setVisible(isStepwise() && hasOption(*stepwise(), stopOption));
    m_perLayer->setEnabled(!isStepwise());
    if (isStepwise())
        m_perLayer->setChecked(false);
    const bool isShare = m_counted->currentIndex() == 1;
    const CutUnit unit = unitOf(*found->request.info);
    std::size_t most = unitCount(m_document->spec(), unit);
    if (m_perLayer->isChecked()) {
        most = 0;
        for (const LayerSpec& layer : m_document->spec().layers)
            most = std::max(most, static_cast<std::size_t>(unitsIn(layer, unit)));
    }
    m_amount->setDecimals(isShare ? 1 : 0);
    m_amount->setMaximum(isShare ? 100 : static_cast<double>(most));
    const QSignalBlocker quiet(m_slider);
    m_slider->setMaximum(isShare ? sliderSteps : std::max(static_cast<int>(std::min<std::size_t>(most, 100'000)), 1));
    preview();
}

PruneRequest CutBox::request() const {
    const MaskEditor& masks = *m_document->masks();
    const bool isShare = m_counted->currentIndex() == 1;
    const Budget budget{isShare ? m_amount->value() : std::round(m_amount->value()), isShare};
    return {byMetric(result()->request, m_end->currentIndex() == 1, m_perLayer->isChecked()), budget,
            masks.isProtected().text(m_document->spec()), 0, masks.mask()};
}

void CutBox::preview() {
    const MetricResult* found = result();
    MaskEditor& masks = *m_document->masks();
    m_cut->setEnabled(found && m_amount->value() > 0);
    if (!found || m_amount->value() <= 0 || isStepwise()) {
        if (m_previewing)
            masks.setPreview({});
        if (found && m_amount->value() > 0)
            announceStepwise();
        return;
    }
    try {
        const ModelSpec& spec = m_document->spec();
        const bool isFiltered = m_filter && m_filter->isActive();
        masks.setPreview(pruneBy(spec, request(),
                                 isFiltered ? resultOfPassing(*found, spec, m_filter->heads()).values : found->values));
        m_previewing = masks.preview().has_value();
        say(tr("Preview: nothing is cut yet."));
    } catch (const Error& error) {
        say(QString::fromStdString(error.what()));
        m_cut->setEnabled(false);
    }
}

const StrategyInfo* CutBox::stepwise() const {
    const MetricResult* found = result();
    return found ? stepwiseStrategy(found->request.info->id, m_end->currentIndex() == 1) : nullptr;
}

bool CutBox::isStepwise() const {
    return m_again->isChecked() && !m_again->isHidden();
}

/// The request for a strategy that cuts in steps. The strategy does not know the filter, so heads that do not pass it
/// are protected.
PruneRequest CutBox::stepwiseRequest() const {
    PruneRequest wanted = request();
    wanted.strategy = {stepwise(), {}, result()->request};
    if (m_knee->isChecked() && hasOption(*stepwise(), stopOption))
        wanted.strategy.options[std::string(stopOption)] = "knee";
    if (!m_filter || !m_filter->isActive())
        return wanted;
    const ModelSpec& spec = m_document->spec();
    Protection units = m_document->masks()->isProtected();
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            if (!m_filter->passes({layer, head}))
                units.protectHead(spec, {layer, head});
    wanted.protect = units.text(spec);
    return wanted;
}

/// Shows the expected duration of all steps, computed from the time of one measurement.
void CutBox::announceStepwise() {
    try {
        const auto steps = static_cast<double>(stepwise()->steps(m_document->spec(), stepwiseRequest()));
        const double seconds = steps * result()->seconds;
        say(seconds < 100 ? tr("Takes about %1 s, in the background.").arg(std::ceil(seconds))
                          : tr("Takes about %1 minutes, in the background.").arg(std::ceil(seconds / 60)));
    } catch (const Error& error) {
        say(QString::fromStdString(error.what()));
        m_cut->setEnabled(false);
    }
}

void CutBox::cutStepwise() {
    m_document->maskJobs()->prune(stepwiseRequest(), action());
}

void CutBox::say(const QString& text) {
    m_effect->setText(text);
}

QString CutBox::action() const {
    const PruneRequest wanted = request();
    const QString unit = unitName(wanted.strategy.unit());
    const QString amount = wanted.budget.isPercentage ? tr("%1 % of %2").arg(m_amount->value()).arg(unit)
                                                      : QString("%1 %2").arg(m_amount->value()).arg(unit);
    const QString by = m_metric->currentData().toString();
    return isStepwise() ? tr("Cut the %1 %2 by %3 anew each").arg(m_end->currentText(), amount, by)
                        : tr("Cut the %1 %2 by %3").arg(m_end->currentText(), amount, by);
}

void CutBox::cut() {
    MaskEditor& masks = *m_document->masks();
    if (!m_previewing)
        return;
    MaskProvenance made = provenanceOf(request(), masks.state().edited().name);
    if (m_filter && m_filter->isActive())
        made.options.emplace("filter", m_filter->text().toStdString());
    masks.applyPreview(action(), made);
}

} // namespace secateur
