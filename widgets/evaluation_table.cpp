#include "widgets/evaluation_table.h"

#include "analysis/text.h"
#include "widgets/document.h"
#include "widgets/price_box.h"

#include <QDateTime>
#include <QLocale>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int fixedColumns = 10;

QString shown(const std::string& text) {
    return QString::fromStdString(text);
}

/// What of a task a column shows: what papers report of it.
const TaskMetric* mainMetric(const TaskEvaluation& task) {
    const auto& metrics = task.run.scores.metrics;
    const auto found = std::ranges::find(metrics, taskFormat(task.formatId).metric, &TaskMetric::id);
    return found == metrics.end() ? nullptr : &*found;
}

const TaskEvaluation* taskOf(const Evaluation& evaluation, const std::string& name) {
    const auto found = std::ranges::find(evaluation.tasks, name, &TaskEvaluation::name);
    return found == evaluation.tasks.end() ? nullptr : &*found;
}

QString whenShown(const std::string& created) {
    const QDateTime when = QDateTime::fromString(shown(created), Qt::ISODate).toLocalTime();
    const bool isToday = when.date() == QDate::currentDate();
    return isToday ? when.toString("HH:mm") : QLocale().toString(when.date(), QLocale::ShortFormat);
}

QString csvField(const QString& text) {
    if (!text.contains(',') && !text.contains('"') && !text.contains('\n'))
        return text;
    return '"' + QString(text).replace('"', "\"\"") + '"';
}

bool isDense(const Evaluation& evaluation) {
    return evaluation.mask.digest == "dense";
}

} // namespace

EvaluationTable::EvaluationTable(Document* document, QObject* parent)
    : QAbstractTableModel(parent)
    , m_document(document) {
    connect(document, &Document::opened, this, &EvaluationTable::readAll);
    connect(document, &Document::evaluationsChanged, this, &EvaluationTable::readAll);
    readAll();
}

void EvaluationTable::readAll() {
    beginResetModel();
    m_rows.clear();
    const Session& session = m_document->session();
    const PriceList* prices = m_document->prices();
    for (const Evaluation& evaluation : session.evaluations) {
        Row row{compared(session, evaluation), {}, {}};
        const SessionMask* mask = session.mask(evaluation.mask.digest);
        if (isDense(evaluation))
            row.price = prices->price(PruningMask(session.model.spec));
        else if (mask)
            row.price = prices->price(mask->record.mask);
        m_rows.push_back(std::move(row));
    }
    std::ranges::stable_partition(m_rows, [](const Row& row) { return isDense(row.evaluation); });
    listTasks();
    for (std::size_t number = 0; number < m_rows.size(); ++number)
        m_rows[number].cells = cellsOf(m_rows[number], static_cast<int>(number));
    endResetModel();
}

void EvaluationTable::listTasks() {
    m_tasks.clear();
    for (const Row& row : m_rows)
        for (const TaskEvaluation& task : row.evaluation.tasks)
            if (std::ranges::find(m_tasks, task.name) == m_tasks.end())
                m_tasks.push_back(task.name);
    m_columns = {{"#", tr("In the order they were measured")},
                 {tr("mask"), tr("Double-click brings it back"), Qt::AlignLeft},
                 {tr("heads"), tr("Heads left")},
                 {tr("parameters"), tr("Left, as if the cut were exported without zeros")},
                 {tr("perplexity"), {}},
                 {tr("Δ loss"), tr("Nats per token or word above the dense model, on the same windows, ± its standard "
                                   "error")},
                 {tr("windows"), tr("Scored; of how many")},
                 {tr("KV/token"), tr("Bytes that each token adds to a KV cache of 16-bit numbers")},
                 {tr("when"), {}},
                 {tr("tokens/s"), tr("New tokens in one second of a median run, one text at a time")}};
    for (const std::string& task : m_tasks)
        m_columns.push_back({shown(task), tr("What papers report of it: acc, acc_norm, perplexity, exact_match")});
}

