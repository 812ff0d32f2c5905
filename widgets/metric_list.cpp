#include "widgets/metric_list.h"

#include "widgets/commands.h"
#include "widgets/document.h"
#include "widgets/metric_names.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

enum Column { nameColumn, needsColumn, stateColumn };
constexpr int idRole = Qt::UserRole;

/// What a metric costs, as one letter; the words are in the tooltip.
QString costLetter(Needs needs) {
    return toQString(name(needs)).left(1).toUpper();
}

QString costWords(Needs needs) {
    switch (needs) {
    case Needs::weights:
        return MetricList::tr("needs the weights only");
    case Needs::forward:
        return MetricList::tr("needs a text and a forward pass over it");
    case Needs::gradient:
        return MetricList::tr("needs a text, a forward and a backward pass");
    case Needs::ablation:
        return MetricList::tr("needs an evaluation for each part removed");
    }
    return {};
}

QString stateGlyph(MetricState state) {
    return state == MetricState::done        ? QStringLiteral("●")
           : state == MetricState::computing ? QStringLiteral("◐")
                                             : QStringLiteral("○");
}

QString stateWords(MetricState state) {
    return state == MetricState::done        ? MetricList::tr("measured")
           : state == MetricState::computing ? MetricList::tr("being measured")
                                             : MetricList::tr("not measured yet");
}

QString explanation(const MetricRequest& request) {
    const MetricInfo& info = *request.info;
    QString html = QStringLiteral("<b>%1</b><p>%2</p><p style='font-size:large'>%3</p><p>%4 · %5</p>")
                       .arg(QString::fromStdString(request.resultId()).toHtmlEscaped(),
                            toQString(info.summary).toHtmlEscaped(), toQString(info.formula).toHtmlEscaped(),
                            toQString(info.source).toHtmlEscaped(), costWords(info.needs));
    for (const OptionInfo& option : info.options)
        if (request.options.contains(std::string(option.name)))
            html +=
                QStringLiteral("<p>%1: %2</p>").arg(toQString(option.name), toQString(option.meaning).toHtmlEscaped());
    return html;
}

/// What the picture shows at first, too.
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

MetricList::MetricList(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_tree(new QTreeWidget)
    , m_formTitle(new QLabel)
    , m_form(new QVBoxLayout)
    , m_measure(new QPushButton)
    , m_formInfo(firstOfHeads()) {
    m_tree->setAccessibleName(tr("Metrics"));
    m_tree->setColumnCount(3);
    m_tree->setHeaderHidden(true);
    m_tree->setFrameShape(QFrame::NoFrame);
    m_tree->setRootIsDecorated(false);
    m_tree->setItemsExpandable(false);
    m_tree->setUniformRowHeights(true);
    m_tree->setIndentation(m_tree->fontMetrics().averageCharWidth() * 2);
    m_tree->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    m_tree->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    m_tree->viewport()->setAutoFillBackground(false); // one surface with the panel
    QHeaderView* header = m_tree->header();
    header->setMinimumSectionSize(0);
    header->setStretchLastSection(false);
    header->setSectionResizeMode(nameColumn, QHeaderView::Stretch);
    header->setSectionResizeMode(needsColumn, QHeaderView::ResizeToContents);
    header->setSectionResizeMode(stateColumn, QHeaderView::ResizeToContents);
    m_measure->setAccessibleName(tr("Measure the current metric with the options above"));
    m_form->setSpacing(2);

    auto* below = new QVBoxLayout;
    below->setContentsMargins(4, 8, 4, 8);
    below->addWidget(m_formTitle);
    below->addLayout(m_form);
    below->addWidget(m_measure);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 0);
    column->addWidget(m_tree);
    column->addLayout(below);
    column->addStretch(1);

    connect(m_tree, &QTreeWidget::currentItemChanged, this, [this] {
        if (const MetricRequest* row = currentRequest()) {
            buildForm(*row);
            const QString id = QString::fromStdString(row->resultId());
            if (m_document->result(row->resultId()))
                emit chosen(id);
        }
    });
    connect(m_tree, &QTreeWidget::itemActivated, this, [this] {
        if (const MetricRequest* row = currentRequest())
            m_document->measure({*row});
    });
    m_tree->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(m_tree, &QTreeWidget::customContextMenuRequested, this, &MetricList::openMenu);
    connect(m_measure, &QPushButton::clicked, this, [this] { m_document->measure({request()}); });
    connect(document, &Document::opened, this, &MetricList::refresh);
    connect(document, &Document::modelLocated, this, &MetricList::updateButton);
    connect(document, &Document::stateChanged, this, &MetricList::updateRow);
    refresh();
}

