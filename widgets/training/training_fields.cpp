#include "widgets/training/training_fields.h"

#include "widgets/document/document.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/text_combo.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr std::string_view usualRecipe = "quick";
constexpr double usualTeacherWeight = 0.5;
constexpr std::array<double, 3> usualAmounts{10, 200, 1}; ///< by unit

/// A box for a learning rate: "0.0003", without zeros at the end.
class RateBox : public QDoubleSpinBox {
public:
    RateBox() {
        constexpr int digits = 6;
        setDecimals(digits);
        setRange(1e-6, 1);
        setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    }
    QString textFromValue(double value) const override {
        QString text = QDoubleSpinBox::textFromValue(value);
        while (text.endsWith('0'))
            text.chop(1);
        return text.back().isDigit() ? text : text + '0';
    }
};

/// Lets a field be narrow, and names it and its text for screen readers. @param help its tool tip; empty = set
/// elsewhere
void setUpField(QWidget* field, const QString& name, const QString& help = {}) {
    field->setAccessibleName(name);
    if (!help.isEmpty())
        field->setToolTip(help);
    field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    if (auto* text = field->findChild<QLineEdit*>())
        text->setAccessibleName(name);
}

QFormLayout* narrowForm() {
    auto* form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::DontWrapRows);
    return form;
}

} // namespace

TrainingFields::TrainingFields(QWidget* parent)
    : QWidget(parent)
    , m_recipe(new QComboBox)
    , m_data(new TextCombo)
    , m_amount(new QDoubleSpinBox)
    , m_unit(new QComboBox)
    , m_fold(new QToolButton)
    , m_rank(new QSpinBox)
    , m_rate(new RateBox)
    , m_length(new QSpinBox)
    , m_lora(new QCheckBox(tr("LoRA")))
    , m_norms(new QCheckBox(tr("Norms")))
    , m_head(new QCheckBox(tr("Classifier")))
    , m_compensation(new QCheckBox(tr("Compensation")))
    , m_teacher(new QCheckBox(tr("Dense model")))
    , m_teacherWeight(new QDoubleSpinBox) {
    build();
    chooseRecipe(std::string(usualRecipe));
    connect(m_recipe, &QComboBox::activated, this, [this] {
        takeRecipe();
        emit changed();
    });
    connect(m_unit, &QComboBox::activated, this, [this] {
        takeUnit();
        m_amount->setValue(usualAmounts.at(static_cast<std::size_t>(m_unit->currentIndex())));
        emit changed();
    });
    connect(m_data, &TextCombo::chosen, this, &TrainingFields::changed);
    for (QDoubleSpinBox* box : {m_amount, m_rate, m_teacherWeight})
        connect(box, &QDoubleSpinBox::valueChanged, this, &TrainingFields::changed);
    for (QSpinBox* box : {m_rank, m_length})
        connect(box, &QSpinBox::valueChanged, this, &TrainingFields::changed);
    for (QCheckBox* box : {m_lora, m_norms, m_head, m_compensation, m_teacher})
        connect(box, &QCheckBox::toggled, this, &TrainingFields::changed);
}

void TrainingFields::build() {
    for (const TrainingRecipe& recipe : trainingRecipes()) {
        m_recipe->addItem(QString::fromUtf8(recipe.id.data(), static_cast<qsizetype>(recipe.id.size())));
        m_recipe->setItemData(m_recipe->count() - 1, rowText(recipe.summary), Qt::ToolTipRole);
    }
    setUpField(m_recipe, tr("Recipe of the training"));
    setUpField(m_data, tr("Text to train on"));
    m_data->setToolTip(tr("A text, or rows of instructions, chats or labelled texts (.jsonl, .json)"));
    QFormLayout* form = narrowForm();
    form->addRow(tr("Recipe"), m_recipe);
    form->addRow(tr("Train on"), m_data);
    addDuration(*form);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(form);
    QWidget* folded = options();
    m_fold->setText(tr("Options"));
    m_fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_fold->setAutoRaise(true);
    m_fold->setCheckable(true);
    m_fold->setToolTip(tr("Shows or hides the other settings"));
    m_fold->setArrowType(Qt::RightArrow);
    connect(m_fold, &QToolButton::toggled, folded, [this, folded](bool isOpen) {
        folded->setVisible(isOpen);
        m_fold->setArrowType(isOpen ? Qt::DownArrow : Qt::RightArrow);
    });
    column->addWidget(m_fold);
    column->addWidget(folded);
    folded->hide();
}

