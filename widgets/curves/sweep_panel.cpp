#include "widgets/curves/sweep_panel.h"

#include "analysis/base/text.h"
#include "analysis/strategies/strategy.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/still_label.h"
#include "widgets/results/text_combo.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

enum Column { strategyColumn, optionColumn };

/// Summary, budget and options of a strategy.
QString tipOf(const StrategyInfo& info) {
    QStringList lines{
        rowText(info.summary), SweepPanel::tr("Budget: %1").arg(rowText(info.budget)),
        SweepPanel::tr("Options: key=value, separated by colons. Several variants: separated by semicolons.")};
    for (const OptionInfo& option : allOptions(info))
        lines << QString("%1=%2: %3")
                     .arg(toQString(option.name), toQString(option.defaultValue), rowText(option.meaning));
    return "<p>" + lines.join("</p><p>") + "</p>"; // as rich text, so that long lines are broken
}

QString shownTime(double seconds) {
    return seconds < 100 ? SweepPanel::tr("%1 s").arg(std::ceil(seconds))
                         : SweepPanel::tr("%1 minutes").arg(std::ceil(seconds / 60));
}

QSpinBox* tokenBox(const QString& name, const QString& help) {
    constexpr int least = 64;
    constexpr int most = 10'000'000;
    auto* box = new QSpinBox;
    box->setRange(least, most);
    box->setSingleStep(1024);
    box->setGroupSeparatorShown(true);
    box->setSuffix(SweepPanel::tr(" tokens"));
    const int buttons = 2 * box->fontMetrics().averageCharWidth() + box->fontMetrics().height();
    box->setMinimumWidth(box->fontMetrics().horizontalAdvance(SweepPanel::tr("8,192 tokens")) + buttons);
    box->setAccessibleName(name);
    box->setToolTip(help);
    box->findChild<QLineEdit*>()->setAccessibleName(name);
    return box;
}

} // namespace

SweepPanel::SweepPanel(Document* document, SweepRunner* runner, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_runner(runner)
    , m_strategies(new QTreeWidget)
    , m_budgets(new QLineEdit)
    , m_repetitions(new QSpinBox)
    , m_stability(new QSpinBox)
    , m_text(new TextCombo)
    , m_tokens(tokenBox(tr("Maximum number of tokens of the calibration text"),
                        tr("Reads at most this many tokens of the text that masks are chosen on")))
    , m_score(new TextCombo(nullptr, tr("last third of the calibration text")))
    , m_scoreTokens(tokenBox(tr("Maximum number of tokens of the scored text"),
                             tr("Reads at most this many tokens of the text that masks are scored on")))
    , m_tasks(new QListWidget)
    , m_addTask(new QToolButton)
    , m_removeTask(new QToolButton)
    , m_recipe(new QComboBox)
    , m_steps(new QSpinBox)
    , m_trainingData(new TextCombo)
    , m_state(new StillLabel(2))
    , m_progress(new QProgressBar)
    , m_run(new QPushButton)
    , m_forecast(new QTimer(this)) {
    setObjectName("sweepPanel");
    build();
    listStrategies();
    setSetup(setupOf(document->session().view));
    connect(document, &Document::opened, this, [this] { setSetup(setupOf(m_document->session().view)); });
    connect(document, &Document::modelLocated, this, &SweepPanel::refresh);
    connect(document->masks(), &MaskEditor::protectionChanged, this, &SweepPanel::changed);
    connect(m_forecast, &QTimer::timeout, this, [this] { m_runner->forecast(setup()); });
    connect(runner, &SweepRunner::forecastReady, this, &SweepPanel::showForecast);
    connect(runner, &SweepRunner::refused, this, [this](const QString& reason) { m_state->setText(reason); });
    connect(runner, &SweepRunner::progressed, this, &SweepPanel::showProgress);
    connect(runner, &SweepRunner::runningChanged, this, &SweepPanel::refresh);
}

void SweepPanel::build() {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(4);
    m_strategies->setColumnCount(2);
    m_strategies->setHeaderLabels({tr("strategy"), tr("options")});
    m_strategies->setRootIsDecorated(false);
    m_strategies->setAccessibleName(tr("Strategies of the sweep"));
    m_strategies->setWhatsThis(
        tr("The ticked strategies run. Their options are edited in the second column, with F2 or a double "
           "click."));
    m_strategies->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    m_strategies->setMinimumHeight(fontMetrics().height() * 6);
    column->addWidget(m_strategies, 1);
    m_budgets->setAccessibleName(tr("Budgets, separated by commas"));
    m_budgets->setToolTip(
        tr("Units (8), shares of all units (12.5%), or shares of the model "
           "(params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%), separated by commas"));
    m_repetitions->setRange(1, 1000);
    m_repetitions->setAccessibleName(tr("Repetitions"));
    m_repetitions->findChild<QLineEdit*>()->setAccessibleName(m_repetitions->accessibleName());
    m_repetitions->setToolTip(tr("Runs of each strategy that depends on the seed"));
    constexpr int mostParts = 64;
    m_stability->setRange(1, mostParts); // 1 = no parts
    m_stability->setSpecialValueText(tr("not compared"));
    m_stability->setSuffix(tr(" parts of the text"));
    m_stability->setAccessibleName(tr("Stability"));
    m_stability->findChild<QLineEdit*>()->setAccessibleName(m_stability->accessibleName());
    m_stability->setToolTip(tr("Also chooses the masks on each of these parts of the calibration text, without scoring "
                               "them. The figure Stability compares them."));
    QFormLayout* form = m_form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::DontWrapRows);
    form->addRow(tr("Budgets"), m_budgets);
    form->addRow(tr("Repetitions"), m_repetitions);
    form->addRow(tr("Stability"), m_stability);
    buildRecovery(*form);
    column->addLayout(form);
    buildTexts(*column);
    m_state->setAccessibleName(tr("Cost and state of the sweep"));
    column->addWidget(m_state);
    auto* row = new QHBoxLayout;
    m_progress->setAccessibleName(tr("Progress of the sweep"));
    m_progress->setMaximum(1000);
    m_progress->setTextVisible(false);
    row->addWidget(m_progress, 1);
    row->addWidget(m_run);
    column->addLayout(row);
    constexpr int patienceMs = 600;
    m_forecast->setSingleShot(true);
    m_forecast->setInterval(patienceMs);
    connect(m_run, &QPushButton::clicked, this, &SweepPanel::runOrStop);
    connect(m_strategies, &QTreeWidget::itemChanged, this, &SweepPanel::changed);
    connect(m_budgets, &QLineEdit::textChanged, this, &SweepPanel::changed);
    for (QSpinBox* box : {m_repetitions, m_stability, m_tokens, m_scoreTokens, m_steps})
        connect(box, &QSpinBox::valueChanged, this, &SweepPanel::changed);
    for (TextCombo* combo : {m_text, m_score, m_trainingData})
        connect(combo, &TextCombo::chosen, this, &SweepPanel::changed);
    connect(m_recipe, &QComboBox::activated, this, &SweepPanel::changed);
}

