#include "widgets/results/scale_combo.h"

#include <QStandardItemModel>

#include <algorithm>

namespace secateur {

namespace {

QString scaleTitle(ScaleKind kind) {
    switch (kind) {
    case ScaleKind::automatic:
        return ScaleCombo::tr("auto");
    case ScaleKind::linear:
        return ScaleCombo::tr("linear");
    case ScaleKind::logarithmic:
        return ScaleCombo::tr("log");
    case ScaleKind::rank:
        return ScaleCombo::tr("rank");
    case ScaleKind::withinLayer:
        return ScaleCombo::tr("within layer");
    }
    return {};
}

QString scaleHelp(ScaleKind kind) {
    switch (kind) {
    case ScaleKind::automatic:
        return ScaleCombo::tr("Log if all values are positive and three quarters of them would be in the lowest\n"
                              "quarter of a linear scale; otherwise linear");
    case ScaleKind::linear:
        return ScaleCombo::tr("Equal differences are equal distances");
    case ScaleKind::logarithmic:
        return ScaleCombo::tr("Equal ratios are equal distances; for positive values");
    case ScaleKind::rank:
        return ScaleCombo::tr("Percentile of the value among all values of the model");
    case ScaleKind::withinLayer:
        return ScaleCombo::tr("Share of the largest value in the layer; for values of at least 0");
    }
    return {};
}

ScaleKind kindOf(const QVariant& data) {
    return static_cast<ScaleKind>(data.toInt());
}

} // namespace

ScaleCombo::ScaleCombo(const std::vector<ScaleKind>& kinds, QWidget* parent)
    : QComboBox(parent) {
    setSizeAdjustPolicy(QComboBox::AdjustToContents);
    for (const ScaleKind kind : kinds) {
        addItem(scaleTitle(kind), static_cast<int>(kind));
        setItemData(count() - 1, scaleHelp(kind), Qt::ToolTipRole);
    }
    if (const int automatic = findData(static_cast<int>(ScaleKind::automatic)); automatic >= 0)
        setItemText(automatic, tr("auto: linear")); // the width does not change with the values
    setAccessibleName(tr("Scale"));
    setToolTip(tr("How values are placed on the scale"));
}

bool ScaleCombo::isEnabledAt(int index) const {
    return qobject_cast<const QStandardItemModel*>(model())->item(index)->isEnabled();
}

void ScaleCombo::offer(std::span<const double> values, double clipPercent) {
    for (int index = 0; index < count(); ++index) {
        const ScaleKind kind = kindOf(itemData(index));
        qobject_cast<QStandardItemModel*>(model())->item(index)->setEnabled(suits(kind, values));
        if (kind == ScaleKind::automatic)
            setItemText(index, tr("auto: %1").arg(scaleTitle(usedScale(kind, values, clipPercent))));
    }
    setToolTip(
        isEnabledAt(currentIndex())
            ? scaleHelp(kindOf(currentData()))
            : tr("This scale does not suit the values, which are drawn with %1").arg(scaleTitle(kindOf(itemData(0)))));
}

ScaleKind ScaleCombo::scale() const {
    return kindOf(isEnabledAt(currentIndex()) ? currentData() : itemData(0));
}

void ScaleCombo::choose(ScaleKind kind) {
    setCurrentIndex(std::max(0, findData(static_cast<int>(kind))));
}

/// Sessions of version 0.1 hold whether a scale is logarithmic: "heads.log" = "true".
void ScaleCombo::restore(const std::map<std::string, std::string>& view, const std::string& name, const char* axis) {
    const ScaleKind usual = kindOf(itemData(0));
    const auto kept = view.find(name + ".scale" + axis);
    const auto older = view.find(name + ".log" + axis);
    if (kept != view.end())
        choose(scaleNamed(kept->second, usual));
    else
        choose(older != view.end() && older->second == "true" ? ScaleKind::logarithmic : usual);
}

std::string ScaleCombo::text() const {
    return std::string(secateur::name(kindOf(currentData())));
}

} // namespace secateur
