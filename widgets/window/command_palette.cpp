#include "widgets/window/command_palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int indexRole = Qt::UserRole + 1;
constexpr int rowsOnScreen = 12;

constexpr int forLetter = 1;
constexpr int forNeighbour = 4;
constexpr int forWordStart = 6;
constexpr int forWhole = 20;

bool startsWord(const QString& text, qsizetype position) {
    return position == 0 || !text[position - 1].isLetterOrNumber();
}

/// Score of a match that begins at `from` and takes the first possible position of each letter; empty if there is no
/// match.
std::optional<int> scoreFrom(const QString& typed, const QString& text, qsizetype from) {
    int score = 0;
    qsizetype previous = -2;
    qsizetype at = from;
    for (const QChar letter : typed) {
        if (letter.isSpace())
            continue;
        while (at < text.size() && text[at].toLower() != letter.toLower())
            ++at;
        if (at == text.size())
            return {};
        score += forLetter + (at == previous + 1 ? forNeighbour : 0) + (startsWord(text, at) ? forWordStart : 0);
        previous = at++;
    }
    return score;
}

/// Numbers below a limit that begin with these digits. For "3": 3, then 30 to 39, then 300 to 399 and so on. If there
/// are no digits, all numbers.
std::vector<int> numbersFrom(const QString& digits, int limit) {
    std::vector<int> numbers;
    if (digits.isEmpty()) {
        for (int number = 0; number < limit; ++number)
            numbers.push_back(number);
        return numbers;
    }
    const qint64 typed = digits.toLongLong();
    for (qint64 width = 1; typed * width < limit; width *= 10) {
        for (qint64 number = typed * width; number < std::min<qint64>((typed + 1) * width, limit); ++number)
            numbers.push_back(static_cast<int>(number));
        if (typed == 0)
            break;
    }
    return numbers;
}

/// The commands that match the typed text, best match first.
std::vector<Command> matching(const std::vector<Command>& commands, const QString& typed) {
    std::vector<std::pair<int, std::size_t>> found; // negated score and index in `commands`
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

std::optional<int> fuzzyScore(const QString& typed, const QString& text) {
    const QString wanted = typed.trimmed();
    if (wanted.isEmpty())
        return 0;
    std::optional<int> best;
    for (qsizetype from = 0; from < text.size(); ++from) {
        if (text[from].toLower() != wanted[0].toLower())
            continue;
        const auto score = scoreFrom(wanted, text, from);
        if (!score)
            break; // if one start has no match, later starts have none either
        best = std::max(best.value_or(0), *score);
    }
    if (best && text.compare(wanted, Qt::CaseInsensitive) == 0)
        best = *best + forWhole;
    return best;
}

std::vector<std::variant<HeadId, LayerPlace>> placesFor(const QString& typed, const ModelSpec& spec, std::size_t most) {
    static const QRegularExpression form(
        "^\\s*(?:l(?:ayer)?\\s*)?(\\d{0,6})(\\s*[.,:/]?\\s*)(?:(h)(?:ead)?\\s*)?(\\d{0,6})\\s*$",
        QRegularExpression::CaseInsensitiveOption);
    std::vector<std::variant<HeadId, LayerPlace>> places;
    const QRegularExpressionMatch match = form.match(typed);
    const QString layerDigits = match.captured(1);
    const QString headDigits = match.captured(4);
    if (!match.hasMatch() || (layerDigits.isEmpty() && headDigits.isEmpty()))
        return places;
    const bool asksForHead = !headDigits.isEmpty() || !match.captured(3).isEmpty() ||
                             match.captured(2).contains(QRegularExpression("[.,:/]"));
    const auto addHeads = [&](int layer) {
        const int heads = spec.layers[static_cast<std::size_t>(layer)].heads;
        for (const int head : numbersFrom(headDigits, heads))
            if (places.size() < most)
                places.emplace_back(HeadId{layer, head});
    };
    const std::vector<int> layers = numbersFrom(layerDigits, spec.layerCount());
    if (asksForHead) {
        // If a head was typed, the layer's number is complete: "L1.H2" does not match L12.H2.
        for (const int layer : layers)
            if (layerDigits.isEmpty() || layer == layerDigits.toInt())
                addHeads(layer);
        return places;
    }
    for (const int layer : layers)
        if (places.size() < most)
            places.emplace_back(LayerPlace{layer});
    if (!layers.empty() && layers.front() == layerDigits.toInt())
        addHeads(layers.front());
    return places;
}

void DetailDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const QString text = std::exchange(item.text, {});
    const QStyle* style = item.widget ? item.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);

    const int character = item.fontMetrics.averageCharWidth();
    const QRect room = item.rect.adjusted(character, 0, -character, 0);
    const QString detail = index.data(detailRole).toString();
    const int taken = detail.isEmpty() ? 0 : item.fontMetrics.horizontalAdvance(detail) + 2 * character;
    painter->setFont(item.font);
    painter->setPen(item.palette.color(QPalette::Text));
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                      item.fontMetrics.elidedText(text, Qt::ElideMiddle, room.width() - taken));
    painter->setPen(item.palette.color(QPalette::PlaceholderText));
    painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, detail);
}

QSize DetailDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    return {QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() * 3 / 2};
}

CommandPalette::CommandPalette(QWidget* parent)
    : QFrame(parent)
    , m_input(new QLineEdit)
    , m_list(new QListWidget) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setAccessibleName(tr("Commands"));
    m_input->setAccessibleName(tr("Search commands"));
    m_input->setToolTip(tr("A few letters of a command, a metric or a head; Enter runs or shows the marked row"));
    m_list->setAccessibleName(tr("Commands found"));
    m_list->setWhatsThis(
        tr("The commands, metrics and heads found. The arrows move the mark, Enter or a click runs or shows the row."));
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
    if (!isVisible())
        m_before = QApplication::focusWidget();
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
        dismiss();
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
    const auto run = m_commands[item->data(indexRole).toULongLong()].run; // a copy, as it may open the palette again
    dismiss();
    run();
}

/// Hides the palette and returns the focus to the control that had it.
void CommandPalette::dismiss() {
    hide();
    (m_before ? m_before.data() : parentWidget())->setFocus();
}

void CommandPalette::place() {
    const QSize room = parentWidget()->size();
    const int width = std::min(room.width() * 9 / 10, fontMetrics().averageCharWidth() * 80);
    const int rows = fontMetrics().height() * 3 / 2 * (rowsOnScreen + 2);
    setGeometry((room.width() - width) / 2, fontMetrics().height() * 2, width, std::min(room.height() * 8 / 10, rows));
}

} // namespace secateur
