#include "widgets/export/export_table.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/export/export_sizes.h"

#include <QEvent>
#include <QHeaderView>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

enum Column { nameColumn, fitsColumn, typeColumn, bytesColumn, cacheColumn, parametersColumn, opensColumn, columns };
constexpr int placeOfSource = 0;

QString cellText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString allDigits(double number) {
    return cellText(grouped(static_cast<std::uint64_t>(std::llround(number))));
}

/// "71.2 MB, −27 %"
QString besideSource(const std::string& shown, double number, double source) {
    const QString text = cellText(shown);
    if (source <= 0 || number == source)
        return text;
    const double percent = 100 * (number / source - 1);
    const QString sign = percent < 0 ? QStringLiteral("\u2212") : QStringLiteral("+");
    return QString("%1, %2%3 %")
        .arg(text, sign, QString::number(std::abs(percent), 'f', std::abs(percent) < 9.95 ? 1 : 0));
}

} // namespace

ExportTable::ExportTable(Document* document, ExportSizes* sizes, QWidget* parent)
    : QTreeWidget(parent)
    , m_document(document)
    , m_sizes(sizes) {
    setAccessibleName(tr("Export targets"));
    setWhatsThis(
        tr("The forms in which the pruned model can be saved, with their sizes. The details of the chosen row are "
           "beside the table. The first row is the open model."));
    setHeaderLabels({tr("Target"), tr("Fits"), tr("Type"), tr("Weight files"), tr("KV cache/token"), tr("Parameters"),
                     tr("Opens in")});
    headerItem()->setToolTip(fitsColumn,
                             tr("Whether the target can hold the current mask; the reasons are beside the table"));
    headerItem()->setToolTip(typeColumn, tr("Stored type of the matrices"));
    headerItem()->setToolTip(bytesColumn, tr("Size of the weight files, exact before anything is written"));
    headerItem()->setToolTip(cacheColumn, tr("Growth of the KV cache with each token, in 16-bit floats"));
    setRootIsDecorated(false);
    setUniformRowHeights(true);
    setAllColumnsShowFocus(true);
    setSelectionMode(SingleSelection);
    setEditTriggers(NoEditTriggers);
    setHorizontalScrollMode(ScrollPerPixel);
    header()->setStretchLastSection(true);
    build();
    connect(sizes, &ExportSizes::changed, this, &ExportTable::refresh);
    connect(this, &QTreeWidget::currentItemChanged, this, &ExportTable::chosen);
    refresh();
}

void ExportTable::build() {
    auto* source = new QTreeWidgetItem(this, {tr("open model")});
    source->setFlags(Qt::ItemIsEnabled);
    QFont italic = font();
    italic.setItalic(true);
    for (int column = 0; column < columns; ++column)
        source->setFont(column, italic);
    for (const ExportTarget& target : m_document->services().exportTargets) {
        auto* item = new QTreeWidgetItem(this, {cellText(target.name)});
        item->setToolTip(nameColumn, tr("%1. Opens in %2.").arg(cellText(target.summary), cellText(target.opensIn)));
        item->setText(opensColumn, cellText(target.opensIn));
        item->setToolTip(opensColumn, cellText(target.opensIn));
    }
    for (int row = 0; row < topLevelItemCount(); ++row)
        for (const int column : {bytesColumn, cacheColumn, parametersColumn})
            topLevelItem(row)->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
}

const ExportTarget* ExportTable::current() const {
    const int row = indexOfTopLevelItem(currentItem()) - 1;
    const auto targets = m_document->services().exportTargets;
    return row >= 0 && row < std::ssize(targets) ? &targets[static_cast<std::size_t>(row)] : nullptr;
}

void ExportTable::setCurrent(const ExportTarget* target) {
    const auto targets = m_document->services().exportTargets;
    for (std::size_t row = 0; row < targets.size(); ++row)
        if (&targets[row] == target)
            setCurrentItem(topLevelItem(static_cast<int>(row) + 1));
}

QSize ExportTable::sizeHint() const {
    const int rows = sizeHintForRow(0) * topLevelItemCount() + header()->sizeHint().height();
    return {fontMetrics().averageCharWidth() * 100, rows + 2 * frameWidth()};
}

