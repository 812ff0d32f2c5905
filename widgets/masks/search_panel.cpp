#include "widgets/masks/search_panel.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/strategies/search.h"
#include "widgets/document/calibration.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/masks/mask_search.h"
#include "widgets/results/still_label.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

using Outcome = MaskSearch::Outcome;

constexpr std::string_view strategyId = "search";
constexpr std::string_view unitsOption = "units";
constexpr std::string_view layoutOption = "for";
constexpr int searchBarSteps = 1000;

enum SearchStart { fromModel, fromMask };

QString searchText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// The kinds of steps: the default of the option `units`, which is all of them.
QStringList allUnits() {
    return QString::fromStdString(parseStrategyRequest(strategyId).option(unitsOption)).split('/');
}

/// Titles of the kinds of steps. A kind without a title is shown by its name.
QString unitTitle(const QString& unit) {
    const std::array<std::pair<const char*, QString>, 6> titles{{{"heads", SearchPanel::tr("heads")},
                                                                 {"neurons", SearchPanel::tr("neurons")},
                                                                 {"attention", SearchPanel::tr("attention")},
                                                                 {"mlps", SearchPanel::tr("MLPs")},
                                                                 {"blocks", SearchPanel::tr("blocks")},
                                                                 {"bypass", SearchPanel::tr("Q/K bypass")}}};
    for (const auto& [name, title] : titles)
        if (unit == name)
            return title;
    return unit;
}

QString figureText(double value, int digits = 3) {
    return QString::fromStdString(shownNumber(value, digits));
}

} // namespace

SearchPanel::SearchPanel(Document* document, MaskSearch* search, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_search(search)
    , m_amount(new QDoubleSpinBox)
    , m_counted(new QComboBox)
    , m_layout(new QComboBox)
    , m_from(new QComboBox)
    , m_state(new StillLabel(3))
    , m_progress(new QProgressBar) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    buildFields(*column);
    m_state->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_state->setForegroundRole(QPalette::PlaceholderText);
    m_state->setAccessibleName(tr("Cost and state of the search"));
    m_state->setToolTip(tr("The calibration text and its number of tokens are chosen in the panel Metrics"));
    column->addWidget(m_state);
    column->addWidget(figures());
    m_progress->setMaximum(searchBarSteps);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Progress of the search"));
    keepRoomWhenHidden(m_progress);
    column->addWidget(m_progress);
    column->addWidget(m_buttons = buttons());
    column->addStretch();
    connect(document, &Document::opened, this, &SearchPanel::changed);
    connect(document, &Document::modelLocated, this, &SearchPanel::changed);
    connect(document->calibration(), &Calibration::changed, this, &SearchPanel::changed);
    connect(document->masks(), &MaskEditor::maskChanged, this, &SearchPanel::refresh);
    connect(document->masks(), &MaskEditor::protectionChanged, this, &SearchPanel::refresh);
    connect(search, &MaskSearch::changed, this, &SearchPanel::refresh);
    refresh();
}

void SearchPanel::buildFields(QVBoxLayout& column) {
    auto* form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(4);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::DontWrapRows);
    addBudget(*form);
    addUnits(*form);
    addLayouts(*form);
    addStart(*form);
    for (QComboBox* combo : {m_counted, m_layout, m_from}) {
        combo->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // so that the panel can be narrow
        connect(combo, &QComboBox::activated, this, &SearchPanel::refresh);
    }
    column.addLayout(form);
}

void SearchPanel::addBudget(QFormLayout& form) {
    constexpr double usual = 20;
    m_amount->setRange(0.1, 100);
    m_amount->setDecimals(1);
    m_amount->setValue(usual);
    m_amount->setSuffix(tr(" %"));
    m_amount->setAccessibleName(tr("Percentage to save"));
    m_amount->setToolTip(tr("The search ends when this much is saved"));
    m_amount->findChild<QLineEdit*>()->setAccessibleName(m_amount->accessibleName());
    m_counted->addItem(tr("layers' parameters"), static_cast<int>(BudgetOf::layerParameters));
    m_counted->addItem(tr("parameters"), static_cast<int>(BudgetOf::parameters));
    m_counted->addItem(tr("KV cache"), static_cast<int>(BudgetOf::kvBytes));
    m_counted->addItem(tr("operations"), static_cast<int>(BudgetOf::operations));
    m_counted->addItem(tr("file size"), static_cast<int>(BudgetOf::fileBytes));
    m_counted->addItem(tr("time"), static_cast<int>(BudgetOf::seconds));
    m_counted->setAccessibleName(tr("What is saved"));
    m_counted->setToolTip(tr("Parameters of attention and MLPs; all parameters; bytes of the KV cache per token; "
                             "operations per token, in sequences as long as those of the calibration text; bytes of "
                             "the files of an export; seconds of a forward pass"));
    form.addRow(tr("Save"), m_amount);
    form.addRow(tr("of the"), m_counted); // a row of its own, because its texts are long
    connect(m_amount, &QDoubleSpinBox::valueChanged, this, &SearchPanel::refresh);
}