MetricRequest MetricList::request() const {
    MetricRequest request{m_formInfo, {}};
    for (const QCheckBox* box : m_options)
        if (box->isChecked())
            request.options[box->objectName().toStdString()] = "true";
    return request;
}

void MetricList::editOptions(const std::string& metricId) {
    const auto row = m_rows.find(QString::fromStdString(metricId));
    if (row == m_rows.end())
        return;
    m_tree->setCurrentItem(row->second.first);
    (m_options.empty() ? static_cast<QWidget*>(m_measure) : m_options.front())->setFocus(Qt::ShortcutFocusReason);
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
        m_tree->clear();
        m_rows.clear();
        for (const MetricInfo* info : allMetrics())
            addRow({info, {}}, nullptr);
        if (m_document->isOpen())
            for (const std::string& id : m_document->resultIds())
                updateRow(QString::fromStdString(id));
        const auto row = m_rows.find(current);
        m_tree->setCurrentItem(row->second.first);
        buildForm(row->second.second);
    }
    m_tree->setEnabled(m_document->isOpen());
}

void MetricList::addRow(const MetricRequest& request, QTreeWidgetItem* parent) {
    auto* item = parent ? new QTreeWidgetItem(parent) : new QTreeWidgetItem(m_tree);
    const QString id = QString::fromStdString(request.resultId());
    item->setText(nameColumn, parent ? variantName(request) : id);
    item->setText(needsColumn, parent ? QString() : costLetter(request.info->needs));
    item->setData(nameColumn, idRole, id);
    item->setSizeHint(nameColumn, {0, m_tree->fontMetrics().height() * 3 / 2});
    item->setToolTip(nameColumn, explanation(request));
    item->setToolTip(needsColumn, costWords(request.info->needs));
    if (parent)
        parent->setExpanded(true);
    m_rows[id] = {item, request};
    updateRow(id);
}

void MetricList::updateRow(const QString& resultId) {
    if (!m_rows.contains(resultId)) {
        const MetricRequest request = parseMetricRequests(resultId.toStdString()).front();
        addRow(request, m_rows.at(toQString(request.info->id)).first);
        return;
    }
    QTreeWidgetItem* item = m_rows.at(resultId).first;
    const MetricState state = m_document->state(resultId.toStdString());
    if (state == MetricState::notComputed && item->parent()) { // a variant whose measurement was stopped
        m_rows.erase(resultId);
        delete item;
        return;
    }
    item->setText(stateColumn, stateGlyph(state));
    item->setToolTip(stateColumn, stateWords(state));
    item->setData(stateColumn, Qt::AccessibleTextRole, stateWords(state));
    updateButton();
}

void MetricList::buildForm(const MetricRequest& request) {
    qDeleteAll(std::exchange(m_options, {}));
    m_formInfo = request.info;
    m_formTitle->setText(tr("Options of %1").arg(toQString(request.info->id)));
    m_formTitle->setVisible(!request.info->options.empty());
    for (const OptionInfo& option : request.info->options) {
        if (option.type != "bool") // numbers and texts are asked for on the command line
            continue;
        auto* box = new QCheckBox(toQString(option.name));
        box->setObjectName(toQString(option.name));
        box->setToolTip(toQString(option.meaning));
        box->setChecked(request.flag(option.name));
        connect(box, &QCheckBox::toggled, this, &MetricList::updateButton);
        m_form->addWidget(box);
        m_options.push_back(box);
    }
    updateButton();
}

void MetricList::updateButton() {
    const MetricState state = m_document->state(request().resultId());
    m_measure->setText(state == MetricState::done ? tr("Measure again") : tr("Measure"));
    m_measure->setEnabled(m_document->model() && state != MetricState::computing);
    m_measure->setToolTip(m_document->isOpen() && !m_document->model() ? tr("Needs the checkpoint, which is not here")
                                                                       : QString());
}

void MetricList::openMenu(const QPoint& position) {
    const MetricRequest* row = currentRequest();
    if (!row || !m_document->isOpen())
        return;
    QMenu menu(this);
    QAction* measure =
        menu.addAction(m_measure->text(), this, [this, request = *row] { m_document->measure({request}); });
    measure->setEnabled(m_document->model() && m_document->state(row->resultId()) != MetricState::computing);
    menu.addAction(tr("Copy as command &line"), this,
                   [this, id = row->resultId()] { copyCommands({measureCommand(modelPath(*m_document), {id})}); });
    menu.exec(m_tree->viewport()->mapToGlobal(position));
}

const MetricRequest* MetricList::currentRequest() const {
    const QTreeWidgetItem* item = m_tree->currentItem();
    const auto row = item ? m_rows.find(item->data(nameColumn, idRole).toString()) : m_rows.end();
    return row == m_rows.end() ? nullptr : &row->second.second;
}

} // namespace secateur
