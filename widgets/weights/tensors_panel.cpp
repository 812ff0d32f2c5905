#include "widgets/weights/tensors_panel.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/jobs/elided_label.h"
#include "widgets/weights/index_run.h"
#include "widgets/weights/tensor_details.h"
#include "widgets/weights/tensor_picture.h"
#include "widgets/weights/tensor_tree.h"
#include "widgets/weights/tile_run.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

/// Checkpoints up to this size are read as a whole when the panel is shown.
constexpr std::int64_t readUnasked = std::int64_t{3} << 30;

} // namespace

TensorsPanel::TensorsPanel(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_filter(new QLineEdit)
    , m_folders(new QToolButton)
    , m_compute(new QPushButton(tr("Compute &statistics")))
    , m_compare(new QToolButton)
    , m_menu(new QMenu(this))
    , m_note(new ElidedLabel)
    , m_tree(new TensorTree)
    , m_picture(new TensorPicture(document, jobs, selection, &m_source))
    , m_details(new TensorDetails)
    , m_splitter(new QSplitter)
    , m_right(new QSplitter)
    , m_statistics(new IndexRun(jobs, tr("Statistics of tensors"), this))
    , m_differences(new IndexRun(jobs, tr("Comparison of tensors"), this)) {
    build();
    connectAll();
    restart();
}

void TensorsPanel::build() {
    m_filter->setPlaceholderText(tr("Filter: q_proj Q4_1 size > 1M"));
    m_filter->setAccessibleName(tr("Filter of the tensors"));
    m_filter->setToolTip(
        tr("Words of the name, a type, a part of the shape, and conditions such as size > 1M, norm < 3, "
           "sd, mean, zeros > 10%, bits; in a comparison also error and snr"));
    m_filter->setClearButtonEnabled(true);
    m_folders->setText(tr("&Folders"));
    m_folders->setCheckable(true);
    m_folders->setChecked(true);
    m_folders->setAutoRaise(true);
    m_folders->setToolTip(tr("A folder for each layer, or one list of all tensors"));
    m_compare->setText(tr("&Compare"));
    m_compare->setAutoRaise(true);
    m_compare->setPopupMode(QToolButton::InstantPopup);
    m_compare->setMenu(m_menu);
    m_compare->setToolTip(
        tr("Compare the tensors with those of another checkpoint: its pruned, fine-tuned or quantised "
           "form"));
    m_menu->setWhatsThis(m_compare->toolTip());
    m_compute->setToolTip(
        tr("Read all tensors and compute their statistics, which takes a while for a large checkpoint"));
    m_note->setAccessibleName(tr("State of the list"));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(4, 4, 4, 4);
    row->setSpacing(4);
    row->addWidget(m_filter, 1);
    row->addWidget(m_folders);
    row->addWidget(m_compare);
    auto* second = new QHBoxLayout;
    second->setContentsMargins(6, 0, 4, 2);
    second->addWidget(m_note, 1);
    second->addWidget(m_compute);
    auto* list = new QWidget;
    auto* column = new QVBoxLayout(list);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(m_tree, 1);
    column->addLayout(second);
    m_right->addWidget(m_picture);
    m_right->addWidget(m_details);
    m_splitter->addWidget(list);
    m_splitter->addWidget(m_right);
    for (QSplitter* splitter : {m_splitter, m_right}) {
        splitter->setChildrenCollapsible(false);
        splitter->setHandleWidth(5);
    }
    m_splitter->setStretchFactor(0, 2);
    m_splitter->setStretchFactor(1, 3);
    m_right->setStretchFactor(0, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_splitter);
}

void TensorsPanel::connectAll() {
    connect(m_document, &Document::opened, this, &TensorsPanel::restart);
    connect(m_document, &Document::modelLocated, this, &TensorsPanel::restart);
    connect(m_tree, &TensorTree::chosen, this, &TensorsPanel::showChosen);
    connect(m_picture, &TensorPicture::shownChanged, this, &TensorsPanel::describe);
    connect(m_picture, &TensorPicture::unitWanted, this, &TensorsPanel::unitWanted);
    connect(m_picture, &TensorPicture::failed, this, &TensorsPanel::failed);
    connect(m_filter, &QLineEdit::textChanged, this, &TensorsPanel::applyFilter);
    connect(m_folders, &QToolButton::toggled, m_tree, &TensorTree::setFoldered);
    connect(m_compute, &QPushButton::clicked, this, [this] { computeStatistics(true); });
    connect(m_menu, &QMenu::aboutToShow, this, &TensorsPanel::listFiles);
    for (IndexRun* run : {m_statistics, m_differences}) {
        connect(run, &IndexRun::advanced, this, [this] {
            m_tree->settle();
            updateNote();
        });
        connect(run, &IndexRun::cancelled, this, &TensorsPanel::updateNote);
    }
    // A picture that the user waits for comes first.
    connect(m_picture->tiles(), &TileRun::runningChanged, this, [this](bool isRunning) {
        for (IndexRun* run : {m_statistics, m_differences})
            isRunning ? run->pause() : run->resume();
    });
    connect(m_jobs, &JobRunner::failed, this, &TensorsPanel::onEnded);
    connect(m_jobs, &JobRunner::cancelled, this,
            [this](quint64 job) { onEnded(job, tr("Reading the tensors was cancelled.")); });
    listFiles();
}

QSize TensorsPanel::sizeHint() const {
    const int line = fontMetrics().height();
    return {line * 60, line * 24};
}

void TensorsPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    balance();
    follow();
}

void TensorsPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    balance();
}

/// Lays the parts side by side or one below the other, as the panel is wide or high.
void TensorsPanel::balance() {
    if (!isVisible())
        return; // its size is not known yet
    const int character = fontMetrics().averageCharWidth();
    const bool isWide = width() > height() * 5 / 4;
    const Qt::Orientation outer = isWide ? Qt::Horizontal : Qt::Vertical;
    const Qt::Orientation inner = isWide || width() > 90 * character ? Qt::Horizontal : Qt::Vertical;
    if (m_splitter->orientation() != outer || !m_isArranged) {
        m_splitter->setOrientation(outer);
        const int all = isWide ? width() : height();
        m_splitter->setSizes({all * 2 / 5, all * 3 / 5});
    }
    if (m_right->orientation() != inner || !m_isArranged) {
        m_right->setOrientation(inner);
        const int all = inner == Qt::Horizontal ? (isWide ? width() * 3 / 5 : width()) : height() * 3 / 5;
        m_right->setSizes({all * 3 / 5, all * 2 / 5});
    }
    m_isArranged = true;
}

// ---- the open checkpoint

void TensorsPanel::restart() {
    for (JobRunner::Id* job : {&m_opening, &m_openingOther, &m_describing})
        m_jobs->cancel(std::exchange(*job, 0));
    m_statistics->stop();
    m_differences->stop();
    m_failure.clear();
    m_otherName.clear();
    m_tree->setTensors(nullptr);
    m_tree->setComparing(false);
    m_source.setStored(nullptr);
    follow();
    updateNote();
}

void TensorsPanel::follow() {
    const auto say = [this](const QString& sentence) {
        m_picture->say(sentence);
        m_details->say({});
    };
    if (m_source.stored() || m_opening != 0)
        return;
    if (!m_document->isOpen())
        return say(tr("Drop a model folder or file here"));
    if (!m_document->model() || !m_document->services().storedTensors)
        return say(tr("Tensors need the model's weights: File ▸ Locate model…"));
    if (!m_failure.isEmpty())
        return say(m_failure);
    say(tr("Reading the list of tensors…"));
    if (!isVisible())
        return;
    const auto work = [this, open = m_document->services().storedTensors,
                       path = m_document->model()->card().path](const Progress& progress) {
        return [this, stored = open(path, progress)] {
            m_opening = 0;
            adopt(stored);
        };
    };
    m_opening = m_jobs->start(tr("List of tensors"), JobRunner::Priority::immediate, work);
}

void TensorsPanel::adopt(std::shared_ptr<const StoredTensors> stored) {
    m_source.setStored(std::move(stored));
    const std::vector<StoredTensor>& tensors = m_source.stored()->tensors();
    m_tree->setTensors(&tensors);
    applyFilter();
    m_picture->say(tensors.empty() ? tr("This checkpoint has no tensors") : tr("Choose a tensor in the list"));
    computeStatistics(false);
    const std::vector<std::size_t> listed = m_tree->shownTensors();
    if (!listed.empty())
        m_tree->setCurrent(listed.front());
    if (!m_wantedName.isEmpty())
        showTensor(std::exchange(m_wantedName, {}), m_wantedShown);
    if (!m_wantedOther.isEmpty())
        compareWith(std::exchange(m_wantedOther, {}));
}

void TensorsPanel::computeStatistics(bool isAskedFor) {
    const std::vector<StoredTensor>& tensors = m_source.stored()->tensors();
    const std::int64_t bytes = std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                                               [](std::int64_t sum, const StoredTensor& t) { return sum + t.bytes; });
    const bool isLarge = bytes > readUnasked;
    std::deque<std::size_t> items;
    for (const std::size_t tensor : m_tree->shownTensors())
        if (!m_tree->statistics(tensor) && (isAskedFor || !isLarge))
            items.push_back(tensor);
    const auto work = [this, stored = m_source.stored()](std::size_t tensor,
                                                         const Progress& progress) -> std::function<void()> {
        TensorStatistics found;
        QString failure;
        try {
            found = statisticsOf(*stored->grid(tensor), progress);
        } catch (const Error& error) {
            failure = QString::fromUtf8(error.what());
        }
        return [this, stored, tensor, found = std::move(found), failure] {
            if (stored != m_source.stored())
                return;
            m_tree->setStatistics(tensor, found, failure);
            if (m_picture->tensor() == tensor && m_picture->shown() == TensorShown::values)
                failure.isEmpty() ? describe() : m_details->say(failure);
        };
    };
    m_statistics->start(std::move(items), work,
                        isLarge ? JobRunner::Priority::background : JobRunner::Priority::immediate);
    updateNote();
}

