#include "widgets/weights/tensor_tree.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"

#include <QHeaderView>
#include <QRegularExpression>
#include <QScopedValueRollback>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

constexpr int keyRole = Qt::UserRole;        ///< number by which a cell is sorted
constexpr int tensorRole = Qt::UserRole + 1; ///< index of a row's tensor, in nameColumn; folders have none
constexpr auto unknownNumber = std::numeric_limits<double>::quiet_NaN();

/// "model.layers.3" of "model.layers.3.mlp.up_proj.weight"; empty if the name has no number.
QString folderName(const QString& name) {
    static const QRegularExpression layer("^(.*?\\.\\d+)\\..");
    return layer.match(name).captured(1);
}

QString shownShape(const StoredTensor& tensor) {
    QStringList sides;
    for (const std::int64_t side : tensor.shape)
        sides << QString::number(side);
    return sides.isEmpty() ? QStringLiteral("1") : sides.join(QStringLiteral(" × "));
}

QString shownText(double number) {
    return std::isnan(number) ? QString() : QString::fromStdString(shownNumber(number));
}

} // namespace

/// A tensor or a folder. Cells without a number are last in both directions.
class TensorTree::Row : public QTreeWidgetItem {
public:
    using QTreeWidgetItem::QTreeWidgetItem;

