#include "widgets/results/compare_bar.h"

#include "widgets/document/comparison.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace secateur {

CompareBar::CompareBar(Comparison* comparison, QWidget* parent)
    : QWidget(parent)
    , m_comparison(comparison)
    , m_names(new QLabel)
    , m_shown(new QButtonGroup(this)) {
    m_names->setTextFormat(Qt::PlainText);
    m_names->setAccessibleName(tr("What is compared"));
    m_names->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long names; the whole is in the tooltip
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 4, 8, 4);
    row->setSpacing(2);
    row->addWidget(m_names, 1);
    const auto add = [&](Comparison::Shown shown, const QString& text, const QString& help) {
        auto* button = new QToolButton;
        button->setText(text);
        button->setToolTip(help);
        button->setAccessibleName(help);
        button->setCheckable(true);
        button->setAutoRaise(true);
        m_shown->addButton(button, static_cast<int>(shown));
        row->addWidget(button);
    };
    add(Comparison::Shown::a, tr("A"), tr("Show A"));
    add(Comparison::Shown::b, tr("B"), tr("Show B"));
    add(Comparison::Shown::both, tr("A and B"), tr("Show A and B over one another, where a view can"));
    add(Comparison::Shown::difference, tr("A − B"), tr("Show the difference"));
    auto* close = new QToolButton;
    close->setText("×");
    close->setAutoRaise(true);
    close->setToolTip(tr("Compare no more"));
    close->setAccessibleName(close->toolTip());
    row->addWidget(close);
    connect(close, &QToolButton::clicked, comparison, [comparison] { comparison->compareWith({}); });
    connect(m_shown, &QButtonGroup::idClicked, comparison,
            [comparison](int id) { comparison->show(static_cast<Comparison::Shown>(id)); });
    connect(comparison, &Comparison::changed, this, &CompareBar::refresh);
    refresh();
}

void CompareBar::refresh() {
    setVisible(m_comparison->isOn());
    if (!m_comparison->isOn())
        return;
    const QString names = tr("A: %1      B: %2").arg(m_comparison->nameOfA(), m_comparison->nameOfB());
    m_names->setText(names);
    m_names->setToolTip(names);
    m_shown->button(static_cast<int>(m_comparison->shown()))->setChecked(true);
}

} // namespace secateur
