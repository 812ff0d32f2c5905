#include "widgets/gallery/option_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleValidator>
#include <QFormLayout>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>

namespace secateur {

namespace {

QString optionText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

OptionForm::OptionForm(const FigureInfo& item, const std::function<OptionField(const OptionInfo&)>& fieldOf,
                       QWidget* parent)
    : QWidget(parent)
    , m_item(item) {
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::WrapLongRows);
    for (const OptionInfo& option : item.options) {
        const OptionField shown = fieldOf(option);
        if (!shown.isShown)
            continue;
        QWidget* field = addField(option, shown.values);
        field->setToolTip("<p>" + optionText(option.meaning).toHtmlEscaped() + "</p>"); // as rich text, to break lines
        field->setAccessibleName(shown.label);
        field->setAccessibleDescription(optionText(option.meaning));
        form->addRow(shown.label, field);
    }
}

QWidget* OptionForm::addField(const OptionInfo& option, const QStringList& values) {
    if (option.type == "bool" && !option.defaultValue.empty())
        return addCheckBox(option);
    return values.isEmpty() ? addLine(option) : addCombo(option, values);
}

QWidget* OptionForm::addCheckBox(const OptionInfo& option) {
    auto* box = new QCheckBox;
    box->setChecked(option.defaultValue == "true");
    m_fields.push_back({&option, [box] { return box->isChecked() ? QString("true") : QString("false"); }});
    connect(box, &QCheckBox::toggled, this, &OptionForm::changed);
    return box;
}

QWidget* OptionForm::addCombo(const OptionInfo& option, const QStringList& values) {
    auto* combo = new QComboBox;
    combo->addItems(values);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    combo->setMinimumContentsLength(8);
    combo->setCurrentIndex(std::max(0, combo->findText(optionText(option.defaultValue))));
    m_fields.push_back({&option, [combo] { return combo->currentText(); }});
    connect(combo, &QComboBox::activated, this, &OptionForm::changed);
    return combo;
}

QWidget* OptionForm::addLine(const OptionInfo& option) {
    auto* line = new QLineEdit(optionText(option.defaultValue));
    line->setCursorPosition(0);
    if (option.type == "integer")
        line->setValidator(new QIntValidator(line));
    if (option.type == "number") {
        auto* validator = new QDoubleValidator(line);
        validator->setLocale(QLocale::c());
        line->setValidator(validator);
    }
    m_fields.push_back({&option, [line] { return line->text().trimmed(); }});
    connect(line, &QLineEdit::textChanged, this, &OptionForm::changed);
    return line;
}

std::string OptionForm::request() const {
    QString text = optionText(m_item.id);
    for (const Field& field : m_fields)
        if (const QString value = field.value(); !value.isEmpty() && value != optionText(field.option->defaultValue))
            text += ':' + optionText(field.option->name) + '=' + value;
    return text.toStdString();
}

} // namespace secateur
