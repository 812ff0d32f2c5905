#include "widgets/gallery/gallery_bar.h"

#include "analysis/gallery/paper.h"
#include "widgets/gallery/gallery_steps.h"
#include "widgets/jobs/elided_label.h"
#include "widgets/jobs/job_status.h"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>

namespace secateur {

namespace {

constexpr const char* sizeSetting = "gallery/size";
constexpr const char* folderSetting = "gallery/data";
constexpr int galleryBarSteps = 1000;

} // namespace

GalleryBar::GalleryBar(GallerySteps* steps, QWidget* parent)
    : QWidget(parent)
    , m_steps(steps)
    , m_folder(QSettings().value(folderSetting).toString())
    , m_size(new QComboBox)
    , m_choose(new QToolButton)
    , m_files(new ElidedLabel)
    , m_all(new QPushButton)
    , m_running(new ElidedLabel)
    , m_progress(new QProgressBar)
    , m_stop(new QToolButton) {
    build();
    connect(m_size, &QComboBox::activated, this, [this] {
        QSettings().setValue(sizeSetting, m_size->currentData());
        emit chosen();
    });
    connect(m_choose, &QToolButton::clicked, this, &GalleryBar::chooseFolder);
    connect(m_all, &QPushButton::clicked, this, &GalleryBar::measureAllWanted);
    connect(m_stop, &QToolButton::clicked, steps, &GallerySteps::stop);
    connect(steps, &GallerySteps::changed, this, &GalleryBar::follow);
    connect(steps, &GallerySteps::progressed, this, &GalleryBar::follow);
    showFiles({});
    follow();
}

void GalleryBar::build() {
    m_size->addItem(tr("quick"), "quick");
    m_size->addItem(tr("paper"), "paper");
    m_size->setToolTip(tr("quick: few tokens, questions and budgets, at most half an hour for each paper with a small "
                          "model. paper: as in the paper"));
    m_size->setAccessibleName(tr("Size of the measurements"));
    m_size->setCurrentIndex(std::max(0, m_size->findData(QSettings().value(sizeSetting, "quick"))));
    auto* sizeLabel = new QLabel(tr("S&ize"));
    sizeLabel->setBuddy(m_size);
    m_choose->setText(tr("Texts and tasks…"));
    m_all->setWhatsThis(
        tr("Measures the missing results of all figures and tables. The commands run one after another."));
    m_choose->setFocusPolicy(Qt::StrongFocus);
    m_files->setForegroundRole(QPalette::PlaceholderText);
    m_files->setAccessibleName(tr("Texts and tasks that were found"));
    auto* choices = new QHBoxLayout;
    choices->addWidget(sizeLabel);
    choices->addWidget(m_size);
    choices->addSpacing(fontMetrics().averageCharWidth());
    choices->addWidget(m_choose);
    choices->addWidget(m_files, 1);
    choices->addWidget(m_all);
    m_running->setAccessibleName(tr("State of the measurements"));
    m_progress->setMaximum(galleryBarSteps);
    m_progress->setTextVisible(false);
    m_progress->setFixedSize(fontMetrics().averageCharWidth() * 24, fontMetrics().height() * 2 / 3);
    m_progress->setAccessibleName(tr("Progress of the measurement"));
    m_stop->setText(tr("Cancel"));
    m_stop->setFocusPolicy(Qt::StrongFocus);
    m_stop->setAccessibleName(tr("Cancel the measurements"));
    m_stop->setToolTip(tr("Keeps the results so far; the measurements can continue later"));
    auto* running = new QHBoxLayout;
    running->addWidget(m_running, 1);
    running->addWidget(m_progress);
    running->addWidget(m_stop);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(choices);
    column->addLayout(running);
}

SweepSize GalleryBar::size() const {
    return sweepSizeOf(m_size->currentData().toString().toStdString());
}

void GalleryBar::setFolder(const QString& folder) {
    m_folder = folder;
    QSettings().setValue(folderSetting, folder);
    emit chosen();
}

void GalleryBar::chooseFolder() {
    auto* dialog = new QFileDialog(this, tr("Folder with texts and tasks"), m_folder);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, &GalleryBar::setFolder);
    dialog->open();
}

void GalleryBar::showFiles(const std::map<std::string, std::string>& files) {
    QStringList missing;
    for (const std::string_view name : recipeFiles())
        if (!files.contains(std::string(name)))
            missing << QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    QStringList found;
    for (const auto& [name, path] : files)
        found << QString::fromStdString(name);
    const QString count = tr("%1 of %2 files").arg(files.size()).arg(recipeFiles().size());
    m_files->setText(m_folder.isEmpty() ? tr("no folder: built-in text, no tasks")
                                        : tr("%1: %2").arg(QDir(m_folder).dirName(), count));
    QStringList tip;
    if (!m_folder.isEmpty())
        tip << QDir::toNativeSeparators(m_folder);
    if (!found.isEmpty())
        tip << tr("Found: %1").arg(found.join(", "));
    if (!missing.isEmpty())
        tip << tr("Not found: %1. Their columns stay empty.").arg(missing.join(", "));
    m_files->setToolTip(tip.join('\n'));
    m_choose->setToolTip(tr("Choose the folder with texts and tasks by their usual names"));
}

void GalleryBar::setOffer(const QString& text, bool isEnabled) {
    m_all->setText(text);
    m_all->setEnabled(isEnabled);
}

void GalleryBar::follow() {
    const bool isBusy = m_steps->isBusy();
    m_stop->setEnabled(isBusy);
    m_progress->setEnabled(isBusy);
    m_progress->setValue(static_cast<int>(std::lround(m_steps->fraction() * galleryBarSteps)));
    QStringList parts;
    if (isBusy) {
        parts << (m_steps->text().isEmpty() ? tr("Starting…") : m_steps->text());
        if (m_steps->secondsLeft() >= 0)
            parts << timeLeftText(m_steps->secondsLeft());
        if (!m_steps->command().isEmpty())
            parts << m_steps->command();
    } else {
        parts << m_steps->problem();
    }
    m_running->setText(parts.join(QStringLiteral(" · ")));
}

} // namespace secateur
