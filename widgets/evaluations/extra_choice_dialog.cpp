#include "widgets/evaluations/extra_choice_dialog.h"

#include "analysis/tasks/task.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

QString examplePrompt() {
    return ExtraChoiceDialog::tr("The first thing to know about gardens is");
}

constexpr std::size_t usualLimit = 100;
constexpr int usualNewTokens = 48;
constexpr int mostQuestions = 1'000'000;
constexpr const char* recentTasks = "evaluation/tasks";
constexpr const char* lastPrompt = "evaluation/prompt";
constexpr int recentTaskCount = 8;

QSpinBox* numberField(const QString& name, const QString& hint, int least, int most, int value) {
    auto* field = new QSpinBox;
    field->setRange(least, most);
    field->setValue(value);
    field->setGroupSeparatorShown(true);
    field->setAccessibleName(name);
    field->findChild<QLineEdit*>()->setAccessibleName(name);
    field->setToolTip(hint);
    return field;
}

QLabel* quietLabel(const QString& text = {}) {
    auto* label = new QLabel(text);
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

void rememberTask(const QString& path) {
    QStringList paths = QSettings().value(recentTasks).toStringList();
    paths.removeAll(path);
    paths.prepend(path);
    QSettings().setValue(recentTasks, paths.mid(0, recentTaskCount));
}

} // namespace

ExtraChoiceDialog::ExtraChoiceDialog(LiveEvaluation* live, QWidget* parent)
    : QDialog(parent)
    , m_live(live)
    , m_tasks(new QGridLayout)
    , m_recent(new QMenu(this))
    , m_noTasks(
          quietLabel(tr("No tasks. A task is a file with one question per line: PIQA, ARC, HellaSwag and others.")))
    , m_speed(new QCheckBox(tr("Tokens per &second")))
    , m_speedExpected(quietLabel())
    , m_continues(new QCheckBox(tr("&Continue a prompt")))
    , m_prompt(new QLineEdit(QSettings().value(lastPrompt).toString()))
    , m_newTokens(numberField(tr("New tokens"), tr("Maximum number of generated tokens"), 1, 4096, usualNewTokens))
    , m_promptExpected(quietLabel()) {
    setWindowTitle(tr("More measurements"));
    auto* column = new QVBoxLayout(this);
    auto* note =
        quietLabel(tr("Run after the loss, for the dense model and each mask. Expected times are for one mask."));
    note->setWordWrap(true);
    column->addWidget(note);
    buildTasks();
    buildOthers();
    column->addStretch();
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setWhatsThis(tr("Closes this window. The choice is kept."));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    column->addWidget(buttons);
    connect(live->extra(), &ExtraEvaluation::changed, this, &ExtraChoiceDialog::refresh);
    buildRows();
    refresh();
}

void ExtraChoiceDialog::buildTasks() {
    auto* add = new QToolButton;
    add->setText(tr("&Add a task"));
    add->setMenu(m_recent);
    add->setToolTip(tr("Adds a file of questions that every mask answers"));
    add->setPopupMode(QToolButton::InstantPopup);
    connect(m_recent, &QMenu::aboutToShow, this, &ExtraChoiceDialog::fillMenu);
    m_tasks->setColumnStretch(0, 1);
    m_tasks->setHorizontalSpacing(8);
    auto* column = static_cast<QVBoxLayout*>(layout());
    column->addLayout(m_tasks);
    column->addWidget(m_noTasks);
    column->addWidget(add, 0, Qt::AlignLeft);
    column->addSpacing(8);
}

