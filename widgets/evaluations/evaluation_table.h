#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/price.h"

#include <QAbstractTableModel>

#include <optional>
#include <string>
#include <vector>

namespace secateur {

class Document;

/// A table of the session's evaluations, one per row, with the dense model first. Columns are sorted by number. Changes
/// are applied row by row, so that the selection is kept.
class EvaluationTable : public QAbstractTableModel {
    Q_OBJECT

public:
    /// Item role of a cell's number, by which rows are sorted.
    static constexpr int numberRole = Qt::UserRole;

    explicit EvaluationTable(Document* document, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    /// The names of masks can be edited, in rows without an adapter; Document::renameMask() does it.
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

    /// The column with the names of the masks.
    static constexpr int nameColumn = 1;
    /// The column with the generation's speed.
    static constexpr int speedColumn = 9;

    /// Whether any evaluation has a speed.
    bool hasSpeed() const;

    const Evaluation& evaluation(int row) const;
    /// Index of the row's evaluation in the session.
    std::size_t place(int row) const;
    /// The row of an evaluation by its index in the session; -1 if there is none.
    int rowOf(std::size_t place) const;
    /// The rows as CSV (RFC 4180) with one header line and numbers at full precision.
    QString toCsv(const std::vector<int>& rows) const;

private:
    struct Cell {
        QString text;
        QVariant number; ///< the cell's number; invalid = no number
    };
    struct Row {
        Evaluation evaluation; ///< the evaluation with its differences from the dense model
        std::optional<Price> price;
        std::vector<Cell> cells;
        std::size_t place = 0; ///< index in the session
        EvaluatedMask mask;    ///< with its name in the list of masks
        std::string name;      ///< of mask and adapter
        std::string key;       ///< unique: mask, adapter, text, rules, dtype, device
        std::string state;     ///< differs if any cell differs
    };
    struct Column {
        QString title;
        QString hint;
        Qt::Alignment alignment = Qt::AlignRight;
    };

    static QString nameHint(const Row& row);
    void readAll();
    /// Reads the evaluations from the session: updates rows whose state changed, adds new rows and removes others.
    void readChanges();
    std::vector<Row> listRows() const;
    void complete(Row& row) const;
    void removeOthers(const std::vector<Row>& wanted);
    /// Inserts a row at index `to`. If a row with the same key exists, moves it there and updates it.
    void placeRow(Row row, int to);
    std::vector<std::string> tasksOf(const std::vector<Row>& rows) const;
    void listColumns();
    QString taskTitle(const std::string& task) const;
    bool hasPooled() const;
    std::vector<Cell> cellsOf(const Row& row) const;

    Document* m_document;
    std::vector<Row> m_rows;
    std::vector<Column> m_columns;
    bool m_hasPooled = false;
    std::vector<std::string> m_tasks; ///< names of the tasks, each of which has a column
};

} // namespace secateur
