#include "widgets/results/metric_list.h"

#include "analysis/base/usage_error.h"
#include "analysis/session/result_key.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/metric_tree.h"
#include "widgets/results/text_combo.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int mostMeasuredTokens = 1'000'000'000;

using enum MetricTree::Column;

QString costWords(Needs needs) {
    switch (needs) {
    case Needs::weights:
        return MetricList::tr("needs the weights only");
    case Needs::forward:
        return MetricList::tr("needs a text and a forward pass over it");
    case Needs::gradient:
        return MetricList::tr("needs a text, a forward and a backward pass");
    case Needs::ablation:
        return MetricList::tr("needs an evaluation for each unit removed");
    }
    return {};
}

QString stateGlyph(MetricState state) {
    return state == MetricState::done        ? QStringLiteral("●")
           : state == MetricState::stale     ? QStringLiteral("≠")
           : state == MetricState::computing ? QStringLiteral("◐")
                                             : QStringLiteral("○");
}

QString stateWords(MetricState state) {
    return state == MetricState::done        ? MetricList::tr("measured")
           : state == MetricState::stale     ? MetricList::tr("measured under a mask other than the current one")
           : state == MetricState::computing ? MetricList::tr("being measured")
                                             : MetricList::tr("not measured yet");
}

QString explanation(const MetricRequest& request) {
    const MetricInfo& info = *request.info;
    QString html =
        QStringLiteral("<b>%1</b><p><code>%2</code></p><p>%3</p><p style='font-size:large'>%4</p><p>%5 · %6</p>")
            .arg(metricTitle(request).toHtmlEscaped(), QString::fromStdString(request.resultId()).toHtmlEscaped(),
                 rowText(info.summary).toHtmlEscaped(), toQString(info.formula).toHtmlEscaped(),
                 toQString(info.source).toHtmlEscaped(), costWords(info.needs));
    for (const OptionInfo& option : info.options)
        if (request.options.contains(std::string(option.name)))
            html +=
                QStringLiteral("<p>%1: %2</p>").arg(toQString(option.name), rowText(option.meaning).toHtmlEscaped());
    return html;
}

/// The head metric that is shown first when a model is opened.
const MetricInfo* firstOfHeads() {
    const auto table = allMetrics();
    const auto found = std::ranges::find(table, Scope::head, &MetricInfo::scope);
    return found == table.end() ? table.front() : *found;
}

QString variantName(const MetricRequest& request) {
    QStringList parts;
    for (const auto& [name, value] : request.options)
        parts << (value == "true" ? QString::fromStdString(name) : QString::fromStdString(name + "=" + value));
    return parts.join(QStringLiteral(", "));
}

} // namespace

MeasuringBox::MeasuringBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_text(new TextCombo)
    , m_tokens(new QSpinBox)
    , m_mask(new QComboBox) {
    m_tokens->setRange(0, mostMeasuredTokens);
    m_tokens->setSpecialValueText(tr("automatic"));
    m_tokens->setToolTip(tr("Maximum number of tokens; automatic: 8,192, fewer for slow models"));
    m_tokens->setGroupSeparatorShown(true);
    m_tokens->setSingleStep(1024);
    m_tokens->setAccessibleName(tr("Tokens to measure on"));
    m_tokens->findChild<QLineEdit*>()->setAccessibleName(m_tokens->accessibleName());
    m_mask->addItems({tr("dense"), tr("current mask")});
    m_mask->setAccessibleName(tr("Whether the mask is applied while measuring"));
    m_mask->setToolTip(tr("Measures the dense model, or the model under the current mask"));
    for (QWidget* field :
         {static_cast<QWidget*>(m_text), static_cast<QWidget*>(m_tokens), static_cast<QWidget*>(m_mask)})
        field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // so that the panel can be narrow
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(3);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("Text"), m_text);
    form->addRow(tr("Tokens"), m_tokens);
    form->addRow(tr("Model"), m_mask);
    connect(m_text, &TextCombo::chosen, this, &MeasuringBox::choose);
    connect(m_tokens, &QSpinBox::editingFinished, this, &MeasuringBox::choose);
    connect(m_mask, &QComboBox::activated, this, &MeasuringBox::choose);
    connect(document->measurements(), &Measurements::measuringChosen, this, &MeasuringBox::showChoice);
    showChoice();
}

