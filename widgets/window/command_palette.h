#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"

#include <QFrame>
#include <QPointer>
#include <QString>
#include <QStyledItemDelegate>

#include <functional>
#include <optional>
#include <variant>
#include <vector>

class QLineEdit;
class QListWidget;

namespace secateur {

/// Score of how well a text matches the typed letters; empty if it does not match. All letters must occur in this
/// order, in upper or lower case. Letters at the beginnings of words and adjacent letters increase the score.
std::optional<int> fuzzyScore(const QString& typed, const QString& text);

/// A layer, by its index.
struct LayerPlace {
    int layer = 0;
    bool operator==(const LayerPlace&) const = default;
};

/// Heads and layers that match the typed text, likeliest first. "12.3", "L12.H3", "l12h3" and "12 3" match a head; "12"
/// matches a layer and its heads; "h3" matches head 3 of each layer. Longer numbers that begin with the typed digits
/// come last.
/// @param most maximum number of results; the time does not depend on the number of heads
std::vector<std::variant<HeadId, LayerPlace>> placesFor(const QString& typed, const ModelSpec& spec, std::size_t most);

/// Draws an item's text on the left, shortened if necessary, and a detail in a muted colour on the right.
class DetailDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    static constexpr int detailRole = Qt::UserRole;

    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// An entry of the command palette.
struct Command {
    QString title;
    QString detail; ///< the shortcut, or the kind of entry
    std::function<void()> run;
};

/// A list of commands that the user searches by typing a few letters. It covers the top of its parent while it is open.
class CommandPalette : public QFrame {
    Q_OBJECT

public:
    explicit CommandPalette(QWidget* parent);

    /// Returns the entries that match the typed text, likeliest first.
    using Source = std::function<std::vector<Command>(const QString& typed)>;
    static constexpr std::size_t mostShown = 50;

    /// Opens the palette with these commands, likeliest first.
    void open(std::vector<Command> commands);
    /// Opens the palette with the entries of a source. @param invitation text that is shown while nothing is typed
    void open(Source source, const QString& invitation);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& typed);
    void runCurrent();
    void place();
    void dismiss();

    Source m_source;
    std::vector<Command> m_commands; ///< the listed entries
    QLineEdit* m_input;
    QListWidget* m_list;
    QPointer<QWidget> m_before; ///< had the focus before the palette
};

} // namespace secateur
