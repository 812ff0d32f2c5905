#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/price.h"

#include <QAbstractTableModel>

#include <optional>
#include <string>
#include <vector>

namespace secateur {

class Document;

/// The session's evaluations, a row each, the dense model's first. Sorting is by the numbers behind the texts. Rows
/// stay what they are while others come and change, so that a selection does.
class EvaluationTable : public QAbstractTableModel {
    Q_OBJECT

public:
    /// What sorting and toCsv() go by.
    static constexpr int numberRole = Qt::UserRole;

    explicit EvaluationTable(Document* document, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    const Evaluation& evaluation(int row) const;
    /// Where the row's evaluation lies in the session.
    std::size_t place(int row) const;
    /// Of the evaluation that lies there in the session; -1 when there is none.
    int rowOf(std::size_t place) const;
    /// RFC 4180 with one header line, numbers at full precision.
    QString toCsv(const std::vector<int>& rows) const;

private:
    struct Cell {
        QString text;
        QVariant number; ///< invalid = none
    };
    struct Row {
        Evaluation evaluation; ///< with the differences to the dense model's
        std::optional<Price> price;
        std::vector<Cell> cells;
        std::size_t place = 0; ///< in the session
        std::string key;       ///< what was run under which mask; no other row's
        std::string state;     ///< changes with everything that the cells say
    };
    struct Column {
        QString title;
        QString hint;
        Qt::Alignment alignment = Qt::AlignRight;
    };

    void readAll();
    /// Takes over what is new; a row that says the same is left alone.
    void readChanges();
    std::vector<Row> listRows() const;
    void complete(Row& row) const;
    void removeOthers(const std::vector<Row>& wanted);
    void bring(Row row, int to);
    std::vector<std::string> tasksOf(const std::vector<Row>& rows) const;
    void listColumns();
    std::vector<Cell> cellsOf(const Row& row) const;

    Document* m_document;
    std::vector<Row> m_rows;
    std::vector<Column> m_columns;
    std::vector<std::string> m_tasks; ///< names, a column each
};

} // namespace secateur
