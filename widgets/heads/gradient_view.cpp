#include "widgets/heads/gradient_view.h"

#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/colour_controls.h"
#include "widgets/results/text_combo.h"

#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QStackedWidget>

#include <array>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

enum CutChoice { activeHead, currentMask };

/// The work of compute() in forward passes: two runs, each forward and backward. The backward pass takes about twice as
/// long as the forward pass.
constexpr double passesOfChange = 6;

QString waitText(double seconds) {
    return seconds < 100 ? GradientView::tr("about %1 s").arg(std::ceil(seconds))
                         : GradientView::tr("about %1 min").arg(std::ceil(seconds / 60));
}

void addField(QHBoxLayout& row, const QString& text, QComboBox* field, const QString& name, const QString& help) {
    auto* label = new QLabel(text);
    label->setBuddy(field);
    field->setAccessibleName(name);
    field->setToolTip(help);
    row.addWidget(label);
    row.addWidget(field);
    row.addSpacing(8);
}

} // namespace

GradientView::GradientView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_selection(selection)
    , m_cut(new QComboBox)
    , m_layer(new QComboBox)
    , m_text(new TextCombo)
    , m_colours(new ColourControls(document, "gradient_change", {}))
    , m_compute(new QPushButton(tr("Compu&te")))
    , m_wait(new QLabel)
    , m_title(new QLabel)
    , m_reason(new QLabel)
    , m_stack(new QStackedWidget)
    , m_plot(new FigureWidget)
    , m_actions(new FigureActions(this, [this] { return currentFigure(); })) {
    build();
    connectAll();
    restart();
}

void GradientView::build() {
    m_cut->addItems({tr("the active head"), tr("the current mask")});
    auto* first = new QHBoxLayout;
    first->setContentsMargins(8, 6, 8, 6);
    first->setSpacing(6);
    addField(*first, tr("Cutti&ng"), m_cut, tr("Cut"), tr("The cut whose effect on the gradients is computed"));
    addField(*first, tr("&on"), m_text, tr("Text to measure on"), tr("The text whose loss the gradients are taken of"));
    m_compute->setToolTip(tr("Runs the text through the model twice, without the cut and with it"));
    first->addWidget(m_compute);
    m_wait->setAccessibleName(tr("Expected time"));
    m_wait->setForegroundRole(QPalette::PlaceholderText);
    first->addWidget(m_wait);
    first->addStretch();
    auto* second = new QHBoxLayout;
    second->setContentsMargins(8, 0, 8, 6);
    second->setSpacing(6);
    addField(*second, tr("La&yer"), m_layer, tr("Layer shown"),
             tr("Draws the heads of all layers, or of this layer only"));
    second->addWidget(m_colours);
    second->addStretch();
    m_title->setAccessibleName(tr("Title of the picture"));
    m_title->setTextFormat(Qt::RichText);
    m_title->setContentsMargins(8, 0, 8, 6);
    m_reason->setAccessibleName(tr("Reason for the missing picture"));
    m_reason->setAlignment(Qt::AlignCenter);
    m_reason->setWordWrap(true);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    m_stack->addWidget(m_reason);
    m_stack->addWidget(m_plot);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(first);
    layout->addLayout(second);
    layout->addWidget(m_title);
    layout->addWidget(m_stack, 1);
}

