#pragma once

#include "analysis/figures/figure_info.h"

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <string>
#include <vector>

namespace secateur {

/// How a form shows an option.
struct OptionField {
    QString label;
    QStringList values = {}; ///< that are offered; empty = any text
    bool isShown = true;
};

/// The options of a figure as fields: a check box for `bool`, a number field for `integer` and `number`, a combo box
/// for a text with a list of values, and otherwise a line of text. Tooltips say what an option means.
class OptionForm : public QWidget {
    Q_OBJECT

public:
    OptionForm(const FigureInfo& item, const std::function<OptionField(const OptionInfo&)>& fieldOf,
               QWidget* parent = nullptr);

    /// The figure with its options that differ from their defaults: "id:key=value".
    std::string request() const;
    bool isEmpty() const { return m_fields.empty(); }

signals:
    void changed();

private:
    struct Field {
        const OptionInfo* option;
        std::function<QString()> value;
    };

    QWidget* addField(const OptionInfo& option, const QStringList& values);
    QWidget* addCheckBox(const OptionInfo& option);
    QWidget* addCombo(const OptionInfo& option, const QStringList& values);
    QWidget* addLine(const OptionInfo& option);

    const FigureInfo& m_item;
    std::vector<Field> m_fields;
};

} // namespace secateur