void MeasuringBox::showChoice() {
    const MeasureChoice& choice = m_document->measurements()->measureChoice();
    m_text->setPath(QString::fromStdString(choice.text));
    m_tokens->setValue(static_cast<int>(std::min<std::int64_t>(choice.tokens, mostMeasuredTokens)));
    m_mask->setCurrentIndex(m_document->measurements()->measuresMasked() ? 1 : 0);
}

void MeasuringBox::choose() {
    MeasureChoice choice;
    choice.text = m_text->path().toStdString();
    choice.tokens = m_tokens->value();
    m_document->measurements()->chooseMeasuring(choice, m_mask->currentIndex() == 1);
}

MetricList::MetricList(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_filter(new QLineEdit)
    , m_tree(new MetricTree)
    , m_formTitle(new QLabel)
    , m_form(new QFormLayout)
    , m_measuring(new MeasuringBox(document))
    , m_measure(new QPushButton)
    , m_formInfo(firstOfHeads()) {
    build();
    connect(m_tree, &QTreeWidget::currentItemChanged, this, [this] {
        if (const MetricRequest* row = currentRequest()) {
            buildForm(*row);
            if (m_document->measurements()->result(currentKey()))
                emit chosen(QString::fromStdString(currentKey()));
        }
    });
    connect(m_tree, &QTreeWidget::itemActivated, this, [this] {
        if (const MetricRequest* row = currentRequest())
            m_document->measurements()->measure({*row});
    });
    m_tree->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(m_tree, &QTreeWidget::customContextMenuRequested, this, &MetricList::openMenu);
    connect(m_measure, &QPushButton::clicked, this, &MetricList::measure);
    connect(document, &Document::opened, this, &MetricList::refresh);
    connect(document, &Document::modelLocated, this, &MetricList::updateButton);
    connect(document->measurements(), &Measurements::stateChanged, this, &MetricList::updateRow);
    connect(document->measurements(), &Measurements::staleChanged, this, [this] {
        for (const std::string& id : m_document->measurements()->resultIds())
            updateRow(QString::fromStdString(id));
    });
    refresh();
}

void MetricList::build() {
    setObjectName("metricList");
    m_filter->setPlaceholderText(tr("Filter by title or id"));
    m_filter->setAccessibleName(tr("Filter of the metrics"));
    m_filter->setToolTip(tr("Lists only the metrics whose title or id contains this text"));
    m_filter->setClearButtonEnabled(true);
    connect(m_filter, &QLineEdit::textChanged, m_tree, &MetricTree::filter);
    m_measure->setAccessibleName(tr("Measure the current metric with the options above"));
    m_measure->setWhatsThis(tr("Measures the metric that is chosen in the list, with the options above. The result "
                               "appears in the views and is kept in the session."));
    m_formTitle->setWordWrap(true); // the panel may be narrow
    m_form->setVerticalSpacing(3);
    m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);

    auto* below = new QVBoxLayout;
    below->setContentsMargins(4, 8, 4, 8);
    below->addWidget(m_formTitle);
    below->addLayout(m_form);
    below->addWidget(m_measuring);
    below->addWidget(m_measure);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 0);
    column->addWidget(m_filter);
    column->addWidget(m_tree);
    column->addLayout(below);
    column->addStretch(1);
}

MetricRequest MetricList::request() const {
    ParsedRequest parsed{std::string(m_formInfo->id), {}};
    for (const QWidget* field : m_options) {
        const auto* box = qobject_cast<const QCheckBox*>(field);
        const auto* line = qobject_cast<const QLineEdit*>(field);
        const std::string name = field->objectName().toStdString();
        if (box && box->isChecked())
            parsed.options[name] = "true";
        else if (line && !line->text().isEmpty())
            parsed.options[name] = line->text().toStdString();
    }
    validateOptions(parsed, m_formInfo->options);
    return {m_formInfo, parsed.options};
}

void MetricList::measure() {
    try {
        m_document->measurements()->measure({request()});
    } catch (const UsageError& error) { // the options are invalid
        emit failed(QString::fromStdString(error.what()));
    }
}

void MetricList::editOptions() {
    (m_options.empty() ? m_measure : m_options.front())->setFocus(Qt::ShortcutFocusReason);
}

