#include "analysis/gallery/paper_tables.h"

#include "analysis/base/text.h"
#include "analysis/strategies/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace secateur {

namespace {

std::vector<TablePoints> pointsOf(const PointTable& table) {
    std::vector<TablePoints> points;
    for (const PointRow& row : table.rows)
        points.push_back(row.points);
    return points;
}

/// PublishedValue::strategy of a row.
std::string publishedStrategy(const PointRow& row) {
    if (row.points.strategy.empty())
        return std::string(publishedDense);
    return row.points.strategy + std::string(row.points.isRecovered ? publishedRecovered : "");
}

std::string publishedBudget(const PointRow& row) {
    if (row.points.strategy.empty())
        return "0";
    return row.paperBudget.empty() ? budgetText(row.points.budget) : row.paperBudget;
}

/// A row of the paper: its values by column.
struct PublishedRow {
    std::string_view row;
    std::string_view budget;
    std::string strategy;
    std::string ourBudget;
    std::map<std::string_view, PublishedValue> values = {};
    bool isUsed = false;
};

std::vector<PublishedRow> publishedRows(const Session& session, const PointTable& table) {
    std::vector<PublishedRow> rows;
    for (const PublishedValue& value : publishedFor(table.item, session.model, table.published)) {
        auto found = std::ranges::find_if(
            rows, [&](const PublishedRow& row) { return row.row == value.row && row.budget == value.budget; });
        if (found == rows.end())
            found = rows.insert(rows.end(),
                                {value.row, value.budget, std::string(value.strategy), std::string(value.ourBudget)});
        found->values[value.column] = value;
    }
    return rows;
}

class TableMaker {
public:
    TableMaker(const Session& session, const PointTable& choice)
        : m_choice(choice)
        , m_source(session, pointsOf(choice))
        , m_published(publishedRows(session, choice)) {}

    Figure made() {
        measure();
        setAveraged();
        Figure figure = emptyTable(m_source.session());
        addColumns(figure.table);
        for (std::size_t i = 0; i < m_choice.rows.size(); ++i)
            addRow(figure.table, i);
        addOtherRows(figure.table);
        addNotes(figure.table);
        figure.caption = figureCaption(m_source.session().model, m_choice.what);
        if (const std::string conditions = m_source.conditions(m_choice.columns); !conditions.empty())
            figure.caption += " " + conditions;
        return figure;
    }

private:
    void measure() {
        bool hasAny = false;
        for (const PointRow& row : m_choice.rows) {
            auto& values = m_values.emplace_back();
            for (const PointColumn& column : m_choice.columns) {
                values.push_back(column.isAverage ? PointValue{} : valueOf(column, row));
                hasAny |= !row.points.strategy.empty() && values.back().repetitions > 0;
            }
        }
        if (!hasAny)
            throw lacking(m_source.session(), "curves with " + wantedStrategies(), m_choice.paper, m_choice.step);
    }

    /// The value of a row. The speed may be that of another mask of the same size.
    PointValue valueOf(const PointColumn& column, const PointRow& row) const {
        PointValue value = m_source.value(column, row.points);
        if (column.metric != "speedup")
            return value;
        for (const std::string& other : row.timedAs) {
            if (value.repetitions > 0)
                break;
            TablePoints points = row.points;
            points.strategy = other;
            value = m_source.value(column, points);
        }
        return value;
    }

    std::string wantedStrategies() const {
        std::vector<std::string> names;
        for (const PointRow& row : m_choice.rows)
            if (!row.points.strategy.empty() && std::ranges::find(names, row.points.strategy) == names.end())
                names.push_back(row.points.strategy);
        return join(names, ", ");
    }

    bool isEmpty(std::size_t row) const {
        return std::ranges::all_of(m_values[row], [](const PointValue& value) { return value.repetitions == 0; });
    }

    /// Finds the columns that averages cover: those that all rows with any value have.
    void setAveraged() {
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column) {
            bool isComplete = countsInAverages(column);
            for (std::size_t row = 0; row < m_values.size(); ++row)
                isComplete = isComplete && (!hasTasks(row) || m_values[row][column].repetitions > 0);
            m_averaged.push_back(isComplete);
        }
        for (std::size_t row = 0; row < m_values.size(); ++row)
            for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
                if (m_choice.columns[column].isAverage)
                    m_values[row][column] = averageOf(row, column);
    }