void GradientView::connectAll() {
    connect(m_document, &Document::opened, this, &GradientView::restart);
    connect(m_document, &Document::modelLocated, this, &GradientView::follow);
    connect(m_document->masks(), &MaskEditor::maskChanged, this, &GradientView::follow);
    connect(m_selection, &Selection::changed, this, &GradientView::follow);
    connect(m_document->measurements(), &Measurements::measuringChosen, this,
            [this] { m_text->setPath(QString::fromStdString(m_document->measurements()->measureChoice().text)); });
    connect(m_text, &TextCombo::chosen, this, [this] {
        MeasureChoice choice = m_document->measurements()->measureChoice();
        choice.text = m_text->path().toStdString();
        m_document->measurements()->chooseMeasuring(choice, m_document->measurements()->measuresMasked());
    });
    connect(m_cut, &QComboBox::activated, this, &GradientView::follow);
    connect(m_layer, &QComboBox::activated, this, &GradientView::draw);
    connect(m_colours, &ColourControls::changed, this, &GradientView::draw);
    connect(m_compute, &QPushButton::clicked, this, &GradientView::compute);
    connect(m_actions, &FigureActions::failed, this, &GradientView::failed);
    connect(m_jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction) {
        if (job != m_job || m_job == 0)
            return;
        m_fraction = fraction;
        showWait();
    });
    connect(m_jobs, &JobRunner::failed, this, &GradientView::onEnded);
    connect(m_jobs, &JobRunner::cancelled, this, [this](quint64 job) { onEnded(job, tr("Computing was cancelled.")); });
}

void GradientView::restart() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_jobs->cancel(std::exchange(m_timing, 0));
    m_timed.reset();
    m_secondsPerPass.reset();
    m_shown.reset();
    m_change = {};
    m_failure.clear();
    m_text->setPath(QString::fromStdString(m_document->measurements()->measureChoice().text));
    m_colours->restore();
    m_layer->clear();
    m_layer->addItem(tr("all"));
    for (int layer = 0; m_document->isOpen() && layer < m_document->spec().layerCount(); ++layer)
        m_layer->addItem(QString::number(layer));
    follow();
    draw();
}

std::optional<GradientView::Request> GradientView::request() const {
    if (!m_document->model() || !m_document->services().gradientChange)
        return std::nullopt;
    const PruningMask& mask = m_document->masks()->mask();
    Request found{{mask, mask, "auto"}, {}, {}};
    if (m_cut->currentIndex() == currentMask) {
        found.masks.before = PruningMask(m_document->spec());
        found.cut = QString::fromStdString(m_document->masks()->state().edited().name);
    } else if (const std::optional<HeadId> head = m_selection->active()) {
        setHeads(found.masks.after, std::array{*head}, false);
        found.figure.cut = head;
        found.cut = QString::fromStdString(headName(head->layer, head->head));
    }
    return found.masks.before == found.masks.after ? std::nullopt : std::optional(std::move(found));
}

QString GradientView::reason() const {
    if (!m_document->isOpen())
        return tr("Drop a model folder or file here");
    if (!m_document->model())
        return tr("Gradients need the model's weights: File ▸ Locate model…");
    if (m_job != 0)
        return tr("Computing…");
    if (!m_failure.isEmpty())
        return m_failure;
    if (request())
        return tr("Press Compute to see how this cut changes the gradients of all query weights");
    return m_cut->currentIndex() == currentMask ? tr("The current mask cuts nothing: cut some heads first")
                                                : tr("Select a head that is not cut, in any picture");
}

void GradientView::follow() {
    const std::optional<Request> now = request();
    m_compute->setEnabled(now && m_job == 0);
    m_compute->setText(now ? tr("Compu&te %1").arg(now->cut) : tr("Compu&te"));
    m_reason->setText(reason());
    showTitle();
    if (isVisible())
        timeModel();
    showWait();
}

bool GradientView::isStale() const {
    if (!m_shown || !m_document->isOpen())
        return false;
    const bool isOfMask = !m_shown->figure.cut;
    return (isOfMask ? m_shown->masks.after : m_shown->masks.before) != m_document->masks()->mask();
}

void GradientView::showTitle() {
    if (!m_shown)
        return;
    const QString title = tr("<b>%1 cut</b>: change of ∂F/∂W_q by this cut, rows are heads").arg(m_shown->cut);
    m_title->setText(isStale() ? tr("%1 – <i>computed under another mask; Compute brings it up to date</i>").arg(title)
                               : title);
}

std::optional<double> GradientView::expectedSeconds() const {
    return m_secondsPerPass ? std::optional(passesOfChange * *m_secondsPerPass) : std::nullopt;
}