void TensorsPanel::showChosen(std::size_t tensor) {
    if (m_source.stored() && m_picture->tensor() != tensor)
        m_picture->showTensor(tensor);
}

void TensorsPanel::showTensor(const QString& name, TensorShown shown) {
    if (!m_source.stored()) {
        m_wantedName = name;
        m_wantedShown = shown;
    } else if (const auto found = m_source.stored()->find(name.toStdString())) {
        m_tree->setCurrent(*found);
        if (shown != m_picture->shown())
            m_picture->choose(shown);
    }
}

void TensorsPanel::describe() {
    m_jobs->cancel(std::exchange(m_describing, 0));
    const std::optional<std::size_t> tensor = m_picture->tensor();
    if (!tensor || !m_source.stored())
        return;
    const TensorShown shown = m_picture->shown();
    const TensorDifference* difference = m_tree->difference(*tensor);
    if (shown == TensorShown::values) {
        if (const TensorStatistics* known = m_tree->statistics(*tensor))
            return m_details->show(tr("values"), *known, difference);
        m_details->say(tr("Computing the statistics…"));
        return m_statistics->putFirst(*tensor);
    }
    const QString what = shown == TensorShown::scales   ? tr("scales")
                         : shown == TensorShown::minima ? tr("minima")
                         : shown == TensorShown::other  ? tr("compared tensor")
                                                        : tr("difference");
    std::shared_ptr<const NumberGrid> grid;
    try {
        grid = m_source.grid(*tensor, shown);
    } catch (const Error&) {
        return m_details->say({}); // the picture says why
    }
    m_details->say(tr("Computing the statistics…"));
    const auto work = [this, grid, what, tensor](const Progress& progress) {
        return [this, what, tensor, found = statisticsOf(*grid, progress)] {
            m_describing = 0;
            m_details->show(what, found, m_tree->difference(*tensor));
        };
    };
    m_describing = m_jobs->start(tr("Statistics of tensors"), JobRunner::Priority::immediate, work);
}

void TensorsPanel::applyFilter() {
    if (!m_source.stored())
        return;
    m_tree->setFilter(TensorFilter(m_filter->text()));
    updateNote();
}

bool TensorsPanel::isDone() const {
    return m_source.stored() && m_statistics->isDone() && m_differences->isDone() && m_openingOther == 0;
}

// ---- state

void TensorsPanel::updateNote() {
    const auto count = [](std::size_t number) { return QString::fromStdString(grouped(number)); };
    QStringList parts;
    if (m_source.stored()) {
        const std::size_t all = m_source.stored()->tensors().size();
        const std::size_t passing = m_tree->shownTensors().size();
        parts << (passing == all ? tr("%1 tensors").arg(count(all))
                                 : tr("%1 of %2 tensors").arg(count(passing), count(all)));
        const QString error = TensorFilter(m_filter->text()).error();
        if (!error.isEmpty())
            parts << error;
    }
    if (m_openingOther != 0)
        parts << tr("opening the compared checkpoint…");
    if (m_source.other()) {
        parts << tr("compared with %1").arg(m_otherName);
        const TensorPairs& pairs = m_source.pairs();
        if (!pairs.onlyFirst.empty())
            parts << tr("%1 only here").arg(count(pairs.onlyFirst.size()));
        if (!pairs.onlySecond.empty())
            parts << tr("%1 only there").arg(count(pairs.onlySecond.size()));
        for (const std::string& warning : pairs.warnings)
            parts << QString::fromStdString(warning);
    }
    m_note->setText(parts.join(QStringLiteral(" · ")));
    bool isMissing = false;
    for (std::size_t tensor = 0; m_source.stored() && tensor < m_source.stored()->tensors().size(); ++tensor)
        isMissing = isMissing || (!m_tree->statistics(tensor) && m_source.tensor(tensor).isReadable);
    m_compute->setVisible(isMissing && m_statistics->isDone());
    m_compare->setEnabled(m_source.stored() != nullptr);
}

void TensorsPanel::onEnded(quint64 job, const QString& message) {
    if (job == 0)
        return;
    if (job == m_opening) {
        m_opening = 0;
        m_failure = message;
        follow();
    } else if (job == m_openingOther) {
        m_openingOther = 0;
        emit failed(message);
        updateNote();
    } else if (job == m_describing) {
        m_describing = 0;
        m_details->say(message);
    }
}

} // namespace secateur
