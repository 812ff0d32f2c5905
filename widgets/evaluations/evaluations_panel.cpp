#include "widgets/evaluations/evaluations_panel.h"

#include "analysis/base/error.h"
#include "analysis/figures/evaluation_figure.h"
#include "analysis/session/command_line.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/evaluation_table.h"
#include "widgets/evaluations/extra_choice_dialog.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/text_combo.h"

#include <QCheckBox>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QSplitter>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

constexpr int mostTokens = 1'000'000'000;

/// The chosen number of tokens as the field shows it; 0 = automatic.
int fieldValue(const EvaluationChoice& choice) {
    return static_cast<int>(std::min<std::int64_t>(choice.tokens.value_or(0), mostTokens));
}

QLabel* captionFor(const QString& text, QWidget* field) {
    auto* caption = new QLabel(text);
    caption->setBuddy(field);
    return caption;
}

} // namespace

EvaluationsPanel::EvaluationsPanel(Document* document, LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_live(live)
    , m_model(new EvaluationTable(document, this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_text(new TextCombo)
    , m_tokens(new QSpinBox)
    , m_window(new QSpinBox)
    , m_automatic(new QCheckBox(tr("after each edit")))
    , m_table(new QTableView)
    , m_hint(new QLabel(tr("Press Evaluate now. Each evaluated mask becomes a row; the dense model is the first.")))
    , m_scatter(new PointWidget)
    , m_actions(new FigureActions(m_scatter, [this] { return currentFigure(); }))
    , m_drawing(new QTimer(this)) {
    auto* row = new QHBoxLayout;
    row->setContentsMargins(8, 4, 8, 4);
    row->setSpacing(8);
    buildChoice(*row);
    buildTable();
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setWordWrap(true);
    m_hint->setForegroundRole(QPalette::PlaceholderText);
    auto* split = new QSplitter;
    split->addWidget(m_table);
    split->addWidget(m_hint);
    split->addWidget(m_scatter);
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 3);
    split->setStretchFactor(2, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(split, 1);
    connect(m_actions, &FigureActions::failed, this, &EvaluationsPanel::failed);
    m_drawing->setSingleShot(true);
    m_drawing->setInterval(0);
    connect(m_drawing, &QTimer::timeout, this, &EvaluationsPanel::drawScatter);
    // The table was connected before, so it is up to date here.
    connect(document, &Document::opened, this, [this] {
        m_removed.clear();
        refresh();
    });
    connect(document, &Document::evaluationsChanged, this, &EvaluationsPanel::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, m_drawing, qOverload<>(&QTimer::start));
    connect(live, &LiveEvaluation::choiceChanged, this, &EvaluationsPanel::showChoice);
    m_scatter->setAccessibleName(EvaluationsPanel::tr("Evaluations as points"));
    m_scatter->setWhatsThis(EvaluationsPanel::tr(
        "Each point is an evaluated mask. A click or the arrows show its row, a double click or Enter makes "
        "its mask the current one."));
    connect(m_scatter, &PointWidget::chosen, this, &EvaluationsPanel::showRow);
    connect(m_scatter, &PointWidget::activated, this, [this](std::size_t place) {
        if (const int found = m_model->rowOf(place); found >= 0)
            restore(found);
    });
    showChoice();
    refresh();
}

void EvaluationsPanel::buildChoice(QHBoxLayout& row) {
    m_tokens->setRange(0, mostTokens);
    m_tokens->setSpecialValueText(tr("automatic"));
    m_tokens->setToolTip(tr("Maximum number of tokens of the text; automatic: 8,192, fewer for slow models"));
    m_tokens->setGroupSeparatorShown(true);
    m_tokens->setSingleStep(1024);
    m_tokens->setAccessibleName(tr("Tokens of the text"));
    m_window->setRange(2, 1 << 20);
    m_window->setAccessibleName(tr("Tokens of a window"));
    m_window->setToolTip(tr("Window length in tokens; more windows give a narrower confidence interval"));
    for (QSpinBox* field : {m_tokens, m_window})
        field->findChild<QLineEdit*>()->setAccessibleName(field->accessibleName());
    m_automatic->setToolTip(tr("Evaluate the mask a moment after each edit"));
    auto* now = new QToolButton;
    now->setText(tr("Evaluate now"));
    now->setToolTip(tr("Evaluate the current mask at once (Ctrl+E)"));
    row.addWidget(captionFor(tr("Text"), m_text));
    row.addWidget(m_text);
    row.addSpacing(8);
    row.addWidget(captionFor(tr("tokens"), m_tokens));
    row.addWidget(m_tokens);
    row.addSpacing(8);
    row.addWidget(captionFor(tr("window"), m_window));
    row.addWidget(m_window);
    row.addSpacing(8);
    row.addWidget(m_automatic);
    row.addWidget(now);
    m_extra = extraButton(m_live, this);
    row.addWidget(m_extra);
    row.addStretch();
    connect(m_text, &TextCombo::chosen, this, &EvaluationsPanel::choose);
    connect(m_tokens, &QSpinBox::editingFinished, this, &EvaluationsPanel::choose);
    connect(m_window, &QSpinBox::editingFinished, this, &EvaluationsPanel::choose);
    connect(m_automatic, &QCheckBox::clicked, this, &EvaluationsPanel::choose);
    connect(now, &QToolButton::clicked, m_live, &LiveEvaluation::evaluate);
}

void EvaluationsPanel::buildTable() {
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(EvaluationTable::numberRole);
    m_table->setObjectName("evaluationTable");
    m_scatter->setObjectName("evaluationPlot");
    m_table->setModel(m_sorted);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(0, Qt::AscendingOrder);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAlternatingRowColors(true);
    m_table->setShowGrid(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->setEditTriggers(QAbstractItemView::EditKeyPressed);
    m_table->setAccessibleName(tr("Evaluations"));
    m_table->setWhatsThis(
        tr("Each row is an evaluated mask; row 0 is the dense model. A double click or Enter makes its mask "
           "the current one. Delete removes the selected rows. A click on a title sorts the table."));
    m_table->installEventFilter(this);
    connect(m_table, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { restore(m_sorted->mapToSource(index).row()); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &EvaluationsPanel::followRow);
}

/// In the table Enter restores the mask of a row. Delete removes rows, although elsewhere it cuts heads.
bool EvaluationsPanel::eventFilter(QObject* watched, QEvent* event) {
    const bool isKey = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    if (watched != m_table || !isKey)
        return QWidget::eventFilter(watched, event);
    const auto& key = *static_cast<QKeyEvent*>(event);
    const QModelIndex row = m_table->currentIndex();
    const bool restores = (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) && row.isValid();
    if (!restores && !key.matches(QKeySequence::Delete))
        return QWidget::eventFilter(watched, event);
    event->accept();
    if (event->type() == QEvent::KeyPress && restores)
        restore(m_sorted->mapToSource(row).row());
    else if (event->type() == QEvent::KeyPress)
        removeRows();
    return true;
}

void EvaluationsPanel::showChoice() {
    const EvaluationChoice& choice = m_live->choice();
    m_text->setPath(QString::fromStdString(choice.text.path));
    m_tokens->setValue(fieldValue(choice));
    m_window->setValue(choice.text.rules.window);
    m_automatic->setChecked(choice.isAutomatic);
}

void EvaluationsPanel::choose() {
    EvaluationChoice choice = m_live->choice();
    choice.text.path = m_text->path().toStdString();
    if (m_tokens->value() != fieldValue(choice)) // which a number of a session may exceed
        choice.tokens = m_tokens->value() > 0 ? std::optional<std::int64_t>(m_tokens->value()) : std::nullopt;
    choice.text.rules.window = m_window->value();
    choice.isAutomatic = m_automatic->isChecked();
    if (!(choice == m_live->choice()))
        m_live->choose(choice);
}

void EvaluationsPanel::refresh() {
    const bool hasRows = m_model->rowCount() > 0;
    m_table->setVisible(hasRows);
    m_hint->setVisible(!hasRows);
    if (!hasRows)
        m_scatter->hide();
    m_actions->setEnabled(hasRows);
    if (!hasRows)
        return followRow();
    fitColumns();
    m_drawing->start();
}

/// As wide as their contents. Names longer than usual are elided, and a speed that nobody has measured is hidden, so
/// that the other columns stay in sight.
void EvaluationsPanel::fitColumns() {
    constexpr int mostCharacters = 28;
    m_table->resizeColumnsToContents();
    const int most = mostCharacters * m_table->fontMetrics().averageCharWidth();
    m_table->setColumnWidth(EvaluationTable::nameColumn,
                            std::min(m_table->columnWidth(EvaluationTable::nameColumn), most));
    m_table->setColumnHidden(EvaluationTable::speedColumn, !m_model->hasSpeed());
}

void EvaluationsPanel::drawScatter() {
    if (m_model->rowCount() == 0)
        return;
    try {
        m_scatter->setFigure(currentFigure());
        m_scatter->show();
    } catch (const Error&) {
        m_scatter->hide(); // the session has evaluations, but none with a loss
    }
    followRow(); // the row's index among the evaluations may have changed
}

void EvaluationsPanel::followRow() {
    const QModelIndex index = m_table->currentIndex();
    m_scatter->highlight(index.isValid() ? std::optional(m_model->place(m_sorted->mapToSource(index).row()))
                                         : std::nullopt);
    emit currentChanged();
}

void EvaluationsPanel::showRow(std::size_t place) {
    const int row = m_model->rowOf(place);
    if (row < 0)
        return;
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 1));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
}

const Evaluation* EvaluationsPanel::current() const {
    const QModelIndex index = m_table->currentIndex();
    return index.isValid() ? &m_model->evaluation(m_sorted->mapToSource(index).row()) : nullptr;
}

Figure EvaluationsPanel::currentFigure() const {
    const PruningMask& mask = m_document->masks()->mask();
    const std::string current = m_document->services().maskDigest(mask);
    Figure figure = evaluationScatter(m_document->session(), *m_document->prices(), current);
    if (m_document->sessionPath().isEmpty() || m_document->isModified())
        return figure; // no session file holds these values, so no command can draw them
    const SessionMask* apart = m_document->session().mask(current);
    const bool canName = apart && apart->name.find(':') == std::string::npos;
    figure.command = shellText(plotCommand(QFileInfo(m_document->sessionPath()).absoluteFilePath().toStdString(),
                                           canName ? "evaluations:mask=" + apart->name : "evaluations"));
    return figure;
}

void EvaluationsPanel::restore(int row) {
    m_document->restoreMask(m_model->evaluation(row).mask);
}

std::vector<int> EvaluationsPanel::rows(bool onlySelected) const {
    std::vector<int> rows;
    for (int row = 0; row < m_sorted->rowCount(); ++row)
        if (!onlySelected || m_table->selectionModel()->isRowSelected(row))
            rows.push_back(m_sorted->mapToSource(m_sorted->index(row, 0)).row());
    return rows.empty() && onlySelected ? this->rows(false) : rows;
}

void EvaluationsPanel::chooseExtra() {
    m_extra->click();
}

void EvaluationsPanel::copyRows() {
    QGuiApplication::clipboard()->setText(m_model->toCsv(rows(true)));
}

void EvaluationsPanel::removeRows() {
    std::vector<std::size_t> places;
    for (int row = 0; row < m_sorted->rowCount(); ++row)
        if (m_table->selectionModel()->isRowSelected(row))
            places.push_back(m_model->place(m_sorted->mapToSource(m_sorted->index(row, 0)).row()));
    if (!places.empty())
        m_removed = m_document->removeEvaluations(std::move(places));
}

void EvaluationsPanel::returnRows() {
    m_document->returnEvaluations(std::exchange(m_removed, {}));
}

/// Actions on the current row and on the selected rows.
void EvaluationsPanel::fillRowMenu(QMenu& menu) {
    const QModelIndex index = m_table->currentIndex();
    const auto add = [&](const QString& text, bool isEnabled, auto act) {
        menu.addAction(text, this, act)->setEnabled(isEnabled);
    };
    const bool isRow = index.isValid();
    const bool isOfMask = isRow && current()->mask.digest != "dense";
    add(tr("&Restore this mask"), isRow, [this, index] { restore(m_sorted->mapToSource(index).row()); });
    add(tr("Co&mpare with the current mask"), isOfMask,
        [this] { m_document->compareWithMask(EvaluatedMask(current()->mask)); });
    const bool isPlain = isOfMask && !current()->adapter.isPresent();
    add(tr("&Export…"), isPlain && m_document->model(), [this, index] {
        restore(m_sorted->mapToSource(index).row()); // exports are of the current mask
        emit exportWanted();
    });
    add(tr("Re&name"), isPlain,
        [this, index] { m_table->edit(m_sorted->index(index.row(), EvaluationTable::nameColumn)); });
    menu.addSeparator();
    add(tr("&Delete rows"), m_table->selectionModel()->hasSelection(), [this] { removeRows(); });
    add(tr("&Bring deleted rows back"), !m_removed.empty(), [this] { returnRows(); });
    menu.addSeparator();
    add(tr("Copy as command &line"), isRow, [this] { emit commandWanted(Evaluation(*current())); });
    add(tr("&Copy rows as CSV"), true, [this] { copyRows(); });
}

void EvaluationsPanel::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu;
    if (m_scatter->geometry().contains(m_scatter->parentWidget()->mapFrom(this, event->pos()))) {
        menu.addActions(m_actions->actions());
    } else {
        fillRowMenu(menu);
    }
    menu.exec(event->globalPos());
}

} // namespace secateur
