#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"

#include <QFrame>
#include <QString>
#include <QStyledItemDelegate>

#include <functional>
#include <optional>
#include <variant>
#include <vector>

class QLineEdit;
class QListWidget;

namespace secateur {

/// How well a text answers what was typed: its letters in order, best at the beginnings of words and side by side.
/// Nothing when some letter is missing; upper and lower case are the same.
std::optional<int> fuzzyScore(const QString& typed, const QString& text);

/// A layer by its number.
struct LayerPlace {
    int layer = 0;
    bool operator==(const LayerPlace&) const = default;
};

/// Heads and layers that what was typed may mean, likeliest first: "12.3", "L12.H3", "l12h3" and "12 3" are a head,
/// "12" is a layer and its heads, "h3" that head of each layer. What goes on with more digits comes after. Costs no
/// more for a model of many heads.
std::vector<std::variant<HeadId, LayerPlace>> placesFor(const QString& typed, const ModelSpec& spec, std::size_t most);

/// An item's text at the left, cut short where it must be, and a detail in a quiet colour at the right.
class DetailDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    static constexpr int detailRole = Qt::UserRole;

    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// One thing that can be done, as the palette lists it.
struct Command {
    QString title;
    QString detail; ///< its shortcut, or what kind of thing it is
    std::function<void()> run;
};

/// Finds any command by a few of its letters. Lies over the top of its parent while it is open.
class CommandPalette : public QFrame {
    Q_OBJECT

public:
    explicit CommandPalette(QWidget* parent);

    /// What there is for a few letters, likeliest first.
    using Source = std::function<std::vector<Command>(const QString& typed)>;
    static constexpr std::size_t mostShown = 50;

    /// Opens with these commands, likeliest first.
    void open(std::vector<Command> commands);
    /// Opens with what is found. @param invitation stands where nothing is typed
    void open(Source source, const QString& invitation);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& typed);
    void runCurrent();
    void place();

    Source m_source;
    std::vector<Command> m_commands; ///< listed now
    QLineEdit* m_input;
    QListWidget* m_list;
};

} // namespace secateur
