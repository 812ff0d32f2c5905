#pragma once

#include "analysis/evaluation.h"
#include "analysis/price.h"

#include <QAbstractTableModel>

#include <optional>
#include <string>
#include <vector>

namespace secateur {

class Document;

/// The session's evaluations, a row each, the dense model's first. Sorting is by the numbers behind the texts.
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
    };
    struct Column {
        QString title;
        QString hint;
        Qt::Alignment alignment = Qt::AlignRight;
    };

    void readAll();
    void listTasks();
    std::vector<Cell> cellsOf(const Row& row, int number) const;

    Document* m_document;
    std::vector<Row> m_rows;
    std::vector<Column> m_columns;
    std::vector<std::string> m_tasks; ///< names, a column each
};

} // namespace secateur