void ExtraChoiceDialog::buildOthers() {
    const SpeedRequest speed;
    m_speed->setToolTip(
        tr("Generate %1 tokens after a %2-token prompt, %3 runs after %4 of warm-up, mask and dense model in turns")
            .arg(speed.newTokens)
            .arg(speed.promptTokens)
            .arg(speed.runs)
            .arg(speed.warmup));
    m_prompt->setPlaceholderText(examplePrompt());
    m_prompt->setAccessibleName(tr("Prompt to continue"));
    m_prompt->setToolTip(tr("The dense model and the pruned model continue this text"));
    m_continues->setToolTip(tr("Generates text after the prompt, with the dense model and under each mask"));
    m_prompt->setMinimumWidth(fontMetrics().averageCharWidth() * 40);
    auto* grid = new QGridLayout;
    grid->setColumnStretch(1, 1);
    grid->addWidget(m_speed, 0, 0);
    auto* how = quietLabel(tr("generate %1 tokens after a %2-token prompt, %3 runs")
                               .arg(speed.newTokens)
                               .arg(speed.promptTokens)
                               .arg(speed.runs));
    grid->addWidget(how, 0, 1);
    grid->addWidget(m_speedExpected, 0, 3);
    grid->addWidget(m_continues, 1, 0);
    grid->addWidget(m_prompt, 1, 1);
    grid->addWidget(m_newTokens, 1, 2);
    grid->addWidget(m_promptExpected, 1, 3);
    static_cast<QVBoxLayout*>(layout())->addLayout(grid);
    connect(m_speed, &QCheckBox::clicked, this, &ExtraChoiceDialog::choose);
    connect(m_continues, &QCheckBox::clicked, this, &ExtraChoiceDialog::choose);
    connect(m_prompt, &QLineEdit::editingFinished, this, &ExtraChoiceDialog::choose);
    connect(m_newTokens, &QSpinBox::editingFinished, this, &ExtraChoiceDialog::choose);
}

void ExtraChoiceDialog::buildRows() {
    for (const Row& row : m_rows)
        for (QWidget* widget : row.widgets)
            widget->deleteLater(); // not deleted at once, because the caller may be a click handler of the widget
    m_rows.clear();
    int line = 0;
    for (const TaskRequest& request : m_live->choice().extra.tasks)
        addRow(request, line++);
    m_noTasks->setVisible(m_rows.empty());
}

void ExtraChoiceDialog::addRow(const TaskRequest& request, int line) {
    const QFileInfo file(QString::fromStdString(request.path));
    Row row{request, new QComboBox, nullptr, nullptr, quietLabel(), {}};
    auto* name = new QLabel(file.completeBaseName());
    name->setToolTip(file.filePath());
    row.format->addItem(tr("format: auto"), QString());
    for (const TaskFormat& format : taskFormats())
        row.format->addItem(QString::fromUtf8(format.id.data(), static_cast<int>(format.id.size())),
                            QString::fromUtf8(format.id.data(), static_cast<int>(format.id.size())));
    row.format->setCurrentIndex(std::max(row.format->findData(QString::fromStdString(request.format)), 0));
    row.format->setAccessibleName(tr("Format of %1").arg(name->text()));
    row.shots = numberField(tr("Shots of %1").arg(name->text()),
                            tr("Solved questions of the same file in front of each question"), 0, 100,
                            static_cast<int>(request.shots));
    row.shots->setSpecialValueText(tr("0-shot"));
    row.shots->setSuffix(tr("-shot"));
    row.limit = numberField(tr("Questions of %1").arg(name->text()),
                            tr("Maximum number of questions, drawn from the whole file; 0 = all"), 0, mostQuestions,
                            static_cast<int>(request.limit));
    row.limit->setSpecialValueText(tr("all questions"));
    row.limit->setSuffix(tr(" questions"));
    auto* remove = new QToolButton;
    remove->setText("×");
    remove->setAutoRaise(true);
    remove->setAccessibleName(tr("Remove %1").arg(name->text()));
    remove->setToolTip(tr("Remove this task"));
    row.widgets = {name, row.format, row.shots, row.limit, row.expected, remove};
    for (std::size_t i = 0; i < row.widgets.size(); ++i)
        m_tasks->addWidget(row.widgets[i], line, static_cast<int>(i));
    connect(row.format, &QComboBox::activated, this, &ExtraChoiceDialog::choose);
    connect(row.shots, &QSpinBox::editingFinished, this, &ExtraChoiceDialog::choose);
    connect(row.limit, &QSpinBox::editingFinished, this, &ExtraChoiceDialog::choose);
    connect(remove, &QToolButton::clicked, this, [this, path = request.path] {
        EvaluationChoice choice = m_live->choice();
        std::erase_if(choice.extra.tasks, [&](const TaskRequest& task) { return task.path == path; });
        m_live->choose(choice);
        buildRows();
        refresh();
    });
    m_rows.push_back(std::move(row));
}

void ExtraChoiceDialog::fillMenu() {
    m_recent->clear();
    const QStringList recent = QSettings().value(recentTasks).toStringList();
    for (const QString& path : recent) {
        QAction* action = m_recent->addAction(QFileInfo(path).fileName(), this, [this, path] { addTask(path); });
        action->setToolTip(path);
    }
    if (!recent.isEmpty())
        m_recent->addSeparator();
    m_recent->addAction(tr("&Choose a file…"), this, &ExtraChoiceDialog::chooseFile);
}

