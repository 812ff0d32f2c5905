#pragma once

#include "analysis/weights/unit_marks.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/weights/tensor_source.h"

#include <QStringList>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>

class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QSplitter;
class QToolButton;

namespace secateur {

class Document;
class ElidedLabel;
class IndexRun;
class Selection;
class TensorDetails;
class TensorPicture;
class TensorTree;

/// The tensors of the open checkpoint: their list, and the picture, the statistics and the histogram of one. Compares
/// them with the tensors of a second checkpoint. Nothing is read before the panel is shown.
class TensorsPanel : public QWidget {
    Q_OBJECT

public:
    TensorsPanel(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// Sets what lists the files that the menu of compared checkpoints offers.
    void offerFiles(std::function<QStringList()> files) { m_files = std::move(files); }
    /// Compares with a checkpoint, as soon as the tensors of the open one are listed.
    void compareWith(const QString& path);
    void endComparison();
    /// Shows a tensor by its name in the file, as soon as it is listed. Nothing happens if there is none.
    void showTensor(const QString& name, TensorShown shown = TensorShown::values);

    TensorTree* tree() const { return m_tree; }
    TensorPicture* picture() const { return m_picture; }
    TensorDetails* details() const { return m_details; }
    QLineEdit* filter() const { return m_filter; }
    const TensorSource& source() const { return m_source; }
    /// Whether the statistics of all tensors, and the comparison, are done.
    bool isDone() const;
    QSize sizeHint() const override;

signals:
    /// The user wants to see a head or a neuron in its view.
    void unitWanted(const secateur::MarkedUnit& unit);
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void connectAll();
    void restart();
    /// Reads the list of tensors if the panel is visible and does not have it.
    void follow();
    void adopt(std::shared_ptr<const StoredTensors> stored);
    void adoptOther(std::shared_ptr<const StoredTensors> other, TensorPairs pairs);
    /// Computes the statistics of all tensors, unless they are large and nobody asked.
    void computeStatistics(bool isAskedFor);
    void computeDifferences();
    void showChosen(std::size_t tensor);
    /// Statistics of what the picture shows, if that is not the values of a tensor, which have theirs already.
    void describe();
    void applyFilter();
    void listFiles();
    void chooseFile(bool isFolder);
    void updateNote();
    void onEnded(quint64 job, const QString& message);
    void balance();

    Document* m_document;
    JobRunner* m_jobs;
    TensorSource m_source;
    std::function<QStringList()> m_files;
    QLineEdit* m_filter;
    QToolButton* m_folders;
    QPushButton* m_compute;
    QToolButton* m_compare;
    QMenu* m_menu;
    ElidedLabel* m_note;
    TensorTree* m_tree;
    TensorPicture* m_picture;
    TensorDetails* m_details;
    QSplitter* m_splitter;
    QSplitter* m_right;
    IndexRun* m_statistics;
    IndexRun* m_differences;
    JobRunner::Id m_opening = 0;
    JobRunner::Id m_openingOther = 0;
    JobRunner::Id m_describing = 0;
    QString m_failure;
    QString m_otherName;
    QString m_wantedOther; ///< path of the checkpoint that will be compared; empty = none
    QString m_wantedName;  ///< of the tensor that will be shown; empty = the first
    TensorShown m_wantedShown = TensorShown::values;
    bool m_isArranged = false; ///< whether the parts have a size
};

} // namespace secateur