void SearchPanel::addUnits(QFormLayout& form) {
    auto* grid = new QGridLayout;
    grid->setVerticalSpacing(2);
    for (const QString& unit : allUnits()) {
        auto* box = new QCheckBox(unitTitle(unit));
        box->setObjectName(unit);
        box->setToolTip(tr("The search may cut these: %1").arg(box->text()));
        box->setChecked(true);
        const int place = static_cast<int>(m_units.size());
        grid->addWidget(box, place / 2, place % 2);
        m_units.push_back(box);
        connect(box, &QCheckBox::clicked, this, &SearchPanel::refresh);
    }
    form.addRow(new QLabel(tr("What may be cut")));
    form.addRow(grid);
}

void SearchPanel::addLayouts(QFormLayout& form) {
    for (const std::string_view layout : searchLayouts) // the first is none
        m_layout->addItem(m_layout->count() == 0 ? tr("any layout") : searchText(layout), searchText(layout));
    m_layout->setAccessibleName(tr("Layout of an export that must hold the mask"));
    m_layout->setToolTip(tr("Makes only masks that an export with this layout can hold"));
    form.addRow(tr("Export"), m_layout);
}

void SearchPanel::addStart(QFormLayout& form) {
    m_from->addItem(tr("Start from the whole model"), fromModel);
    m_from->addItem(tr("Continue from this mask"), fromMask);
    m_from->setAccessibleName(tr("Where the search starts"));
    m_from->setToolTip(tr("The budget counts what is saved beyond the start"));
    form.addRow(m_from);
}

QWidget* SearchPanel::figures() {
    auto* box = new QWidget;
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    m_saved = addFigure(*grid, tr("saved"), tr("Saved by the search"));
    m_loss = addFigure(*grid, tr("cost"), tr("Cost on the held-out text"));
    m_rise = addFigure(*grid, tr("rise"), tr("Rise of the cost"));
    m_steps = addFigure(*grid, tr("steps"), tr("Steps of the search"));
    m_left = addFigure(*grid, tr("time left"), tr("Time left for the search"));
    m_loss->setToolTip(
        tr("Before the first step and now, in nats per token, on the held-out part of the calibration text. The cost is "
           "the divergence from the predictions of the dense model, or the loss where there is none"));
    return box;
}

StillLabel* SearchPanel::addFigure(QGridLayout& grid, const QString& name, const QString& accessibleName) {
    auto* value = new StillLabel;
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    value->setAccessibleName(accessibleName);
    const int row = grid.rowCount();
    grid.addWidget(new QLabel(name), row, 0);
    grid.addWidget(value, row, 1);
    return value;
}

/// One row: the button that starts, or those that end.
QStackedWidget* SearchPanel::buttons() {
    auto* pages = new QStackedWidget;
    pages->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    m_start = new QPushButton(tr("F&ind a mask"));
    m_start->setToolTip(tr("Starts the search in the background; the views show the mask so far"));
    m_keep = new QPushButton(tr("Stop an&d keep"));
    m_keep->setToolTip(tr("Ends the search after the step that it is making, and keeps the mask so far"));
    m_cancel = new QPushButton(tr("Ca&ncel"));
    m_cancel->setToolTip(tr("Ends the search and leaves the mask as it is"));
    const auto add = [pages](std::initializer_list<QPushButton*> buttons) {
        auto* page = new QWidget;
        auto* row = new QHBoxLayout(page);
        row->setContentsMargins(0, 0, 0, 0);
        for (QPushButton* button : buttons)
            row->addWidget(button);
        pages->addWidget(page);
    };
    add({m_start});
    add({m_keep, m_cancel});
    connect(m_start, &QPushButton::clicked, this, &SearchPanel::start);
    connect(m_keep, &QPushButton::clicked, m_search, &MaskSearch::stopAndKeep);
    connect(m_cancel, &QPushButton::clicked, m_search, &MaskSearch::cancel);
    return pages;
}

void SearchPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    changed();
}

