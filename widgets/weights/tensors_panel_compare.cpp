// The comparison of the panel Tensors with a second checkpoint.

#include "analysis/base/error.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/weights/index_run.h"
#include "widgets/weights/tensor_picture.h"
#include "widgets/weights/tensor_tree.h"
#include "widgets/weights/tensors_panel.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>

#include <numeric>
#include <utility>

namespace secateur {

namespace {

/// The difference of a tensor to the compared checkpoint, or why there is none.
struct ComparedTensor {
    TensorDifference difference;
    QString obstacle;
};

ComparedTensor compareTensor(const TensorSource& source, std::size_t tensor, const Progress& progress) {
    const std::vector<const TensorPair*> pairs = source.pairsOf(tensor);
    if (pairs.empty())
        return {{}, TensorsPanel::tr("not in the compared checkpoint")};
    std::vector<TensorDifference> parts;
    for (const TensorPair* pair : pairs) {
        if (!pair->obstacle.empty())
            return {{}, QString::fromStdString(pair->obstacle)};
        parts.push_back(
            compareGrids(*firstGrid(*source.stored(), *pair), *secondGrid(*source.other(), *pair), progress));
    }
    return {joined(parts), {}};
}

} // namespace

void TensorsPanel::listFiles() {
    m_menu->clear();
    m_menu->addAction(tr("With a &file…"), this, [this] { chooseFile(false); });
    m_menu->addAction(tr("With a f&older…"), this, [this] { chooseFile(true); });
    QStringList files = m_files ? m_files() : QStringList();
    if (m_document->isOpen())
        files.removeAll(QString::fromStdString(m_document->session().model.path));
    if (const Session* reference = m_document->comparison()->reference())
        files.prepend(QString::fromStdString(reference->model.path));
    files.removeDuplicates();
    if (!files.isEmpty())
        m_menu->addSeparator();
    for (const QString& file : files)
        m_menu->addAction(QFileInfo(file).fileName(), this, [this, file] { compareWith(file); })->setToolTip(file);
    m_menu->addSeparator();
    m_menu->addAction(tr("&End the comparison"), this, &TensorsPanel::endComparison)
        ->setEnabled(m_source.other() != nullptr);
}

void TensorsPanel::chooseFile(bool isFolder) {
    auto* dialog =
        new QFileDialog(this, tr("Compare with a checkpoint"), QSettings().value("folder").toString(),
                        isFolder ? QString() : tr("Models (*.gguf *.safetensors *.bin *.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(isFolder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &TensorsPanel::compareWith);
    dialog->open();
}

void TensorsPanel::compareWith(const QString& path) {
    if (!m_source.stored()) {
        m_wantedOther = path;
        return;
    }
    m_jobs->cancel(m_openingOther);
    const auto work = [this, open = m_document->services().storedTensors, stored = m_source.stored(),
                       path](const Progress& progress) {
        std::shared_ptr<const StoredTensors> other = open(path.toStdString(), progress);
        TensorPairs pairs = pairTensors(*stored, *other);
        return [this, stored, path, other = std::move(other), pairs = std::move(pairs)]() mutable {
            m_openingOther = 0;
            if (stored != m_source.stored())
                return;
            m_otherName = QFileInfo(path).fileName();
            adoptOther(std::move(other), std::move(pairs));
        };
    };
    m_openingOther =
        m_jobs->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::immediate, work);
    updateNote();
}

void TensorsPanel::adoptOther(std::shared_ptr<const StoredTensors> other, TensorPairs pairs) {
    m_differences->stop();
    m_source.setOther(std::move(other), std::move(pairs));
    m_tree->setComparing(true);
    computeDifferences();
    m_picture->followComparison(TensorShown::difference);
    updateNote();
}

void TensorsPanel::endComparison() {
    m_jobs->cancel(std::exchange(m_openingOther, 0));
    m_differences->stop();
    m_source.setOther(nullptr, {});
    m_otherName.clear();
    m_tree->setComparing(false);
    m_picture->followComparison(TensorShown::values);
    updateNote();
}

void TensorsPanel::computeDifferences() {
    std::deque<std::size_t> items(m_source.stored()->tensors().size());
    std::iota(items.begin(), items.end(), std::size_t{0});
    const auto both = std::make_shared<TensorSource>(); // without the pictures
    both->setStored(m_source.stored());
    both->setOther(m_source.other(), m_source.pairs());
    const auto work = [this, source = std::shared_ptr<const TensorSource>(both)](
                          std::size_t tensor, const Progress& progress) -> std::function<void()> {
        ComparedTensor found;
        try {
            found = compareTensor(*source, tensor, progress);
        } catch (const Error& error) {
            found.obstacle = QString::fromUtf8(error.what());
        }
        return [this, source, tensor, found] {
            if (source->other() != m_source.other())
                return;
            m_tree->setDifference(tensor, found.difference, found.obstacle);
            if (m_picture->tensor() == tensor && m_picture->shown() == TensorShown::values)
                describe();
        };
    };
    m_differences->start(std::move(items), work, JobRunner::Priority::immediate);
    if (const auto tensor = m_picture->tensor())
        m_differences->putFirst(*tensor);
}

} // namespace secateur
