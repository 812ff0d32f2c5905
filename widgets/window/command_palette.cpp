#include "widgets/window/command_palette.h"

#include "widgets/window/detail_delegate.h"
#include "widgets/window/fuzzy.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int indexRole = Qt::UserRole + 1;
constexpr int rowsOnScreen = 12;

/// Those that have the letters, best first.
std::vector<Command> matching(const std::vector<Command>& commands, const QString& typed) {
    std::vector<std::pair<int, std::size_t>> found; // what sorts first, index
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (const auto score = fuzzyScore(typed, commands[i].title))
            found.emplace_back(-*score, i);
    std::ranges::stable_sort(found, {}, &std::pair<int, std::size_t>::first);
    found.resize(std::min(found.size(), CommandPalette::mostShown));
    std::vector<Command> best;
    for (const auto& [score, index] : found)
        best.push_back(commands[index]);
    return best;
}

} // namespace

CommandPalette::CommandPalette(QWidget* parent)
    : QFrame(parent)
    , m_input(new QLineEdit)
    , m_list(new QListWidget) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setAccessibleName(tr("Commands"));
    m_input->setAccessibleName(tr("Search commands"));
    m_list->setAccessibleName(tr("Commands found"));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setUniformItemSizes(true);
    m_list->setItemDelegate(new DetailDelegate(m_list));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 6);
    column->addWidget(m_input);
    column->addWidget(m_list);
    m_input->installEventFilter(this);
    parent->installEventFilter(this);
    connect(m_input, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::runCurrent);
    hide();
}

void CommandPalette::open(std::vector<Command> commands) {
    open([commands = std::move(commands)](const QString& typed) { return matching(commands, typed); },
         tr("Search commands, metrics, heads (L12.H3)…"));
}

void CommandPalette::open(Source source, const QString& invitation) {
    m_source = std::move(source);
    m_input->setPlaceholderText(invitation);
    m_input->clear();
    filter({});
    place();
    show();
    raise();
    m_input->setFocus(Qt::PopupFocusReason);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == parent() && event->type() == QEvent::Resize && isVisible())
        place();
    if (watched != m_input)
        return false;
    if (event->type() == QEvent::FocusOut) {
        hide();
        return false;
    }
    if (event->type() != QEvent::KeyPress)
        return false;
    auto* key = static_cast<QKeyEvent*>(event);
    switch (key->key()) {
    case Qt::Key_Escape:
        hide();
        parentWidget()->setFocus();
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        runCurrent();
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        QCoreApplication::sendEvent(m_list, event);
        return true;
    default:
        return false;
    }
}

void CommandPalette::filter(const QString& typed) {
    m_commands = m_source(typed);
    m_list->clear();
    for (std::size_t index = 0; index < std::min(m_commands.size(), mostShown); ++index) {
        auto* item = new QListWidgetItem(m_commands[index].title, m_list);
        item->setData(DetailDelegate::detailRole, m_commands[index].detail);
        item->setData(indexRole, static_cast<qulonglong>(index));
    }
    m_list->setCurrentRow(0);
}

void CommandPalette::runCurrent() {
    const QListWidgetItem* item = m_list->currentItem();
    if (!item)
        return;
    const auto run = m_commands[item->data(indexRole).toULongLong()].run; // a copy: it may open the palette again
    hide();
    parentWidget()->setFocus();
    run();
}

void CommandPalette::place() {
    const QSize room = parentWidget()->size();
    const int width = std::min(room.width() * 9 / 10, fontMetrics().averageCharWidth() * 80);
    const int rows = fontMetrics().height() * 3 / 2 * (rowsOnScreen + 2);
    setGeometry((room.width() - width) / 2, fontMetrics().height() * 2, width, std::min(room.height() * 8 / 10, rows));
}

} // namespace secateur
