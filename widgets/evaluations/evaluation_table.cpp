#include "widgets/evaluations/evaluation_table.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_names.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"

#include <QDateTime>
#include <QLocale>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace secateur {

namespace {

constexpr int fixedColumns = 10;
constexpr std::size_t shownDigits = 15; ///< of a digest: "sha256:" and eight digits
constexpr int pooledColumn = 4;         ///< in place of the perplexity, which encoders do not have

QString cellText(const std::string& text) {
    return QString::fromStdString(text);
}

/// The metric of the task's format that papers usually report; null if it was not computed. The task's column shows it.
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
    const QDateTime when = QDateTime::fromString(cellText(created), Qt::ISODate).toLocalTime();
    const bool isToday = when.date() == QDate::currentDate();
    return isToday ? when.toString("HH:mm") : QLocale().toString(when.date(), QLocale::ShortFormat);
}

QString csvField(const QString& text) {
    if (!text.contains(',') && !text.contains('"') && !text.contains('\n'))
        return text;
    return '"' + QString(text).replace('"', "\"\"") + '"';
}

bool isDense(const Evaluation& evaluation) {
    return evaluation.isOf("dense");
}

/// A key of an evaluation's mask, adapter, dtype, device and text settings. Repeated runs have the same key.
std::string keyOf(const Evaluation& evaluation) {
    std::string key = fmt::format("{}|{}|{}|{}", evaluation.mask.digest, evaluation.adapter.digest, evaluation.dtype,
                                  evaluation.device);
    if (evaluation.text) {
        const PerplexityRules& rules = evaluation.text->perplexity.rules;
        key += fmt::format("|{}|{}|{}", evaluation.text->digest, name(rules.protocol), rules.window);
    }
    return key;
}

/// A text that differs after a run was repeated, continued or extended by tasks.
std::string stateOf(const Evaluation& evaluation) {
    std::string state = fmt::format("|{}|{}|{}", evaluation.mask.name, evaluation.created, evaluation.tasks.size());
    if (evaluation.text)
        state += fmt::format("|{}|{}", evaluation.text->perplexity.windows.size(),
                             exactly(evaluation.text->perplexity.lossNats));
    if (evaluation.pooled)
        state += '|' + exactly(evaluation.pooled->distance.relative.value);
    if (evaluation.latency)
        state += '|' + exactly(evaluation.latency->tokensPerSecond(evaluation.latency->run));
    return state;
}

} // namespace

EvaluationTable::EvaluationTable(Document* document, QObject* parent)
    : QAbstractTableModel(parent)
    , m_document(document) {
    connect(document, &Document::opened, this, &EvaluationTable::readAll);
    connect(document, &Document::evaluationsChanged, this, &EvaluationTable::readChanges);
    connect(document->masks(), &MaskEditor::listChanged, this, [this] {
        if (rowCount() > 0) // a mask may have another name
            readChanges();
    });
    readAll();
}

void EvaluationTable::readAll() {
    beginResetModel();
    m_rows = listRows();
    m_tasks = tasksOf(m_rows);
    m_hasPooled = hasPooled();
    listColumns();
    for (Row& row : m_rows)
        complete(row);
    endResetModel();
}

void EvaluationTable::readChanges() {
    std::vector<Row> wanted = listRows();
    if (tasksOf(wanted) != m_tasks || hasPooled() != m_hasPooled)
        return readAll();
    removeOthers(wanted);
    for (std::size_t number = 0; number < wanted.size(); ++number)
        placeRow(std::move(wanted[number]), static_cast<int>(number));
    emit dataChanged(index(0, 0), index(rowCount() - 1, 0)); // row numbers may have changed
}

/// One row for each evaluation of the session. complete() adds prices and cell texts.
std::vector<EvaluationTable::Row> EvaluationTable::listRows() const {
    const Session& session = m_document->session();
    std::vector<Row> rows;
    if (session.evaluations.empty())
        return rows;
    const std::vector<NamedMask>& listed = m_document->masks()->state().masks;
    const std::vector<std::string> digests = m_document->listedDigests();
    std::map<std::string, int> same;
    for (std::size_t place = 0; place < session.evaluations.size(); ++place) {
        const Evaluation& evaluation = session.evaluations[place];
        Row row;
        row.place = place;
        row.key = keyOf(evaluation);
        row.key += fmt::format("|{}", same[row.key]++);
        row.mask = evaluation.mask;
        if (row.mask.digest != "dense")
            row.mask.name = shownName(row.mask, listed, digests);
        row.name = shownName(row.mask, evaluation.adapter);
        row.state = stateOf(evaluation) + '|' + row.name;
        if (const Evaluation* dense = isDense(evaluation) ? nullptr : sameText(session, evaluation, "dense"))
            row.state += stateOf(*dense);
        rows.push_back(std::move(row));
    }
    std::ranges::stable_partition(rows, [&](const Row& row) { return isDense(session.evaluations[row.place]); });
    return rows;
}