void TrainingFields::addDuration(QFormLayout& form) {
    constexpr double most = 1e6;
    m_unit->addItems({tr("minutes"), tr("steps"), tr("epochs")}); // in the order of Unit
    m_amount->setRange(0, most);
    setUpField(m_unit, tr("Unit of the duration"));
    setUpField(m_amount, tr("Duration of the training"), tr("How long the training takes, in the unit beside it"));
    m_unit->setToolTip(tr("Minutes are turned into a number of steps after the first five. An epoch is a pass over the "
                          "training data."));
    auto* row = new QHBoxLayout;
    row->addWidget(m_amount, 2);
    row->addWidget(m_unit, 3); // has long texts
    form.addRow(tr("For"), row);
}

QWidget* TrainingFields::options() {
    constexpr int mostTokens = 1'000'000;
    constexpr int mostRank = 4096;
    m_rank->setRange(1, mostRank);
    m_length->setRange(16, mostTokens);
    m_length->setSingleStep(128);
    m_length->setGroupSeparatorShown(true);
    m_length->setSuffix(tr(" tokens"));
    setUpField(m_rank, tr("Rank of the updates"),
               tr("Rank of the low-rank updates of LoRA; more ranks train more numbers"));
    setUpField(m_rate, tr("Learning rate"),
               tr("Step size of the training; it is the largest one, where the recipe varies it"));
    setUpField(m_length, tr("Maximum length of a sequence"), tr("Longer texts are cut into sequences of this length"));
    auto* box = new QWidget;
    QFormLayout* form = narrowForm();
    form->addRow(tr("Rank"), m_rank);
    form->addRow(tr("Learning rate"), m_rate);
    form->addRow(tr("Length"), m_length);
    form->addRow(tr("Trained"), trainedWeights());
    form->addRow(tr("Teacher"), teacher());
    form->addRow(tr("Share"), m_teacherWeight); // a longer label makes the panel too wide
    box->setLayout(form);
    return box;
}

QWidget* TrainingFields::trainedWeights() {
    m_lora->setToolTip(tr("Low-rank updates of the projections"));
    m_norms->setToolTip(tr("The weights of the norms"));
    m_head->setToolTip(tr("The classifier of an encoder. If the model has none with the classes of the data, a new one "
                          "is trained."));
    m_compensation->setToolTip(tr("Factors of kept heads and neurons, and biases of attention and MLP. They become the "
                                  "compensation of the mask."));
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    for (QCheckBox* kind : {m_lora, m_norms, m_head, m_compensation})
        column->addWidget(kind);
    return box;
}

QWidget* TrainingFields::teacher() {
    constexpr double step = 0.05;
    m_teacher->setToolTip(tr("Also learns the probabilities of the dense model on the training data. It runs once for "
                             "each sequence."));
    m_teacherWeight->setRange(step, 1);
    m_teacherWeight->setSingleStep(step);
    m_teacherWeight->setToolTip(tr("Share of the divergence from the teacher in the loss"));
    setUpField(m_teacherWeight, tr("Weight of the teacher"));
    connect(m_teacher, &QCheckBox::toggled, m_teacherWeight, &QWidget::setEnabled);
    m_teacherWeight->setEnabled(false);
    return m_teacher;
}

void TrainingFields::chooseRecipe(const std::string& id) {
    m_recipe->setCurrentIndex(std::max(0, m_recipe->findText(QString::fromStdString(id))));
    takeRecipe();
}

/// Sets the other fields to the values of the recipe.
void TrainingFields::takeRecipe() {
    const QSignalBlocker quiet(this);
    const TrainingSettings settings = trainingRecipe(m_recipe->currentText().toStdString()).settings();
    m_recipe->setToolTip(m_recipe->currentData(Qt::ToolTipRole).toString());
    m_rank->setValue(settings.adapter.rank);
    m_rate->setValue(settings.learningRate);
    m_length->setValue(settings.length);
    m_lora->setChecked(!settings.targets.empty());
    m_norms->setChecked(settings.trainsNorms);
    m_head->setChecked(settings.trainsHead);
    m_compensation->setChecked(settings.trainsCompensation);
    m_teacher->setChecked(settings.teacherWeight > 0);
    m_teacherWeight->setValue(settings.teacherWeight > 0 ? settings.teacherWeight : usualTeacherWeight);
    if (settings.minutes > 0)
        setDuration(minutes, settings.minutes);
    else if (settings.steps > 0)
        setDuration(steps, static_cast<double>(settings.steps));
    else
        setDuration(epochs, settings.epochs);
}