std::vector<EvaluationTable::Cell> EvaluationTable::cellsOf(const Row& row, int number) const {
    const Evaluation& evaluation = row.evaluation;
    std::vector<Cell> cells(m_columns.size());
    cells[0] = {QString::number(number), number};
    cells[1] = {isDense(evaluation) ? tr("dense") : shown(evaluation.mask.name), {}};
    if (row.price) {
        cells[2] = {QString::number(row.price->heads.left), row.price->heads.left};
        const auto parameters = static_cast<double>(row.price->parameters.left);
        cells[3] = {shown(shortCount(parameters)), parameters};
        const double cache = row.price->kvBytesPerToken.left;
        cells[7] = {shown(shortBytes(cache)), cache};
    }
    if (evaluation.text) {
        const Perplexity& run = evaluation.text->perplexity;
        cells[4] = {shown(significant(run.perplexity(), 4)), run.perplexity()};
        cells[6] = {QString("%1 / %2").arg(run.windows.size()).arg(evaluation.text->windows),
                    static_cast<qulonglong>(run.windows.size())};
        if (evaluation.text->reference && !isDense(evaluation)) {
            const LossDifference& difference = evaluation.text->reference->difference;
            cells[5] = {shown(withError(difference.nats, difference.standardError)), difference.nats};
        }
    }
    cells[8] = {whenShown(evaluation.created), shown(evaluation.created)};
    if (const auto& latency = evaluation.latency) {
        const double speed = latency->tokensPerSecond(latency->run);
        cells[9] = {shown(significant(speed)), speed};
    }
    for (std::size_t i = 0; i < m_tasks.size(); ++i) {
        const TaskEvaluation* task = taskOf(evaluation, m_tasks[i]);
        if (const TaskMetric* metric = task ? mainMetric(*task) : nullptr)
            cells[fixedColumns + i] = {shown(withError(metric->value, metric->standardError)), metric->value};
    }
    return cells;
}

int EvaluationTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int EvaluationTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant EvaluationTable::data(const QModelIndex& index, int role) const {
    const Row& row = m_rows.at(static_cast<std::size_t>(index.row()));
    const auto column = static_cast<std::size_t>(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return row.cells[column].text;
    case numberRole:
        return row.cells[column].number.isValid() ? row.cells[column].number : QVariant(row.cells[column].text);
    case Qt::TextAlignmentRole:
        return static_cast<int>(m_columns[column].alignment | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (column == 1 && row.price)
            return cutSummary(*row.price);
        return column == 8 ? shown(row.evaluation.created) : QString();
    default:
        return {};
    }
}

QVariant EvaluationTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    const Column& column = m_columns.at(static_cast<std::size_t>(section));
    switch (role) {
    case Qt::DisplayRole:
        return column.title;
    case Qt::ToolTipRole:
        return column.hint;
    case Qt::TextAlignmentRole:
        return static_cast<int>(column.alignment | Qt::AlignVCenter);
    default:
        return {};
    }
}

const Evaluation& EvaluationTable::evaluation(int row) const {
    return m_rows.at(static_cast<std::size_t>(row)).evaluation;
}

QString EvaluationTable::toCsv(const std::vector<int>& rows) const {
    QStringList lines;
    QStringList titles;
    for (const Column& column : m_columns)
        titles << csvField(column.title);
    lines << titles.join(',');
    for (int number : rows) {
        QStringList fields;
        for (const Cell& cell : m_rows.at(static_cast<std::size_t>(number)).cells)
            fields << csvField(cell.number.typeId() == QMetaType::Double ? shown(exactly(cell.number.toDouble()))
                               : cell.number.isValid()                   ? cell.number.toString()
                                                                         : cell.text);
        lines << fields.join(',');
    }
    return lines.join("\r\n") + "\r\n";
}

} // namespace secateur