    bool operator<(const QTreeWidgetItem& other) const override {
        const int column = treeWidget() ? treeWidget()->sortColumn() : nameColumn;
        if (column == typeColumn && text(column) != other.text(column))
            return text(column) < other.text(column);
        const double own = data(column, keyRole).toDouble();
        const double others = other.data(column, keyRole).toDouble();
        const bool isDown = treeWidget() && treeWidget()->header()->sortIndicatorOrder() == Qt::DescendingOrder;
        if (std::isnan(own) || std::isnan(others))
            return std::isnan(own) != std::isnan(others) && std::isnan(own) == isDown;
        if (own != others)
            return own < others;
        return data(nameColumn, keyRole).toDouble() < other.data(nameColumn, keyRole).toDouble();
    }
    void set(Column column, const QString& shown, double key) {
        setText(column, shown);
        setData(column, keyRole, key);
        setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
};

TensorTree::TensorTree(QWidget* parent)
    : QTreeWidget(parent) {
    setAccessibleName(tr("Tensors of the checkpoint"));
    setWhatsThis(tr("All tensors of the checkpoint, in a folder for each layer. A click on a title sorts the rows. The "
                    "norm and the other statistics are computed while the panel is shown."));
    setHeaderLabels({tr("name"), tr("type"), tr("shape"), tr("size"), tr("norm"), tr("sd"), tr("zeros"), tr("bits"),
                     tr("rel. error"), tr("SNR (dB)")});
    headerItem()->setToolTip(normColumn, tr("Frobenius norm of the decoded numbers"));
    headerItem()->setToolTip(sdColumn, tr("Standard deviation of the decoded numbers"));
    headerItem()->setToolTip(zerosColumn, tr("Share of numbers that are exactly 0"));
    headerItem()->setToolTip(bitsColumn, tr("Effective bits per number: the entropy of the stored numbers"));
    headerItem()->setToolTip(errorColumn,
                             tr("Norm of the difference to the compared checkpoint, relative to the norm"));
    headerItem()->setToolTip(snrColumn,
                             tr("Signal to noise ratio: the norm relative to that of the difference, in dB"));
    setUniformRowHeights(true);
    setFrameShape(QFrame::NoFrame);
    setAllColumnsShowFocus(true);
    setIndentation(fontMetrics().averageCharWidth() * 2);
    header()->setStretchLastSection(false);
    header()->setSectionsMovable(false);
    const int character = fontMetrics().averageCharWidth();
    const int widths[]{28, 8, 16, 11, 10, 10, 9, 7, 11, 11};
    for (int column = 0; column < columnCount(); ++column) {
        header()->resizeSection(column, widths[column] * character);
        headerItem()->setTextAlignment(column, column <= shapeColumn ? Qt::AlignLeft | Qt::AlignVCenter
                                                                     : Qt::AlignRight | Qt::AlignVCenter);
    }
    // While checkpoints are compared, the differences are what one looks for.
    header()->moveSection(header()->visualIndex(errorColumn), sizeColumn);
    header()->moveSection(header()->visualIndex(snrColumn), sizeColumn + 1);
    setSortingEnabled(true);
    sortByColumn(nameColumn, Qt::AscendingOrder);
    setComparing(false);
    connect(this, &QTreeWidget::currentItemChanged, this, [this] {
        if (const auto tensor = current())
            emit chosen(*tensor);
    });
}

void TensorTree::setTensors(const std::vector<StoredTensor>* tensors) {
    m_tensors = tensors;
    m_statistics.clear();
    m_differences.clear();
    m_failures.clear();
    m_obstacles.clear();
    build();
}

void TensorTree::setFoldered(bool foldered) {
    m_isFoldered = foldered;
    const std::optional<std::size_t> before = current();
    const QSignalBlocker quiet(this);
    build();
    if (before)
        setCurrent(*before);
}

void TensorTree::build() {
    setSortingEnabled(false); // otherwise each new row is sorted in
    clear();
    m_rows.clear();
    m_folders.clear();
    for (std::size_t index = 0; m_tensors && index < m_tensors->size(); ++index) {
        const QString name = QString::fromStdString((*m_tensors)[index].name);
        const QString folder = m_isFoldered ? folderName(name) : QString();
        Row* row = folder.isEmpty() ? new Row(this) : new Row(folderOf(folder));
        row->setText(nameColumn, folder.isEmpty() ? name : name.mid(folder.size() + 1));
        row->setData(nameColumn, keyRole, static_cast<double>(index));
        row->setData(nameColumn, tensorRole, static_cast<qulonglong>(index));
        row->setToolTip(nameColumn, name);
        m_rows.push_back(row);
        fill(*row);
    }
    settle();
}

QTreeWidgetItem* TensorTree::folderOf(const QString& name) {
    QTreeWidgetItem*& folder = m_folders[name];
    if (!folder) {
        folder = new Row(this);
        folder->setText(nameColumn, name);
        folder->setData(nameColumn, keyRole, static_cast<double>(m_rows.size()) - 0.5);
        folder->setFlags(folder->flags() & ~Qt::ItemNeverHasChildren);
    }
    return folder;
}

TensorFacts TensorTree::factsOf(std::size_t tensor) const {
    return {&(*m_tensors)[tensor], statistics(tensor), difference(tensor)};
}

void TensorTree::fill(Row& row) const {
    const auto index = static_cast<std::size_t>(row.data(nameColumn, tensorRole).toULongLong());
    const TensorFacts facts = factsOf(index);
    const auto number = [&](TensorNumber which) { return numberOf(facts, which); };
    row.setText(typeColumn, QString::fromStdString(facts.tensor->type));
    row.setText(shapeColumn, shownShape(*facts.tensor));
    row.setData(shapeColumn, keyRole, static_cast<double>(facts.tensor->elements()));
    row.set(sizeColumn, QString::fromStdString(shortBytes(number(TensorNumber::size))), number(TensorNumber::size));
    row.set(normColumn, shownText(number(TensorNumber::norm)), number(TensorNumber::norm));
    row.set(sdColumn, shownText(number(TensorNumber::sd)), number(TensorNumber::sd));
    const double zeros = number(TensorNumber::zeros);
    row.set(zerosColumn, std::isnan(zeros) ? QString() : QString::fromStdString(shownShare(zeros)), zeros);
    const double bits = number(TensorNumber::bits);
    row.set(bitsColumn, std::isnan(bits) ? QString() : QString::number(bits, 'f', 2), bits);
    row.set(errorColumn, shownText(number(TensorNumber::error)), number(TensorNumber::error));
    const double snr = number(TensorNumber::snr);
    row.set(snrColumn,
            std::isnan(snr)   ? QString()
            : std::isinf(snr) ? tr("equal")
                              : QString::fromStdString(withMinus(QString::number(snr, 'f', 1).toStdString())),
            snr);
    if (const auto failure = m_failures.find(index); failure != m_failures.end() && !failure->second.isEmpty()) {
        row.setText(normColumn, QStringLiteral("–"));
        row.setToolTip(normColumn, failure->second);
    }
    if (const auto obstacle = m_obstacles.find(index); obstacle != m_obstacles.end() && !obstacle->second.isEmpty()) {
        row.setText(errorColumn, QStringLiteral("–"));
        row.setToolTip(errorColumn, obstacle->second);
        row.setToolTip(snrColumn, obstacle->second);
    }
}

/// The numbers of a folder: the size of all its tensors, their norm, the worst difference.
void TensorTree::sumUp(QTreeWidgetItem& folder) const {
    double bytes = 0;
    double squares = 0;
    double error = unknownNumber;
    double snr = unknownNumber;
    for (int child = 0; child < folder.childCount(); ++child) {
        const QTreeWidgetItem& row = *folder.child(child);
        bytes += row.data(sizeColumn, keyRole).toDouble();
        squares += std::pow(row.data(normColumn, keyRole).toDouble(), 2);
        error = std::fmax(error, row.data(errorColumn, keyRole).toDouble());
        snr = std::fmin(snr, row.data(snrColumn, keyRole).toDouble());
    }
    auto& row = static_cast<Row&>(folder);
    row.set(sizeColumn, QString::fromStdString(shortBytes(bytes)), bytes);
    row.set(normColumn, shownText(std::sqrt(squares)), std::sqrt(squares));
    row.set(errorColumn, shownText(error), error);
    row.set(snrColumn, std::isfinite(snr) ? QString::number(snr, 'f', 1) : QString(), snr);
    for (const Column column : {sdColumn, zerosColumn, bitsColumn})
        row.setData(column, keyRole, unknownNumber);
    row.setData(shapeColumn, keyRole, bytes);
}

void TensorTree::settle() {
    const std::optional<std::size_t> before = current();
    for (const auto& [name, folder] : m_folders)
        sumUp(*folder);
    setSortingEnabled(true); // sorts
    setFilter(m_filter);
    if (before && current())
        scrollTo(currentIndex(), QAbstractItemView::EnsureVisible);
}

void TensorTree::setStatistics(std::size_t tensor, const TensorStatistics& statistics, const QString& failure) {
    if (tensor >= m_rows.size())
        return;
    setSortingEnabled(false);
    m_failures[tensor] = failure;
    if (failure.isEmpty())
        m_statistics[tensor] = statistics;
    fill(*m_rows[tensor]);
}

void TensorTree::setDifference(std::size_t tensor, const TensorDifference& difference, const QString& obstacle) {
    if (tensor >= m_rows.size())
        return;
    setSortingEnabled(false);
    m_obstacles[tensor] = obstacle;
    if (obstacle.isEmpty())
        m_differences[tensor] = difference;
    fill(*m_rows[tensor]);
}

void TensorTree::setComparing(bool compares) {
    m_differences.clear();
    m_obstacles.clear();
    for (const Column column : {errorColumn, snrColumn})
        setColumnHidden(column, !compares);
    setSortingEnabled(false);
    for (Row* row : m_rows)
        fill(*row);
    settle();
}

std::size_t TensorTree::setFilter(const TensorFilter& filter) {
    m_filter = filter;
    std::size_t passing = 0;
    for (const auto& [name, folder] : m_folders)
        folder->setHidden(true);
    for (std::size_t index = 0; index < m_rows.size(); ++index) {
        const bool passes = filter.passes(factsOf(index));
        passing += passes ? 1 : 0;
        m_rows[index]->setHidden(!passes);
        if (passes && m_rows[index]->parent())
            m_rows[index]->parent()->setHidden(false);
    }
    return passing;
}

std::optional<std::size_t> TensorTree::current() const {
    const QTreeWidgetItem* row = currentItem();
    const QVariant tensor = row ? row->data(nameColumn, tensorRole) : QVariant();
    return tensor.isValid() ? std::optional(static_cast<std::size_t>(tensor.toULongLong())) : std::nullopt;
}

void TensorTree::setCurrent(std::size_t tensor) {
    if (tensor >= m_rows.size())
        return;
    setCurrentItem(m_rows[tensor]);
    scrollToItem(m_rows[tensor]);
}

const TensorStatistics* TensorTree::statistics(std::size_t tensor) const {
    const auto found = m_statistics.find(tensor);
    return found == m_statistics.end() ? nullptr : &found->second;
}

const TensorDifference* TensorTree::difference(std::size_t tensor) const {
    const auto found = m_differences.find(tensor);
    return found == m_differences.end() ? nullptr : &found->second;
}

std::vector<std::size_t> TensorTree::shownTensors() const {
    std::vector<std::size_t> shown;
    const auto add = [&](const QTreeWidgetItem& row) {
        const QVariant tensor = row.data(nameColumn, tensorRole);
        if (tensor.isValid() && !row.isHidden())
            shown.push_back(static_cast<std::size_t>(tensor.toULongLong()));
    };
    for (int top = 0; top < topLevelItemCount(); ++top) {
        const QTreeWidgetItem& row = *topLevelItem(top);
        add(row);
        for (int child = 0; child < row.childCount(); ++child)
            add(*row.child(child));
    }
    return shown;
}

} // namespace secateur