/// The recipe, the number of steps, and the data of the trainings. The last two are shown with a recipe only.
void SweepPanel::buildRecovery(QFormLayout& form) {
    constexpr int mostSteps = 10'000'000;
    m_recipe->addItem(tr("no training"));
    m_recipe->setItemData(0, tr("Pruned models are scored as they are"), Qt::ToolTipRole);
    for (const TrainingRecipe& recipe : trainingRecipes()) {
        m_recipe->addItem(toQString(recipe.id));
        m_recipe->setItemData(m_recipe->count() - 1, rowText(recipe.summary), Qt::ToolTipRole);
    }
    m_recipe->setAccessibleName(tr("Recipe of the recovery training"));
    m_recipe->setToolTip(tr("Also trains a LoRA adapter under each mask, and scores the recovered model as a further "
                            "point. Trainings are kept, and continue after a stop."));
    m_steps->setRange(0, mostSteps);
    m_steps->setSpecialValueText(tr("duration of the recipe"));
    m_steps->setSuffix(tr(" steps"));
    m_steps->setAccessibleName(tr("Number of steps of each training"));
    m_steps->setToolTip(tr("Ends each training after this many steps"));
    m_steps->findChild<QLineEdit*>()->setAccessibleName(m_steps->accessibleName());
    m_trainingData->setAccessibleName(tr("Training data"));
    m_trainingData->setToolTip(
        tr("Training data: a text, or rows of instructions, chats or labelled texts (.jsonl, .json)"));
    for (QWidget* field : std::array<QWidget*, 3>{m_recipe, m_steps, m_trainingData})
        field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    form.addRow(tr("Recovery"), m_recipe);
    form.addRow(tr("For"), m_steps);
    form.addRow(tr("Train on"), m_trainingData);
}