void EvaluationTable::complete(Row& row) const {
    const Session& session = m_document->session();
    const PriceList* prices = m_document->prices();
    row.evaluation = compared(session, session.evaluations[row.place]);
    row.evaluation.mask = row.mask;
    const SessionMask* mask = session.mask(row.evaluation.mask.digest);
    if (row.evaluation.mask.digest == "dense")
        row.price = prices->price(PruningMask(session.model.spec));
    else if (mask)
        row.price = prices->price(mask->record.mask);
    row.cells = cellsOf(row);
}

void EvaluationTable::removeOthers(const std::vector<Row>& wanted) {
    for (int row = rowCount() - 1; row >= 0; --row) {
        if (std::ranges::find(wanted, m_rows[static_cast<std::size_t>(row)].key, &Row::key) != wanted.end())
            continue;
        beginRemoveRows({}, row, row);
        m_rows.erase(m_rows.begin() + row);
        endRemoveRows();
    }
}

void EvaluationTable::placeRow(Row row, int to) {
    const auto at = m_rows.begin() + to;
    const auto there = std::find_if(at, m_rows.end(), [&](const Row& known) { return known.key == row.key; });
    if (there == m_rows.end()) {
        complete(row);
        beginInsertRows({}, to, to);
        m_rows.insert(at, std::move(row));
        endInsertRows();
        return;
    }
    if (there != at) {
        const int from = static_cast<int>(there - m_rows.begin());
        beginMoveRows({}, from, from, {}, to);
        std::rotate(at, there, there + 1);
        endMoveRows();
    }
    Row& known = m_rows[static_cast<std::size_t>(to)];
    known.place = row.place;
    if (known.state == row.state)
        return;
    complete(row);
    known = std::move(row);
    emit dataChanged(index(to, 0), index(to, columnCount() - 1));
}

std::vector<std::string> EvaluationTable::tasksOf(const std::vector<Row>& rows) const {
    std::vector<std::string> names;
    for (const Row& row : rows)
        for (const TaskEvaluation& task : m_document->session().evaluations[row.place].tasks)
            if (std::ranges::find(names, task.name) == names.end())
                names.push_back(task.name);
    return names;
}

void EvaluationTable::listColumns() {
    m_columns = {{"#", tr("Order of measurement")},
                 {tr("mask"), tr("Double-click to restore the mask, F2 to rename it"), Qt::AlignLeft},
                 {tr("heads"), tr("Kept heads")},
                 {tr("parameters"), tr("Kept parameters, as in an export without zeros")},
                 {tr("perplexity"), {}},
                 {tr("Δ loss"), tr("Paired difference to the dense model in nats per token or word, ± standard error")},
                 {tr("windows"), tr("Windows scored / total")},
                 {tr("KV/token"), tr("Bytes per token in a KV cache of 16-bit numbers")},
                 {tr("when"), {}},
                 {tr("tokens/s"), tr("New tokens per second of the median run, batch 1")}};
    if (hasPooled())
        m_columns[pooledColumn] = {tr("pooled distance"),
                                   tr("Distance of the pooled output from the dense model's, relative to its length")};
    for (const std::string& task : m_tasks)
        m_columns.push_back(
            {taskTitle(task),
             tr("%1: acc, acc_norm, perplexity or exact_match, whichever papers report").arg(cellText(task))});
}

/// The format of a task; with its name if another task has that format.
QString EvaluationTable::taskTitle(const std::string& task) const {
    const auto formatOf = [this](const std::string& name) {
        for (const Evaluation& evaluation : m_document->session().evaluations)
            if (const TaskEvaluation* found = taskOf(evaluation, name))
                return found->formatId;
        return std::string_view();
    };
    const QString title = shownTask(formatOf(task), cellText(task));
    const auto isSame = [&](const std::string& other) {
        return other != task && shownTask(formatOf(other), cellText(other)) == title;
    };
    return std::ranges::any_of(m_tasks, isSame) ? title + " · " + cellText(task) : title;
}

/// Whether any evaluation has a distance of pooled outputs, as those of encoders do.
bool EvaluationTable::hasPooled() const {
    const auto& all = m_document->session().evaluations;
    return std::ranges::any_of(all, [](const Evaluation& one) { return one.pooled.has_value(); });
}

bool EvaluationTable::hasSpeed() const {
    return std::ranges::any_of(m_rows, [](const Row& row) { return row.evaluation.latency.has_value(); });
}

