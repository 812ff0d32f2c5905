#pragma once

#include <QWidget>

class QButtonGroup;
class QLabel;

namespace secateur {

class Comparison;

/// What A and B are while two measurements are compared, and which of them the views show. Hidden else.
class CompareBar : public QWidget {
    Q_OBJECT

public:
    explicit CompareBar(Comparison* comparison, QWidget* parent = nullptr);

private:
    void refresh();

    Comparison* m_comparison;
    QLabel* m_names;
    QButtonGroup* m_shown;
};

} // namespace secateur