void SweepPanel::buildTexts(QVBoxLayout& column) {
    m_text->setAccessibleName(tr("Calibration text"));
    m_text->setToolTip(tr("The text that masks are chosen on"));
    m_score->setAccessibleName(tr("Scored text"));
    m_score->setToolTip(tr("The text that masks are scored on"));
    m_tasks->setAccessibleName(tr("Tasks of the sweep"));
    m_tasks->setToolTip(tr("Task files on which every mask is scored too"));
    m_tasks->setFixedHeight(fontMetrics().height() * 2);
    m_addTask->setText(tr("+"));
    m_addTask->setToolTip(tr("Add a task file"));
    m_addTask->setAccessibleName(m_addTask->toolTip());
    m_removeTask->setText(QStringLiteral("−"));
    m_removeTask->setToolTip(tr("Remove the selected task"));
    m_removeTask->setAccessibleName(m_removeTask->toolTip());
    for (QWidget* field : std::array<QWidget*, 4>{m_text, m_score, m_repetitions, m_stability})
        field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // so that the panel can be narrow
    const auto add = [&](const QString& title, TextCombo* combo, QSpinBox* tokens) {
        auto* row = new QHBoxLayout;
        row->addWidget(new QLabel(title), 1);
        row->addWidget(tokens);
        column.addLayout(row);
        column.addWidget(combo);
    };
    add(tr("Calibration text"), m_text, m_tokens);
    add(tr("Scored text"), m_score, m_scoreTokens);
    auto* title = new QHBoxLayout;
    title->addWidget(new QLabel(tr("Tasks")), 1);
    title->addWidget(m_addTask);
    title->addWidget(m_removeTask);
    column.addLayout(title);
    column.addWidget(m_tasks);
    connect(m_addTask, &QToolButton::clicked, this, &SweepPanel::addTask);
    connect(m_removeTask, &QToolButton::clicked, this, &SweepPanel::removeTask);
}

void SweepPanel::listStrategies() {
    const QSignalBlocker quiet(m_strategies);
    for (const StrategyInfo& info : allStrategies()) {
        auto* item = new QTreeWidgetItem(m_strategies, {toQString(info.id), QString()});
        item->setFlags(item->flags() | Qt::ItemIsUserCheckable | Qt::ItemIsEditable);
        item->setCheckState(strategyColumn, Qt::Unchecked);
        for (const int column : {strategyColumn, optionColumn})
            item->setToolTip(column, tipOf(info));
    }
    m_strategies->resizeColumnToContents(strategyColumn);
}

SweepSetup SweepPanel::setup() const {
    SweepSetup setup;
    for (int row = 0; row < m_strategies->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = m_strategies->topLevelItem(row);
        if (item->checkState(strategyColumn) != Qt::Checked)
            continue;
        for (const QString& variant : item->text(optionColumn).split(';')) {
            const QString options = variant.trimmed();
            setup.strategies.push_back(
                (item->text(strategyColumn) + (options.isEmpty() ? QString() : ":" + options)).toStdString());
        }
    }
    setup.budgets = m_budgets->text().toStdString();
    setup.repetitions = m_repetitions->value();
    setup.stabilityParts = m_stability->value();
    setup.text = m_text->path().toStdString();
    setup.tokens = m_tokens->value();
    setup.score = m_score->path().toStdString();
    setup.scoreTokens = m_scoreTokens->value();
    for (int row = 0; row < m_tasks->count(); ++row)
        setup.tasks.push_back(m_tasks->item(row)->data(Qt::UserRole).toString().toStdString());
    if (m_recipe->currentIndex() > 0) {
        setup.recovery.recipe = m_recipe->currentText().toStdString();
        setup.recovery.data = m_trainingData->path().toStdString();
        if (m_steps->value() > 0)
            setup.recovery.steps = m_steps->value();
    }
    return setup;
}

void SweepPanel::setSetup(const SweepSetup& setup) {
    {
        const QSignalBlocker quiet(m_strategies);
        for (int row = 0; row < m_strategies->topLevelItemCount(); ++row) {
            m_strategies->topLevelItem(row)->setCheckState(strategyColumn, Qt::Unchecked);
            m_strategies->topLevelItem(row)->setText(optionColumn, {});
        }
        for (const std::string& strategy : setup.strategies) {
            const QString text = QString::fromStdString(strategy);
            const auto found = m_strategies->findItems(text.section(':', 0, 0), Qt::MatchExactly, strategyColumn);
            if (found.isEmpty())
                continue;
            QTreeWidgetItem* item = found.front();
            const bool isFurther = item->checkState(strategyColumn) == Qt::Checked;
            item->setCheckState(strategyColumn, Qt::Checked);
            item->setText(optionColumn,
                          (isFurther ? item->text(optionColumn) + "; " : QString()) + text.section(':', 1));
        }
    }
    m_budgets->setText(QString::fromStdString(setup.budgets));
    m_budgets->setCursorPosition(0); // a narrow field shows the beginning
    m_repetitions->setValue(setup.repetitions);
    m_stability->setValue(setup.stabilityParts);
    m_text->setPath(QString::fromStdString(setup.text));
    m_tokens->setValue(static_cast<int>(std::min<std::int64_t>(setup.tokens, m_tokens->maximum())));
    m_score->setPath(QString::fromStdString(setup.score));
    m_scoreTokens->setValue(static_cast<int>(std::min<std::int64_t>(setup.scoreTokens, m_scoreTokens->maximum())));
    m_tasks->clear();
    for (const std::string& task : setup.tasks) {
        const QString path = QString::fromStdString(task);
        auto* item = new QListWidgetItem(QFileInfo(path).completeBaseName(), m_tasks);
        item->setData(Qt::UserRole, path);
        item->setToolTip(path);
    }
    setRecovery(setup.recovery);
    refresh();
}