std::vector<EvaluationTable::Cell> EvaluationTable::cellsOf(const Row& row) const {
    const Evaluation& evaluation = row.evaluation;
    std::vector<Cell> cells(m_columns.size());
    cells[nameColumn] = {isDense(evaluation) ? tr("dense") : cellText(row.name), {}};
    if (row.price) {
        cells[2] = {QString::number(row.price->heads.left), row.price->heads.left};
        const auto parameters = static_cast<double>(row.price->parameters.left);
        cells[3] = {cellText(shortCount(parameters)), parameters};
        const double cache = row.price->kvBytesPerToken.left;
        cells[7] = {cellText(shortBytes(cache)), cache};
    }
    if (evaluation.text) {
        const Perplexity& run = evaluation.text->perplexity;
        cells[4] = {cellText(shownNumber(run.perplexity(), 4)), run.perplexity()};
        cells[6] = {QString("%1 / %2").arg(run.windows.size()).arg(evaluation.text->windows),
                    static_cast<qulonglong>(run.windows.size())};
        if (evaluation.text->reference && !isDense(evaluation)) {
            const LossDifference& difference = evaluation.text->reference->difference;
            cells[5] = {cellText(shownChange(difference.nats, difference.standardError)), difference.nats};
        }
    }
    if (evaluation.pooled) {
        const MeanDistance& distance = evaluation.pooled->distance.relative;
        cells[pooledColumn] = {cellText(shownWithError(distance.value, distance.standardError)), distance.value};
    }
    cells[8] = {whenShown(evaluation.created), cellText(evaluation.created)};
    if (const auto& latency = evaluation.latency) {
        const double speed = latency->tokensPerSecond(latency->run);
        cells[speedColumn] = {cellText(shownNumber(speed)), speed};
    }
    for (std::size_t i = 0; i < m_tasks.size(); ++i) {
        const TaskEvaluation* task = taskOf(evaluation, m_tasks[i]);
        if (const TaskMetric* metric = task ? mainMetric(*task) : nullptr)
            cells[fixedColumns + i] = {cellText(metric->id == "perplexity"
                                                    ? shownWithError(metric->value, metric->standardError)
                                                    : shownShare(metric->value, metric->standardError)),
                                       metric->value};
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
    case Qt::EditRole:
    case Qt::DisplayRole:
        return column == 0 ? QString::number(index.row()) : row.cells[column].text;
    case numberRole:
        if (column == 0)
            return index.row();
        return row.cells[column].number.isValid() ? row.cells[column].number : QVariant(row.cells[column].text);
    case Qt::TextAlignmentRole:
        return static_cast<int>(m_columns[column].alignment | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (column == nameColumn)
            return nameHint(row);
        return column == 8 ? cellText(row.evaluation.created) : QString();
    default:
        return {};
    }
}

/// The name, which may be elided, the cuts of the mask, and the warnings of the evaluation.
QString EvaluationTable::nameHint(const Row& row) {
    QStringList lines{row.cells[nameColumn].text};
    if (row.price)
        lines << cutSummary(*row.price);
    if (const EvaluatedAdapter& adapter = row.evaluation.adapter; adapter.isPresent())
        lines << tr("Adapter %1, %2").arg(cellText(adapter.name), cellText(adapter.digest.substr(0, shownDigits)));
    for (const std::string& warning : row.evaluation.warnings)
        lines << cellText(warning);
    return lines.join('\n');
}

Qt::ItemFlags EvaluationTable::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    const Evaluation& row = evaluation(index.row());
    if (index.column() == nameColumn && !isDense(row) && !row.adapter.isPresent())
        flags |= Qt::ItemIsEditable;
    return flags;
}

bool EvaluationTable::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || index.column() != nameColumn)
        return false;
    m_document->renameMask(EvaluatedMask(evaluation(index.row()).mask), value.toString());
    return true;
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

std::size_t EvaluationTable::place(int row) const {
    return m_rows.at(static_cast<std::size_t>(row)).place;
}

int EvaluationTable::rowOf(std::size_t place) const {
    const auto found = std::ranges::find(m_rows, place, &Row::place);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

QString EvaluationTable::toCsv(const std::vector<int>& rows) const {
    QStringList lines;
    QStringList titles;
    for (const Column& column : m_columns)
        titles << csvField(column.title);
    lines << titles.join(',');
    for (int number : rows) {
        QStringList fields;
        fields << QString::number(number);
        const std::vector<Cell>& cells = m_rows.at(static_cast<std::size_t>(number)).cells;
        for (const Cell& cell : std::span(cells).subspan(1))
            fields << csvField(cell.number.typeId() == QMetaType::Double ? cellText(exactly(cell.number.toDouble()))
                               : cell.number.isValid()                   ? cell.number.toString()
                                                                         : cell.text);
        lines << fields.join(',');
    }
    return lines.join("\r\n") + "\r\n";
}

} // namespace secateur
