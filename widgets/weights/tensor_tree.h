#pragma once

#include "widgets/weights/tensor_filter.h"

#include <QTreeWidget>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// The tensors of a checkpoint as rows, in a folder for each layer or as one list. Rows are sorted by any column;
/// folders too, by the sum, the norm or the worst of their tensors. Statistics and differences come later, row by row.
class TensorTree : public QTreeWidget {
    Q_OBJECT

public:
    enum Column {
        nameColumn,
        typeColumn,
        shapeColumn,
        sizeColumn,
        normColumn,
        sdColumn,
        zerosColumn,
        bitsColumn,
        errorColumn,
        snrColumn
    };

    explicit TensorTree(QWidget* parent = nullptr);

    /// Shows the tensors of another checkpoint. They must outlive the rows. @param tensors null = no rows
    void setTensors(const std::vector<StoredTensor>* tensors);
    /// Shows the tensors in folders, or as one list.
    void setFoldered(bool foldered);
    /// @param failure why there are no statistics; empty = there are
    void setStatistics(std::size_t tensor, const TensorStatistics& statistics, const QString& failure);
    /// Shows the columns of a comparison, which are empty until setDifference().
    void setComparing(bool compares);
    /// @param obstacle why the tensors cannot be compared; empty = they can
    void setDifference(std::size_t tensor, const TensorDifference& difference, const QString& obstacle);
    /// Sorts and filters again, after a number of calls of setStatistics() or setDifference().
    void settle();
    /// Hides the rows that do not pass. @returns the number of those that do
    std::size_t setFilter(const TensorFilter& filter);

    /// The tensor of the current row; nothing in a folder.
    std::optional<std::size_t> current() const;
    /// Makes a tensor's row the current one, and unfolds its folder.
    void setCurrent(std::size_t tensor);
    const TensorStatistics* statistics(std::size_t tensor) const;
    const TensorDifference* difference(std::size_t tensor) const;
    /// Rows on screen or not, in the order of the list, without hidden ones.
    std::vector<std::size_t> shownTensors() const;

signals:
    /// Another tensor became the current one.
    void chosen(std::size_t tensor);

private:
    class Row;

    void build();
    void fill(Row& row) const;
    TensorFacts factsOf(std::size_t tensor) const;
    QTreeWidgetItem* folderOf(const QString& name);
    void sumUp(QTreeWidgetItem& folder) const;

    const std::vector<StoredTensor>* m_tensors = nullptr;
    std::vector<Row*> m_rows; ///< of the tensors
    std::map<std::size_t, TensorStatistics> m_statistics;
    std::map<std::size_t, TensorDifference> m_differences;
    std::map<std::size_t, QString> m_failures;
    std::map<std::size_t, QString> m_obstacles;
    std::map<QString, QTreeWidgetItem*> m_folders;
    TensorFilter m_filter;
    bool m_isFoldered = true;
};

} // namespace secateur
