#pragma once

#include "widgets/heads/heads_cuts.h"

#include <QString>
#include <QWidget>

class QLabel;

namespace secateur {

/// One line under a picture of heads that compares two masks: which hatch is whose.
class HatchLegend : public QWidget {
    Q_OBJECT

public:
    explicit HatchLegend(QWidget* parent = nullptr);

    void setNames(const QString& here, const QString& there);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        Hatch hatch;
        QLabel* picture;
        QLabel* text;
    };
    Entry addEntry(Hatch hatch);
    void draw();

    Entry m_here;
    Entry m_there;
    Entry m_both;
};

} // namespace secateur
