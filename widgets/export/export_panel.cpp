#include "widgets/export/export_panel.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/selection.h"
#include "widgets/export/export_form.h"
#include "widgets/export/export_sizes.h"
#include "widgets/export/export_table.h"
#include "widgets/export/legal_box.h"

#include <QEvent>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QStyle>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int tablePercent = 58; ///< of the panel's width

QString panelText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString groupedNumber(double number) {
    return QString::fromStdString(grouped(static_cast<std::uint64_t>(std::llround(number))));
}

const ExportSizes::Row* rowOf(const ExportSizes& sizes, const ExportTarget* target) {
    const auto row = std::ranges::find(sizes.rows(), target, &ExportSizes::Row::target);
    return row == sizes.rows().end() ? nullptr : &*row;
}

QLabel* wrappedLabel(const QString& name) {
    auto* label = new QLabel;
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setAccessibleName(name);
    return label;
}

} // namespace

ExportPanel::ExportPanel(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_sizes(new ExportSizes(document, jobs, this))
    , m_table(new ExportTable(document, m_sizes))
    , m_parts(new QSplitter)
    , m_title(wrappedLabel(tr("Chosen export target")))
    , m_facts(wrappedLabel(tr("Size of the export")))
    , m_reasons(wrappedLabel(tr("Reasons against the target")))
    , m_legal(new LegalBox(document))
    , m_form(new ExportForm(document))
    , m_progress(new ExportProgress(document, jobs)) {
    m_reasons->setTextFormat(Qt::RichText);
    m_reasons->setTextInteractionFlags(Qt::TextBrowserInteraction);
    m_reasons->setFocusPolicy(Qt::StrongFocus);
    m_reasons->setWhatsThis(
        tr("The reasons why this target cannot hold the mask. A link selects the layers or heads concerned."));
    m_parts->addWidget(m_table);
    m_parts->addWidget(buildDetails());
    m_parts->setChildrenCollapsible(false);
    m_parts->setStretchFactor(0, tablePercent);
    m_parts->setStretchFactor(1, 100 - tablePercent);
    connect(m_parts, &QSplitter::splitterMoved, this, [this] { m_isDividedByUser = true; });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_parts);
    connect(m_table, &ExportTable::chosen, this, &ExportPanel::choose);
    connect(m_sizes, &ExportSizes::changed, this, &ExportPanel::refresh);
    connect(m_reasons, &QLabel::linkActivated, this, &ExportPanel::selectUnits);
    connect(m_form, &ExportForm::typeChosen, m_sizes, [this] { m_sizes->recompute(m_table->current()); });
    connect(m_form, &ExportForm::browseWanted, this, &ExportPanel::browseWanted);
    connect(m_form, &ExportForm::exportWanted, this, &ExportPanel::startExport);
    connect(m_progress, &ExportProgress::runningChanged, this, [this] {
        refresh();
        QTimer::singleShot(0, this, [this] { m_details->ensureWidgetVisible(m_progress, 0, 0); }); // once laid out
    });
    connect(document, &Document::opened, this, [this] {
        m_form->suggestPath();
        m_table->setCurrent(m_document->maskJobs()->exportTarget());
        refresh();
    });
    connect(document->masks(), &MaskEditor::listChanged, this, &ExportPanel::refresh); // the name is in the path
    refresh();
}

QWidget* ExportPanel::buildDetails() {
    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_title, m_facts, m_legal, m_reasons, m_form, m_progress})
        column->addWidget(widget);
    column->addStretch();
    auto* area = m_details = new QScrollArea;
    area->setWidget(content);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->viewport()->setAutoFillBackground(false); // one surface with the dock
    content->setAutoFillBackground(false);
    int least = 0;
    for (const QWidget* widget : std::initializer_list<const QWidget*>{m_legal, m_form, m_progress})
        least = std::max(least, widget->minimumSizeHint().width());
    area->setMinimumWidth(least + column->contentsMargins().left() + column->contentsMargins().right() +
                          style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    return area;
}

void ExportPanel::begin() {
    if (!m_table->current())
        m_table->setCurrent(m_document->maskJobs()->exportTarget());
    m_table->setFocus();
}

QSize ExportPanel::sizeHint() const {
    constexpr int lines = 15;
    return QWidget::sizeHint().expandedTo({0, fontMetrics().height() * lines});
}

void ExportPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    m_sizes->setWatched(true);
    refresh();
}

void ExportPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_sizes->setWatched(false);
    m_legal->endPreview();
}

void ExportPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    m_reasons->clear(); // its links keep their colour otherwise
    showReasons();
}

void ExportPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool isNarrow = width() < fontMetrics().averageCharWidth() * 100;
    if (m_isDividedByUser && isNarrow == (m_parts->orientation() == Qt::Vertical))
        return;
    m_parts->setOrientation(isNarrow ? Qt::Vertical : Qt::Horizontal);
    const int length = isNarrow ? height() : width();
    m_parts->setSizes({length * tablePercent / 100, length * (100 - tablePercent) / 100});
}