void GradientView::timeModel() {
    const std::shared_ptr<const Model> model = m_document->model();
    if (!model || model == m_timed || !request())
        return;
    m_timed = model;
    const auto work = [this, model,
                       chosen = m_document->measurements()->measureChoice().tokens](const Progress& progress) {
        const auto plan = model->runner().plan(PruningMask(model->spec()));
        const RunSpeed speed = runSpeed(*model, *plan, progress);
        const std::int64_t tokens = chosen > 0 ? chosen : interactiveTokens(speed, model->spec());
        constexpr int positions = 512;
        const double seconds = runSeconds(speed, model->spec(), plan->mask(), {tokens, positions, tokens});
        return [this, model, seconds] {
            m_timing = 0;
            if (model != m_timed)
                return;
            m_secondsPerPass = seconds;
            showWait();
        };
    };
    m_timing = m_jobs->start(tr("Timing a layer"), JobRunner::Priority::background, work);
}

/// The remaining time while it computes, otherwise the expected time.
void GradientView::showWait() {
    constexpr double enough = 0.05; // of the work, for an estimate from its own speed
    const std::optional<double> expected = expectedSeconds();
    QString text;
    if (m_job != 0 && m_fraction > enough)
        text = tr("%1 left").arg(waitText(1e-3 * m_running.elapsed() * (1 - m_fraction) / m_fraction));
    else if (expected && (m_job != 0 || request()))
        text = waitText(*expected);
    m_wait->setText(text);
}

void GradientView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void GradientView::compute() {
    const std::optional<Request> now = request();
    if (!now || m_job != 0)
        return;
    m_failure.clear();
    m_fraction = 0;
    m_running.start();
    const auto work = [this, change = m_document->services().gradientChange, model = m_document->model(), now = *now,
                       choice = m_document->measurements()->measureChoice()](const Progress& progress) {
        GradientChange found = change(*model, now.masks, choice, progress);
        return [this, now, text = choice.text, found = std::move(found)] {
            m_shownText = text;
            take(now, found);
        };
    };
    m_job = m_jobs->start(tr("Gradients with %1 cut").arg(now->cut), JobRunner::Priority::background, work);
    follow();
}

void GradientView::take(const Request& request, GradientChange change) {
    m_job = 0;
    m_shown = request;
    m_change = std::move(change);
    follow();
    draw();
}

void GradientView::onEnded(quint64 job, const QString& message) {
    if (job == m_timing)
        m_timing = 0; // computing works without an estimate
    if (job != m_job || m_job == 0)
        return;
    m_job = 0;
    m_failure = message;
    follow();
    if (m_shown)
        m_title->setText(message.toHtmlEscaped());
}

void GradientView::draw() {
    m_stack->setCurrentIndex(m_shown ? 1 : 0);
    m_actions->setEnabled(m_shown.has_value());
    m_title->setVisible(m_shown.has_value());
    if (!m_shown)
        return;
    std::vector<double> values;
    for (const Matrix& layer : m_change.layers)
        values.insert(values.end(), layer.values().begin(), layer.values().end());
    m_colours->offer(values, true);
    showTitle();
    m_plot->setFigure(currentFigure());
}

Figure GradientView::currentFigure() const {
    if (!m_shown)
        return {};
    GradientFigureRequest request = m_shown->figure;
    if (m_layer->currentIndex() > 0)
        request.layer = m_layer->currentIndex() - 1;
    request.scale = m_colours->scale();
    Figure figure = gradientChangeFigure(m_document->session().model, m_change, request.layer,
                                         m_shown->cut.toStdString(), request.scale);
    if (!m_shown->masks.before.keepsAll() || !request.cut)
        return figure; // the command would need a mask file
    CommandLine command = plotCommand(modelPath(*m_document), figureText(request));
    if (!m_shownText.empty())
        command.insert(command.end(), {"--text", m_shownText});
    command.insert(command.end(), {"--max-tokens", std::to_string(m_change.tokens)});
    figure.command = shellText(command);
    return figure;
}

void GradientView::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