void ExtraChoiceDialog::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Add a task"), {}, tr("Tasks (*.jsonl *.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &ExtraChoiceDialog::addTask);
    dialog->open();
}

void ExtraChoiceDialog::addTask(const QString& path) {
    rememberTask(path);
    EvaluationChoice choice = m_live->choice();
    const std::string file = path.toStdString();
    if (std::ranges::find(choice.extra.tasks, file, &TaskRequest::path) != choice.extra.tasks.end())
        return; // the task is chosen already, and results are named after the task
    TaskRequest request;
    request.path = file;
    request.limit = usualLimit;
    choice.extra.tasks.push_back(std::move(request));
    m_live->choose(choice);
    buildRows();
    announce();
    refresh();
}

PromptRequest ExtraChoiceDialog::prompt() const {
    const QString text = m_prompt->text().isEmpty() ? examplePrompt() : m_prompt->text();
    PromptRequest request;
    request.text = text.toStdString();
    request.newTokens = m_newTokens->value();
    return request;
}

void ExtraChoiceDialog::choose() {
    EvaluationChoice choice = m_live->choice();
    ExtraChoice extra;
    for (Row& row : m_rows) {
        row.request.format = row.format->currentData().toString().toStdString();
        row.request.shots = static_cast<std::size_t>(row.shots->value());
        row.request.limit = static_cast<std::size_t>(row.limit->value());
        extra.tasks.push_back(row.request);
    }
    if (m_speed->isChecked())
        extra.speed = SpeedRequest();
    if (m_continues->isChecked())
        extra.prompt = prompt();
    QSettings().setValue(lastPrompt, m_prompt->text());
    if (!(extra == choice.extra)) {
        choice.extra = std::move(extra);
        m_live->choose(choice);
    }
    announce();
}

/// Requests forecasts of all measurements that the dialog offers, chosen or not.
void ExtraChoiceDialog::announce() {
    if (!isVisible())
        return;
    std::vector<ExtraItem> items = m_live->choice().extra.items();
    items.emplace_back(prompt());
    items.emplace_back(SpeedRequest());
    m_live->extra()->announce(items);
}

QString ExtraChoiceDialog::expectation(const ExtraItem& item) const {
    const QString problem = m_live->extra()->problem(item);
    if (!problem.isEmpty())
        return problem;
    const ExtraForecast* forecast = m_live->extra()->forecast(item);
    if (!forecast)
        return {};
    const QString seconds = durationText(forecast->seconds);
    if (forecast->formatId.empty())
        return seconds;
    const QString format = QString::fromStdString(forecast->formatId);
    return tr("%1, %2 of %3, %4").arg(format).arg(forecast->asked).arg(forecast->questions).arg(seconds);
}

void ExtraChoiceDialog::refresh() {
    const ExtraChoice& choice = m_live->choice().extra;
    m_speed->setChecked(choice.speed.has_value());
    m_continues->setChecked(choice.prompt.has_value());
    for (const Row& row : m_rows) {
        const QString text = expectation(row.request);
        const int most = fontMetrics().averageCharWidth() * 44;
        row.expected->setText(fontMetrics().elidedText(text, Qt::ElideMiddle, most));
        row.expected->setToolTip(text);
    }
    m_speedExpected->setText(expectation(SpeedRequest()));
    m_promptExpected->setText(expectation(prompt()));
}

void ExtraChoiceDialog::showEvent(QShowEvent* event) {
    QDialog::showEvent(event);
    announce();
}

QToolButton* extraButton(LiveEvaluation* live, QWidget* parent) {
    auto* button = new QToolButton(parent);
    auto* box = new ExtraChoiceDialog(live, button);
    button->setToolTip(ExtraChoiceDialog::tr("Tasks, tokens per second, continuation of a prompt"));
    QObject::connect(button, &QToolButton::clicked, box, [box] {
        box->show();
        box->raise();
        box->activateWindow();
    });
    const auto say = [button, live] {
        const std::size_t count = live->choice().extra.items().size();
        button->setText(count == 0 ? ExtraChoiceDialog::tr("More measurements…")
                                   : ExtraChoiceDialog::tr("More measurements (%1)…").arg(count));
    };
    QObject::connect(live->extra(), &ExtraEvaluation::changed, button, say);
    say();
    return button;
}

} // namespace secateur