void MetricList::follow(const QString& resultId) {
    const auto row = m_rows.find(resultId);
    if (row == m_rows.end() || row->second.first == m_tree->currentItem())
        return;
    const QSignalBlocker quiet(m_tree);
    m_tree->setCurrentItem(row->second.first);
    buildForm(row->second.second);
}

void MetricList::refresh() {
    const QString current = toQString(m_formInfo->id);
    {
        const QSignalBlocker quiet(m_tree);
        m_tree->clearRows();
        m_rows.clear();
        for (const MetricInfo* info : allMetrics())
            addRow({info, {}}, nullptr);
        if (m_document->isOpen())
            for (const std::string& id : m_document->measurements()->resultIds())
                updateRow(QString::fromStdString(id));
        const auto known = m_rows.find(current);
        const auto row = known == m_rows.end() ? m_rows.find(toQString(firstOfHeads()->id)) : known;
        m_tree->setCurrentItem(row->second.first);
        buildForm(row->second.second);
    }
    m_tree->setEnabled(m_document->isOpen());
}

/// @param parent the metric's own row for a variant; null for the metric's own row
void MetricList::addRow(const MetricRequest& request, QTreeWidgetItem* parent) {
    const QString id = QString::fromStdString(request.resultId());
    QTreeWidgetItem* item = m_tree->addRow(parent ? parent : m_tree->group(request.info->needs),
                                           parent ? variantName(request) : rowText(request.info->title), id);
    item->setToolTip(nameColumn, explanation(request));
    m_rows[id] = {item, request};
    updateRow(id);
}

void MetricList::updateRow(const QString& resultId) {
    if (!m_rows.contains(resultId)) {
        const auto measured = m_document->measurements()->requests();
        const auto request = std::ranges::find(measured, resultId.toStdString(), &MetricRequest::resultId);
        if (request == measured.end())
            return;
        const auto metric = m_rows.find(toQString(request->info->id)); // an unknown metric has a row of its own
        addRow(*request, metric == m_rows.end() ? nullptr : metric->second.first);
        return;
    }
    QTreeWidgetItem* item = m_rows.at(resultId).first;
    updateMeasurements(resultId.toStdString());
    const MetricState state = m_document->measurements()->state(resultId.toStdString());
    const MetricRequest& request = m_rows.at(resultId).second;
    const bool isListed = request.options.empty() && findMetric(request.info->id);
    if (state == MetricState::notComputed && !isListed && item->childCount() == 0) { // cancelled or forgotten
        m_rows.erase(resultId);
        delete item;
        return;
    }
    showState(item, resultId.toStdString());
    updateButton();
}

/// Adds a row for each measurement except the latest. The metric's own row shows the latest.
void MetricList::updateMeasurements(const std::string& resultId) {
    const auto [parent, request] = m_rows.at(QString::fromStdString(resultId));
    std::vector<std::string> keys =
        m_document->isOpen() ? m_document->measurements()->otherKeys(resultId) : std::vector<std::string>();
    const QSignalBlocker quiet(m_tree);
    std::erase_if(m_rows, [&](const auto& row) {
        const std::string key = row.first.toStdString();
        const bool isGone =
            key != resultId && parseResultKey(key).resultId == resultId && std::ranges::find(keys, key) == keys.end();
        if (isGone)
            delete row.second.first;
        return isGone;
    });
    for (const std::string& key : keys) {
        const QString name = QString::fromStdString(key);
        if (!m_rows.contains(name))
            m_rows[name] = {m_tree->addRow(parent, {}, name), request};
        QTreeWidgetItem* item = m_rows.at(name).first;
        item->setText(nameColumn, QString::fromStdString(m_document->measurements()->label(key)));
        item->setToolTip(nameColumn, item->text(nameColumn));
        showState(item, key);
    }
    parent->setExpanded(true);
}

void MetricList::showState(QTreeWidgetItem* item, const std::string& key) {
    const MetricState state = m_document->isOpen() ? m_document->measurements()->state(key) : MetricState::notComputed;
    QString words = stateWords(state);
    if (const MetricResult* result = m_document->measurements()->result(key); result && state != MetricState::computing)
        words += ": " + QString::fromStdString(measuredOn(m_document->session(), *result));
    item->setText(stateColumn, stateGlyph(state));
    item->setToolTip(stateColumn, words);
    item->setData(stateColumn, Qt::AccessibleTextRole, words);
}