    bool countsInAverages(std::size_t column) const {
        const PointColumn& one = m_choice.columns[column];
        return !one.task.empty() && !one.isAverage;
    }

    /// Averages cover the columns of their group, or all if they have none.
    bool covers(const PointColumn& average, std::size_t column) const {
        return m_averaged[column] && (average.group.empty() || m_choice.columns[column].group == average.group);
    }

    PointValue averageOf(std::size_t row, std::size_t average) const {
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
            if (covers(m_choice.columns[average], column)) {
                sum += m_values[row][column].value;
                ++count;
            }
        PointValue value;
        if (count > 0 && hasTasks(row)) {
            value.value = sum / static_cast<double>(count);
            value.repetitions = 1;
        }
        return value;
    }

    /// Whether a row has the value of any column that averages may cover.
    bool hasTasks(std::size_t row) const {
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
            if (countsInAverages(column) && m_values[row][column].repetitions > 0)
                return true;
        return false;
    }

    void addColumns(FigureTable& table) const {
        table.columns = m_choice.lead;
        for (const PointColumn& column : m_choice.columns)
            table.columns.push_back({.title = column.title, .decimals = column.decimals, .group = column.group});
        table.columns.insert(table.columns.end(), m_choice.tail.begin(), m_choice.tail.end());
    }

    /// Whether a value is the best of several rows with the same budget.
    bool isBest(std::size_t row, std::size_t column) const {
        const PointValue& value = m_values[row][column];
        const PointRow& own = m_choice.rows[row];
        if (own.points.strategy.empty() || value.repetitions == 0 || m_choice.columns[column].metric == "speedup")
            return false;
        bool hasRivals = false;
        for (std::size_t other = 0; other < m_values.size(); ++other) {
            const PointRow& rival = m_choice.rows[other];
            if (other == row || rival.points.strategy.empty() || !(rival.points.budget == own.points.budget) ||
                m_values[other][column].repetitions == 0)
                continue;
            hasRivals = true;
            const double theirs = m_values[other][column].value;
            if (m_choice.columns[column].isLowBetter ? theirs < value.value : theirs > value.value)
                return false;
        }
        return hasRivals;
    }

