#include "widgets/weights/neuron_norms_page.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/weights/neuron_norms_plot.h"
#include "widgets/weights/unit_edges.h"

#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QStackedWidget>
#include <QToolTip>

#include <utility>

namespace secateur {

namespace {

enum ReadDirection { readUp, readGate };

} // namespace

NeuronNormsPage::NeuronNormsPage(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_selection(selection)
    , m_title(new QLabel)
    , m_read(new QComboBox)
    , m_stack(new QStackedWidget)
    , m_reason(new QLabel)
    , m_plot(new NeuronNormsPlot) {
    build();
    connectAll();
    restart();
}

void NeuronNormsPage::build() {
    m_title->setAccessibleName(tr("Layer shown"));
    m_title->setTextFormat(Qt::RichText);
    m_read->setAccessibleName(tr("Read direction"));
    m_read->setToolTip(tr("Whether the horizontal axis is the norm of the neuron's row of W_up or of W_gate"));
    m_read->addItems({tr("rows of up"), tr("rows of gate")});
    m_reason->setAccessibleName(tr("Reason for the missing picture"));
    m_reason->setAlignment(Qt::AlignCenter);
    m_reason->setWordWrap(true);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(8, 0, 8, 4);
    controls->addWidget(m_title);
    controls->addSpacing(8);
    controls->addWidget(m_read);
    controls->addStretch();
    m_stack->addWidget(m_reason);
    m_stack->addWidget(m_plot);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(controls);
    column->addWidget(m_stack, 1);
}

void NeuronNormsPage::connectAll() {
    connect(m_document, &Document::opened, this, &NeuronNormsPage::restart);
    connect(m_document, &Document::modelLocated, this, &NeuronNormsPage::restart);
    connect(m_document->masks(), &MaskEditor::maskChanged, this, &NeuronNormsPage::draw);
    connect(m_selection, &Selection::changed, this, &NeuronNormsPage::follow);
    connect(m_read, &QComboBox::activated, this, &NeuronNormsPage::draw);
    connect(m_plot, &NeuronNormsPlot::clicked, this, [this](std::size_t neuron) {
        m_plot->choose(neuron);
        const QString text = describe(neuron);
        m_plot->setAccessibleDescription(text);
        emit hoverText(text);
    });
    connect(m_plot, &NeuronNormsPlot::hovered, this, [this](std::size_t neuron) {
        const QString text = describe(neuron);
        QToolTip::showText(QCursor::pos(), text, m_plot);
        emit hoverText(text);
    });
    connect(m_jobs, &JobRunner::failed, this, &NeuronNormsPage::onEnded);
    connect(m_jobs, &JobRunner::cancelled, this,
            [this](quint64 job) { onEnded(job, tr("Cancelled. Choose a layer to go on.")); });
}

QWidget* NeuronNormsPage::picture() const {
    return m_plot;
}

int NeuronNormsPage::wantedLayer() const {
    return m_selection->active().value_or(HeadId()).layer;
}

void NeuronNormsPage::restart() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_norms.reset();
    m_plot->choose({});
    follow();
}

void NeuronNormsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void NeuronNormsPage::say(const QString& sentence) {
    m_reason->setText(sentence);
    m_stack->setCurrentIndex(0);
    m_figure = {};
    emit shown();
}

void NeuronNormsPage::follow() {
    if (!m_document->isOpen())
        return say(tr("Drop a model folder or file here"));
    if (!m_document->model())
        return say(tr("Norms need the model's weights: File ▸ Locate model…"));
    const int layer = wantedLayer();
    m_title->setText(tr("<b>Layer %1</b>").arg(layer));
    if ((m_norms && m_norms->layer == layer) || (m_job != 0 && m_jobLayer == layer))
        return;
    m_jobs->cancel(std::exchange(m_job, 0));
    m_norms.reset();
    m_plot->choose({});
    if (m_document->spec().layers[static_cast<std::size_t>(layer)].ffn == 0)
        return say(tr("Layer %1 has no MLP").arg(layer));
    say(tr("Computing the norms…"));
    if (!isVisible())
        return;
    m_jobLayer = layer;
    const auto work = [this, model = m_document->model(), layer](const Progress& progress) {
        return [this, model, norms = neuronNorms(*model, layer, progress)] {
            m_job = 0;
            if (model != m_document->model())
                return;
            m_norms = norms;
            draw();
        };
    };
    m_job = m_jobs->start(tr("Norms of neurons in layer %1").arg(layer), JobRunner::Priority::immediate, work);
}

void NeuronNormsPage::draw() {
    if (!m_norms)
        return;
    m_read->setVisible(!m_norms->gate.empty());
    const bool isGate = m_read->currentIndex() == readGate && !m_norms->gate.empty();
    FigureSeries series;
    series.label = "neurons";
    series.positions = isGate ? m_norms->gate : m_norms->up;
    series.values = m_norms->down;
    const MaskEditor& masks = *m_document->masks();
    for (std::size_t neuron = 0; neuron < series.values.size(); ++neuron) {
        series.names.push_back("N" + std::to_string(neuron));
        series.units.push_back({m_norms->layer, static_cast<int>(neuron)});
        series.places.push_back(neuron);
        series.cut.push_back(
            isCut(masks.mask(), masks.spec(), CutUnit::neuron, m_norms->layer, static_cast<int>(neuron)));
    }
    m_figure = {};
    m_figure.kind = FigureKind::scatter;
    m_figure.x.label =
        isGate ? "norm of the read direction (row of W_gate)" : "norm of the read direction (row of W_up)";
    m_figure.y.label = "norm of the write direction (column of W_down)";
    m_figure.unit = "neuron";
    m_figure.caption = figureCaption(m_document->session().model,
                                     "Norms of the neurons' directions in layer " + std::to_string(m_norms->layer));
    m_figure.series.push_back(std::move(series));
    m_plot->setFigure(m_figure);
    m_stack->setCurrentIndex(1);
    emit shown();
}

QString NeuronNormsPage::describe(std::size_t neuron) const {
    if (!m_norms || neuron >= m_norms->down.size())
        return {};
    const auto text = [](double number) { return QString::fromStdString(shownNumber(number, 4)); };
    const MarkedUnit unit{CutUnit::neuron, m_norms->layer, static_cast<int>(neuron)};
    const Hatch hatch = unitHatch(*m_document->masks(), unit);
    QString name = QString::fromStdString(unitName(unit));
    if (hatch == Hatch::cut || hatch == Hatch::both)
        name = tr("%1, cut").arg(name);
    const QString reads = m_norms->gate.empty()
                              ? tr("reads %1").arg(text(m_norms->up[neuron]))
                              : tr("reads %1, gate %2").arg(text(m_norms->up[neuron]), text(m_norms->gate[neuron]));
    return tr("%1: %2, writes %3").arg(name, reads, text(m_norms->down[neuron]));
}

void NeuronNormsPage::contextMenuEvent(QContextMenuEvent* event) {
    const std::optional<std::size_t> under = event->reason() == QContextMenuEvent::Mouse
                                                 ? m_plot->neuronAt(m_plot->mapFrom(this, QPointF(event->pos())))
                                                 : m_plot->chosen();
    if (!under || !m_norms)
        return event->ignore();
    const MarkedUnit unit{CutUnit::neuron, m_norms->layer, static_cast<int>(*under)};
    const QString name = QString::fromStdString(unitName(unit));
    const Hatch hatch = unitHatch(*m_document->masks(), unit);
    QMenu menu(this);
    menu.addAction(hatch == Hatch::cut || hatch == Hatch::both ? tr("&Restore %1").arg(name) : tr("&Cut %1").arg(name),
                   this, [this, unit] { cutOrRestoreUnit(*m_document->masks(), unit); });
    menu.addAction(tr("&Show %1 in its view").arg(name), this, [this, unit] { emit unitWanted(unit); });
    menu.exec(event->globalPos());
}

void NeuronNormsPage::onEnded(quint64 job, const QString& message) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    say(message);
}

} // namespace secateur