void SweepPanel::setRecovery(const RecoveryChoice& choice) {
    m_recipe->setCurrentIndex(choice.isWanted() ? std::max(0, m_recipe->findText(QString::fromStdString(choice.recipe)))
                                                : 0);
    m_steps->setValue(static_cast<int>(std::min<std::int64_t>(choice.steps.value_or(0), m_steps->maximum())));
    m_trainingData->setPath(QString::fromStdString(choice.data));
}

void SweepPanel::addTask() {
    auto* dialog = new QFileDialog(this, tr("Add a task"), {}, tr("Tasks (*.jsonl *.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        SweepSetup more = setup();
        more.tasks.push_back(path.toStdString());
        setSetup(more);
        changed();
    });
    dialog->open();
}

void SweepPanel::removeTask() {
    delete m_tasks->takeItem(m_tasks->currentRow());
    changed();
}

/// Forecasts the sweep anew when the user pauses.
void SweepPanel::changed() {
    refresh();
    if (m_run->isEnabled() && !m_runner->isRunning())
        m_forecast->start();
}

void SweepPanel::refresh() {
    const bool isRunning = m_runner->isRunning();
    const bool isReady = m_document->model() && !setup().strategies.empty() && !m_budgets->text().trimmed().isEmpty();
    m_run->setText(isRunning ? tr("&Pause sweep") : tr("&Run sweep"));
    m_run->setToolTip(isRunning ? tr("Points so far are kept; the sweep can go on later")
                                : tr("Chooses the masks and scores them. The points appear in the tab Curves"));
    m_run->setEnabled(isRunning || isReady);
    for (QWidget* field :
         {static_cast<QWidget*>(m_strategies), static_cast<QWidget*>(m_budgets), static_cast<QWidget*>(m_repetitions),
          static_cast<QWidget*>(m_stability), static_cast<QWidget*>(m_text), static_cast<QWidget*>(m_tokens),
          static_cast<QWidget*>(m_score), static_cast<QWidget*>(m_scoreTokens), static_cast<QWidget*>(m_tasks),
          static_cast<QWidget*>(m_addTask), static_cast<QWidget*>(m_removeTask), static_cast<QWidget*>(m_recipe)})
        field->setEnabled(!isRunning);
    for (QWidget* field : std::array<QWidget*, 2>{m_steps, m_trainingData}) {
        field->setEnabled(!isRunning);
        for (QWidget* part : {field, m_form->labelForField(field)})
            part->setVisible(m_recipe->currentIndex() > 0);
    }
    m_progress->setEnabled(isRunning);
    if (isRunning)
        return;
    m_progress->setValue(0);
    m_state->setText(!m_document->isOpen()        ? tr("No model is open.")
                     : !m_document->model()       ? tr("The checkpoint was not found.")
                     : setup().strategies.empty() ? tr("Choose strategies and budgets.")
                                                  : tr("Computing the cost…"));
    if (isReady)
        m_forecast->start();
}

void SweepPanel::showForecast(const SweepForecast& forecast) {
    if (m_runner->isRunning())
        return;
    QString text = forecast.left == 0 ? tr("%1 points, all measured").arg(forecast.points)
                   : forecast.left < forecast.points
                       ? tr("%1 of %2 points left, at most %3")
                             .arg(forecast.left)
                             .arg(forecast.points)
                             .arg(shownTime(forecast.seconds))
                       : tr("%1 points, at most %2").arg(forecast.points).arg(shownTime(forecast.seconds));
    if (forecast.failed > 0)
        text += tr("; %1 failed").arg(forecast.failed);
    m_state->setText(text);
}

void SweepPanel::showProgress(double fraction, const QString& text, double secondsLeft) {
    m_progress->setValue(static_cast<int>(fraction * m_progress->maximum()));
    m_state->setText(secondsLeft >= 0 ? tr("%1; %2 left").arg(text, shownTime(secondsLeft)) : text);
}

void SweepPanel::runOrStop() {
    if (m_runner->isRunning())
        m_runner->stop();
    else
        m_runner->run(setup());
}

} // namespace secateur