    void addRow(FigureTable& table, std::size_t index) {
        const PointRow& row = m_choice.rows[index];
        const auto published = std::ranges::find_if(m_published, [&](const PublishedRow& one) {
            return one.strategy == publishedStrategy(row) && one.ourBudget == publishedBudget(row);
        });
        const bool hasPublished = published != m_published.end();
        if (m_choice.hidesEmptyRows && !hasPublished && isEmpty(index))
            return;
        TableRow made{.cells = row.lead, .startsGroup = row.startsGroup};
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column) {
            TableCell cell = numberCell(m_values[index][column].value, m_values[index][column].error);
            cell.isBest = isBest(index, column);
            made.cells.push_back(std::move(cell));
        }
        made.cells.insert(made.cells.end(), row.tail.begin(), row.tail.end());
        table.rows.push_back(std::move(made));
        if (hasPublished) {
            published->isUsed = true;
            std::vector<TableCell> lead = row.lead;
            if (m_choice.budgetColumn && !row.points.strategy.empty())
                lead[*m_choice.budgetColumn] = textCell(std::string(published->budget));
            addPublished(table, *published, std::move(lead), row.tail);
        }
    }

    void addPublished(FigureTable& table, const PublishedRow& row, std::vector<TableCell> lead,
                      std::vector<TableCell> tail) const {
        lead.resize(m_choice.lead.size());
        tail.resize(m_choice.tail.size());
        lead[m_choice.methodColumn].text += " (paper)";
        TableRow made{.cells = std::move(lead), .isPublished = true};
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
            made.cells.push_back(printedCell(row, column));
        made.cells.insert(made.cells.end(), tail.begin(), tail.end());
        table.rows.push_back(std::move(made));
    }

    TableCell printedCell(const PublishedRow& row, std::size_t column) const {
        const PointColumn& shown = m_choice.columns[column];
        if (shown.isAverage && !averagesAll(shown))
            return printedAverage(row, shown);
        const auto found = row.values.find(shown.title);
        return found == row.values.end() ? TableCell() : publishedCell(found->second);
    }

    bool averagesAll(const PointColumn& average) const {
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
            if (countsInAverages(column) && !covers(average, column) &&
                (average.group.empty() || m_choice.columns[column].group == average.group))
                return false;
        return true;
    }

    TableCell printedAverage(const PublishedRow& row, const PointColumn& average) const {
        double sum = 0;
        std::size_t count = 0;
        TableCell cell;
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column) {
            if (!covers(average, column))
                continue;
            const auto found = row.values.find(m_choice.columns[column].title);
            if (found == row.values.end())
                return {};
            sum += found->second.value;
            cell.isDoubtful |= found->second.isDoubtful;
            ++count;
        }
        if (count > 0)
            cell.value = sum / static_cast<double>(count);
        return cell;
    }

    /// The rows of the paper that none of ours matches.
    void addOtherRows(FigureTable& table) const {
        bool isFirst = true;
        for (const PublishedRow& row : m_published) {
            if (row.isUsed)
                continue;
            std::vector<TableCell> lead(m_choice.lead.size());
            lead[m_choice.methodColumn].text = row.row;
            if (m_choice.budgetColumn)
                lead[*m_choice.budgetColumn].text = row.budget;
            addPublished(table, row, std::move(lead), {});
            table.rows.back().startsGroup = std::exchange(isFirst, false);
        }
    }

    void addNotes(FigureTable& table) const {
        std::vector<std::string> tasks;
        std::vector<std::string> others;
        for (std::size_t column = 0; column < m_choice.columns.size(); ++column) {
            const auto hasValue = [&](const auto& values) { return values[column].repetitions > 0; };
            if (m_choice.columns[column].isAverage || std::ranges::any_of(m_values, hasValue))
                continue;
            (m_choice.columns[column].task.empty() ? others : tasks).push_back(m_choice.columns[column].title);
        }
        addGapsOf(table, tasks, true);
        addGapsOf(table, others, false);
        std::vector<std::string> rows;
        for (std::size_t row = 0; row < m_values.size(); ++row)
            if (isEmpty(row) && !m_choice.hidesEmptyRows)
                rows.push_back(rowName(m_choice.rows[row]));
        addGapsOf(table, rows, false);
        addAverageNote(table);
        if (!m_published.empty())
            table.notes.emplace_back("Grey rows: numbers printed in the paper. In brackets: numbers that contradict "
                                     "others of the paper.");
    }

    static std::string rowName(const PointRow& row) {
        std::vector<std::string> words;
        for (const TableCell& cell : row.lead)
            if (!cell.text.empty())
                words.push_back(cell.text);
            else if (!std::isnan(cell.value))
                words.push_back(significant(cell.value, 4));
        return join(words, " ");
    }

    /// @param areTasks whether these are scores of tasks, whose files the command needs
    void addGapsOf(FigureTable& table, const std::vector<std::string>& names, bool areTasks) const {
        addGapNote(table, names, m_source.session(), m_choice.paper, m_choice.step, areTasks);
    }

    void addAverageNote(FigureTable& table) const {
        for (const PointColumn& average : m_choice.columns) {
            if (!average.isAverage || averagesAll(average))
                continue;
            std::vector<std::string> names;
            for (std::size_t column = 0; column < m_choice.columns.size(); ++column)
                if (covers(average, column))
                    names.push_back(m_choice.columns[column].title);
            if (!names.empty())
                table.notes.push_back(fmt::format("{} is the mean of {}.", average.title, join(names, ", ")));
        }
    }

    const PointTable& m_choice;
    PointSource m_source;
    std::vector<PublishedRow> m_published;
    std::vector<std::vector<PointValue>> m_values; ///< [rows, columns]
    std::vector<bool> m_averaged;                  ///< for each column, whether averages cover it
};

} // namespace

Figure pointTable(const Session& session, const PointTable& table) {
    return TableMaker(session, table).made();
}

} // namespace secateur