void TrainingFields::setDuration(Unit unit, double amount) {
    m_unit->setCurrentIndex(unit);
    takeUnit();
    m_amount->setValue(amount);
}

void TrainingFields::takeUnit() {
    constexpr std::array<int, 3> decimals{1, 0, 2};
    m_amount->setDecimals(decimals.at(static_cast<std::size_t>(m_unit->currentIndex())));
}

TrainingSettings TrainingFields::settings() const {
    TrainingSettings settings = trainingRecipe(m_recipe->currentText().toStdString()).settings();
    settings.adapter.rank = m_rank->value();
    settings.learningRate = m_rate->value();
    settings.length = m_length->value();
    if (!m_lora->isChecked())
        settings.targets.clear();
    settings.trainsNorms = m_norms->isChecked();
    settings.trainsHead = m_head->isChecked();
    settings.trainsCompensation = m_compensation->isChecked();
    settings.teacherWeight = m_teacher->isChecked() ? m_teacherWeight->value() : 0;
    const double amount = m_amount->value();
    settings.minutes = m_unit->currentIndex() == minutes ? amount : 0;
    settings.steps = m_unit->currentIndex() == steps ? static_cast<std::int64_t>(amount) : 0;
    if (m_unit->currentIndex() == epochs)
        settings.epochs = amount;
    checkSettings(settings);
    return settings;
}

std::string TrainingFields::data() const {
    return m_data->path().toStdString();
}

void TrainingFields::keep(Document& document) const {
    document.setView("recover.recipe", m_recipe->currentText().toStdString());
    document.setView("recover.data", data());
    document.setView("recover.unit", std::to_string(m_unit->currentIndex()));
    document.setView("recover.amount", m_amount->cleanText().toStdString());
    document.setView("recover.rank", std::to_string(m_rank->value()));
    document.setView("recover.rate", QString::number(m_rate->value()).toStdString());
    document.setView("recover.length", std::to_string(m_length->value()));
    QStringList trained;
    for (const auto& [name, box] : trainedBoxes())
        if (box->isChecked())
            trained << name;
    document.setView("recover.trained", trained.join(',').toStdString());
    document.setView("recover.teacher",
                     m_teacher->isChecked() ? m_teacherWeight->cleanText().toStdString() : std::string("0"));
}

/// @param trained names of trainedBoxes(), separated by commas; empty = those of the recipe
void TrainingFields::restoreChoices(const QString& trained, const QString& teacher) {
    const QStringList names = trained.split(',', Qt::SkipEmptyParts);
    for (const auto& [name, box] : trainedBoxes())
        if (!names.isEmpty())
            box->setChecked(names.contains(QLatin1String(name)));
    if (const double weight = teacher.toDouble(); weight > 0) {
        m_teacher->setChecked(true);
        m_teacherWeight->setValue(weight);
    }
}

/// A classifier belongs to encoders, a teacher to decoders.
void TrainingFields::offer(bool isEncoder) {
    QCheckBox* absent = isEncoder ? m_teacher : m_head;
    absent->setChecked(false);
    absent->setEnabled(false);
    (isEncoder ? m_head : m_teacher)->setEnabled(true);
}

void TrainingFields::restore(const Document& document) {
    const auto stored = [&](const char* name) { return QString::fromStdString(document.storedView(name)); };
    const QString recipe = stored("recover.recipe");
    {
        const QSignalBlocker quiet(this);
        chooseRecipe(recipe.isEmpty() ? std::string(usualRecipe) : recipe.toStdString());
        m_data->setPath(stored("recover.data"));
        if (m_recipe->currentText() == recipe) {
            setDuration(static_cast<Unit>(std::clamp<int>(stored("recover.unit").toInt(), minutes, epochs)),
                        stored("recover.amount").toDouble());
            m_rank->setValue(stored("recover.rank").toInt());
            m_rate->setValue(stored("recover.rate").toDouble());
            m_length->setValue(stored("recover.length").toInt());
            restoreChoices(stored("recover.trained"), stored("recover.teacher"));
        }
        offer(document.isOpen() && document.spec().family == Family::encoder);
    }
    emit changed();
}

} // namespace secateur
