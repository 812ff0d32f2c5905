#pragma once

#include <QFrame>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace secateur {

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