void MetricList::buildForm(const MetricRequest& request) {
    qDeleteAll(std::exchange(m_options, {}));
    while (m_form->rowCount() > 0)
        m_form->removeRow(0);
    m_formInfo = request.info;
    m_formTitle->setText(tr("Options of %1").arg(rowText(request.info->title)));
    m_formTitle->setToolTip(toQString(request.info->id));
    m_formTitle->setVisible(!request.info->options.empty());
    m_measuring->setVisible(request.info->needs != Needs::weights);
    for (const OptionInfo& option : request.info->options)
        addOption(option, request);
    updateButton();
}

void MetricList::addOption(const OptionInfo& option, const MetricRequest& request) {
    const QString name = toQString(option.name);
    QWidget* field = nullptr;
    if (option.type == "bool") {
        auto* box = new QCheckBox(name);
        box->setChecked(request.flag(option.name));
        connect(box, &QCheckBox::toggled, this, &MetricList::updateButton);
        m_form->addRow(box);
        field = box;
    } else {
        auto* line = new QLineEdit;
        const auto given = request.options.find(std::string(option.name));
        line->setText(given == request.options.end() ? QString() : QString::fromStdString(given->second));
        line->setPlaceholderText(toQString(option.defaultValue));
        line->setAccessibleName(name);
        connect(line, &QLineEdit::textEdited, this, &MetricList::updateButton);
        connect(line, &QLineEdit::returnPressed, this, &MetricList::measure);
        m_form->addRow(name, line);
        field = line;
    }
    field->setObjectName(name);
    field->setToolTip(rowText(option.meaning));
    m_options.push_back(field);
}

void MetricList::updateButton() {
    MetricState state = MetricState::notComputed;
    const bool isKnown = findMetric(m_formInfo->id);
    try {
        state = m_document->measurements()->state(request().resultId());
    } catch (const UsageError&) { // the input is incomplete; measure() reports it
    }
    const bool isThere = state == MetricState::done || state == MetricState::stale;
    m_measure->setText(isThere ? tr("Measure again") : tr("Measure"));
    m_measure->setEnabled(m_document->model() && isKnown && state != MetricState::computing);
    m_measure->setToolTip(!isKnown ? tr("Made by another version of Secateur; this one can only show it")
                          : m_document->isOpen() && !m_document->model()
                              ? tr("Needs the checkpoint, which was not found")
                              : QString());
}

void MetricList::openMenu(const QPoint& position) {
    const MetricRequest* row = currentRequest();
    if (!row || !m_document->isOpen())
        return;
    const std::string key = currentKey();
    const ResultKey parsed = parseResultKey(key);
    QMenu menu(this);
    QAction* measure = menu.addAction(m_measure->text(), this,
                                      [this, request = *row] { m_document->measurements()->measure({request}); });
    measure->setEnabled(m_document->model() && Measurements::canMeasure(*row) &&
                        m_document->measurements()->state(row->resultId()) != MetricState::computing);
    if (const MetricResult* result = m_document->measurements()->result(key)) {
        const std::string other = parsed.key.empty() ? measurementKey(result->measurement) : parsed.key;
        QAction* compare = menu.addAction(tr("&Compare with this measurement"), this,
                                          [this, other] { m_document->comparison()->compareWith(other); });
        compare->setEnabled(!m_document->measurements()->otherKeys(parsed.resultId).empty());
        QAction* forget = menu.addAction(tr("&Forget this measurement"), this,
                                         [this, key] { m_document->measurements()->forget(key); });
        forget->setEnabled(parsed.key != referenceKey &&
                           m_document->measurements()->state(key) != MetricState::computing);
    }
    menu.addAction(tr("Copy as command &line"), this, [this, key] { emit commandWanted({key}); });
    menu.exec(m_tree->viewport()->mapToGlobal(position));
}

std::string MetricList::currentKey() const {
    const QTreeWidgetItem* item = m_tree->currentItem();
    return item ? item->data(nameColumn, MetricTree::idRole).toString().toStdString() : std::string();
}

const MetricRequest* MetricList::currentRequest() const {
    const QTreeWidgetItem* item = m_tree->currentItem();
    const auto row = item ? m_rows.find(item->data(nameColumn, MetricTree::idRole).toString()) : m_rows.end();
    return row == m_rows.end() ? nullptr : &row->second.second;
}

} // namespace secateur
