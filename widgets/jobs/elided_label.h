#pragma once

#include <QLabel>

namespace secateur {

/// One line of text that is elided where it has no room, and then shown as a whole in the tooltip. It can be narrower
/// than its text.
class ElidedLabel : public QLabel {
    Q_OBJECT

public:
    explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr);

    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

} // namespace secateur