QSize ExportTable::minimumSizeHint() const {
    return {fontMetrics().averageCharWidth() * 30, sizeHintForRow(0) * 3 + header()->sizeHint().height()};
}

void ExportTable::changeEvent(QEvent* event) {
    QTreeWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        refresh();
}

void ExportTable::fillSource() {
    QTreeWidgetItem* item = topLevelItem(placeOfSource);
    const ModelCard& card = m_document->session().model;
    const double cache = m_document->prices()->price(PruningMask(m_document->spec())).kvBytesPerToken.all;
    const auto bytes = m_sizes->sourceBytes();
    item->setText(typeColumn, cellText(card.dtype));
    item->setText(bytesColumn, bytes ? cellText(shortBytes(static_cast<double>(*bytes))) : QString());
    item->setToolTip(bytesColumn, bytes ? tr("%1 bytes").arg(allDigits(static_cast<double>(*bytes))) : QString());
    item->setText(cacheColumn, cache > 0 ? cellText(shortBytes(cache)) : QStringLiteral("–"));
    item->setToolTip(cacheColumn, tr("%1 bytes").arg(allDigits(cache)));
    item->setText(parametersColumn, cellText(shortCount(static_cast<double>(card.parameters))));
    item->setToolTip(parametersColumn, allDigits(static_cast<double>(card.parameters)));
}

void ExportTable::refresh() {
    if (!m_document->isOpen() || m_sizes->rows().empty())
        return;
    fillSource();
    const double sourceCache = m_document->prices()->price(PruningMask(m_document->spec())).kvBytesPerToken.all;
    const double sourceCount = static_cast<double>(m_document->session().model.parameters);
    for (std::size_t index = 0; index < m_sizes->rows().size(); ++index) {
        const ExportSizes::Row& row = m_sizes->rows()[index];
        QTreeWidgetItem* item = topLevelItem(static_cast<int>(index) + 1);
        QStringList reasons;
        for (const ExportReason& reason : row.reasons)
            reasons << QString::fromStdString(reason.sentence);
        if (row.reasons.empty() && !row.target->writer)
            reasons << tr("The target is not available yet.");
        const std::string type = m_document->maskJobs()->exportType(row.target);
        item->setText(fitsColumn, row.canHold() ? tr("yes") : tr("no"));
        item->setToolTip(fitsColumn, reasons.join('\n'));
        item->setText(typeColumn, !row.canHold() ? QString() : type.empty() ? tr("as stored") : cellText(type));
        const QBrush colour = row.canHold() ? QBrush() : palette().brush(QPalette::PlaceholderText);
        for (int column = 0; column < columns; ++column)
            item->setForeground(column, colour);
        const bool isKnown = row.canHold() && row.size;
        const bool willBeKnown = row.problem.isEmpty() && m_document->model();
        const QString missing = !row.canHold() ? QString() : willBeKnown ? QStringLiteral("…") : QStringLiteral("–");
        for (const int column : {bytesColumn, cacheColumn, parametersColumn}) {
            item->setText(column, missing);
            item->setToolTip(column, row.problem);
        }
        if (!isKnown)
            continue;
        const auto bytes = static_cast<double>(row.size->fileBytes);
        const auto count = static_cast<double>(row.size->parameters);
        const double cache = row.size->kvBytesPerToken;
        item->setText(bytesColumn, besideSource(shortBytes(bytes), bytes, static_cast<double>(row.size->sourceBytes)));
        item->setToolTip(bytesColumn, tr("%1 bytes").arg(allDigits(bytes)));
        item->setText(cacheColumn,
                      sourceCache > 0 ? besideSource(shortBytes(cache), cache, sourceCache) : QStringLiteral("–"));
        item->setToolTip(cacheColumn, tr("%1 bytes").arg(allDigits(cache)));
        item->setText(parametersColumn, besideSource(shortCount(count), count, sourceCount));
        item->setToolTip(parametersColumn, allDigits(count));
    }
    for (int column = 0; column < opensColumn; ++column)
        resizeColumnToContents(column);
}

} // namespace secateur