void ExportPanel::choose() {
    const ExportSizes::Row* row = rowOf(*m_sizes, m_table->current());
    if (row && row->canHold())
        m_document->maskJobs()->chooseExportTarget(row->target);
    refresh();
}

void ExportPanel::refresh() {
    if (!isVisible())
        return;
    const bool isOpen = m_document->isOpen();
    const ExportSizes::Row* row = isOpen ? rowOf(*m_sizes, m_table->current()) : nullptr;
    m_title->setText(row      ? tr("%1: %2").arg(panelText(row->target->name), panelText(row->target->summary))
                     : isOpen ? tr("Choose a target in the table.")
                              : tr("Open a model to export it."));
    showFacts();
    showReasons();
    const bool canHold = row && row->canHold();
    m_form->setVisible(canHold);
    if (canHold)
        m_form->setTarget(row->target,
                          row->size ? row->size->isOneFile : m_document->maskJobs()->isOneFile(*row->target));
    m_form->setReady(canHold && m_document->model() && !m_progress->isRunning());
    m_legal->offerFor(row ? row->target : nullptr);
}

void ExportPanel::showFacts() {
    const ExportSizes::Row* row = rowOf(*m_sizes, m_table->current());
    m_facts->setVisible(row && row->canHold());
    if (!m_facts->isVisibleTo(this))
        return;
    QStringList lines;
    if (!m_document->model())
        lines << tr("The checkpoint is needed to export.");
    else if (!row->problem.isEmpty())
        lines << row->problem;
    else if (!row->size)
        lines << tr("Computing the size…");
    else {
        const ExportSize& size = *row->size;
        lines << tr("Weight files: %1 bytes; the open model's: %2.")
                     .arg(groupedNumber(static_cast<double>(size.fileBytes)),
                          groupedNumber(static_cast<double>(size.sourceBytes)));
        lines << tr("Parameters: %1; the open model's: %2.")
                     .arg(groupedNumber(static_cast<double>(size.parameters)),
                          groupedNumber(static_cast<double>(m_document->session().model.parameters)));
        if (size.kvBytesPerToken > 0)
            lines << tr("KV cache: %1 bytes per token; the open model's: %2.")
                         .arg(groupedNumber(size.kvBytesPerToken), groupedNumber(denseCache()));
        for (const std::string& warning : size.warnings)
            lines << tr("Note: %1.").arg(QString::fromStdString(warning));
    }
    if (m_document->masks()->mask().keepsAll())
        lines << tr("The mask cuts nothing: the export is the whole model.");
    m_facts->setText(lines.join('\n'));
}

/// Bytes by which the KV cache of the dense model grows with each token.
double ExportPanel::denseCache() const {
    return m_document->prices()->price(PruningMask(m_document->spec())).kvBytesPerToken.all;
}

void ExportPanel::showReasons() {
    const ExportSizes::Row* row = rowOf(*m_sizes, m_table->current());
    m_reasons->setVisible(row && !row->canHold());
    if (!m_reasons->isVisibleTo(this))
        return;
    QStringList items;
    for (std::size_t index = 0; index < row->reasons.size(); ++index) {
        const ExportReason& reason = row->reasons[index];
        const QString text = QString::fromStdString(reason.sentence).toHtmlEscaped();
        const bool hasUnits = !headsOf(reason, m_document->spec()).empty();
        items << (hasUnits ? QString("<li><a href=\"%1\">%2</a></li>").arg(index).arg(text)
                           : QString("<li>%1</li>").arg(text));
    }
    if (items.isEmpty())
        items << tr("<li>the target is not available yet</li>");
    m_reasons->setText(tr("It cannot hold the mask:") + "<ul style=\"margin: 2px 0px 0px 12px; -qt-list-indent: 0\">" +
                       items.join(QString()) + "</ul>");
    m_reasons->setToolTip(tr("A link selects the heads concerned"));
}

void ExportPanel::selectUnits(const QString& link) {
    const ExportSizes::Row* row = rowOf(*m_sizes, m_table->current());
    const auto index = link.toUInt();
    if (!row || index >= row->reasons.size())
        return;
    const std::vector<HeadId> heads = headsOf(row->reasons[index], m_document->spec());
    m_selection->select({heads.begin(), heads.end()}, Selection::Mode::replace, heads.front());
}

void ExportPanel::startExport(const QString& path, bool mayReplace) {
    m_document->maskJobs()->chooseExportTarget(m_table->current());
    if (const JobRunner::Id job = m_document->maskJobs()->exportModel(path, mayReplace))
        m_progress->follow(job, path);
}

} // namespace secateur
