#pragma once

#include <QLabel>

namespace secateur {

/// A label that always takes the room of the same number of lines, so that nothing around it moves when its text
/// changes. It may be narrower than its text: a text without enough room ends in "…", and the tooltip begins with all
/// of it.
class StillLabel : public QLabel {
    Q_OBJECT

public:
    explicit StillLabel(int lines = 1, QWidget* parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return false; }
    int heightForWidth(int) const override { return -1; }

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    /// The text's lines in the label's width, the last one cut off if there are more.
    QStringList linesShown() const;
    bool fits() const;

    int m_lines;
};

/// Lets a widget take the same room while it is hidden.
void keepRoomWhenHidden(QWidget* widget);

} // namespace secateur