/// Follows the model and its text, which is read only while the panel is visible.
void SearchPanel::changed() {
    if (isVisible() && m_document->isOpen())
        m_document->calibration()->prepare();
    refresh();
}

std::string SearchPanel::strategyText() const {
    QStringList units;
    for (const QCheckBox* box : m_units)
        if (box->isChecked())
            units << box->objectName();
    return QString("%1:%2=%3:%4=%5")
        .arg(searchText(strategyId), searchText(unitsOption), units.join('/'), searchText(layoutOption),
             m_layout->currentData().toString())
        .toStdString();
}

PruneRequest SearchPanel::request() const {
    const MaskEditor& masks = *m_document->masks();
    PruneRequest wanted;
    wanted.strategy = parseStrategyRequest(strategyText());
    wanted.budget = {m_amount->value(), true, static_cast<BudgetOf>(m_counted->currentData().toInt())};
    wanted.protect = masks.isProtected().text(m_document->spec());
    if (m_from->currentIndex() == fromMask)
        wanted.base = masks.mask();
    // As the copied command: it states the length of the text's sequences.
    if (const Calibration::Known* known = m_document->calibration()->known())
        wanted.positions = static_cast<int>(known->text->data.sequenceLength);
    return wanted;
}

QString SearchPanel::action() const {
    return tr("Find a mask that saves %1 % of the %2").arg(m_amount->value()).arg(m_counted->currentText());
}

QString SearchPanel::costText() const {
    const Calibration& calibration = *m_document->calibration();
    if (!m_document->isOpen())
        return tr("No model is open.");
    if (!m_document->model())
        return tr("The checkpoint was not found.");
    if (m_document->spec().family != Family::decoder)
        return tr("Encoders need labelled texts: use the command line, prune --strategy search --task FILE.");
    if (std::ranges::none_of(m_units, &QCheckBox::isChecked))
        return tr("Choose what may be cut.");
    if (!calibration.known())
        return calibration.problem().isEmpty() ? tr("Reading the calibration text…") : calibration.problem();
    try {
        const double seconds = calibration.seconds(calibrationPasses(m_document->spec(), request()));
        return tr("On %1, %2").arg(calibration.description(), durationText(seconds));
    } catch (const Error& error) {
        return QString::fromStdString(error.what());
    }
}

bool SearchPanel::canStart() const {
    return m_document->model() && m_document->spec().family == Family::decoder && m_document->calibration()->known() &&
           std::ranges::any_of(m_units, &QCheckBox::isChecked);
}

QString SearchPanel::outcomeText() const {
    switch (m_search->outcome()) {
    case Outcome::running:
        return m_search->step() ? tr("Preview: the mask so far.") : tr("Measures the first steps…");
    case Outcome::stopping:
        return tr("Stops after this step…");
    case Outcome::done:
        return tr("Found; it can be undone.\n%1").arg(costText());
    case Outcome::none:
    case Outcome::cancelled:
    case Outcome::failed:
        return costText();
    }
    return {};
}

void SearchPanel::refresh() {
    const bool isRunning = m_search->isRunning();
    for (QWidget* field : std::array<QWidget*, 4>{m_amount, m_counted, m_layout, m_from})
        field->setEnabled(!isRunning);
    for (QCheckBox* box : m_units)
        box->setEnabled(!isRunning);
    m_buttons->setCurrentIndex(isRunning ? 1 : 0);
    m_start->setEnabled(canStart());
    m_keep->setEnabled(m_search->step() && m_search->outcome() == Outcome::running);
    m_progress->setVisible(isRunning);
    m_progress->setValue(static_cast<int>(m_search->fraction() * searchBarSteps));
    m_state->setText(outcomeText());
    showFigures();
}

void SearchPanel::showFigures() {
    const auto& step = m_search->step();
    const QString none = QStringLiteral("–");
    m_saved->setText(step ? tr("%1 of %2 %").arg(figureText(step->saved), figureText(step->target)) : none);
    m_loss->setText(step ? tr("%1 → %2").arg(figureText(step->before, 4), figureText(step->loss, 4)) : none);
    m_rise->setText(step ? QString::fromStdString(shownChange(step->loss - step->before)) : none);
    m_steps->setText(step ? QString::number(step->steps) : none);
    m_left->setText(m_search->isRunning() && m_search->secondsLeft() >= 0 ? durationText(m_search->secondsLeft())
                                                                          : none);
}

void SearchPanel::start() {
    try {
        m_search->start(request(), action(), m_document->calibration()->known()->choice.tokens);
    } catch (const Error& error) {
        m_state->setText(QString::fromStdString(error.what()));
    }
}

} // namespace secateur
