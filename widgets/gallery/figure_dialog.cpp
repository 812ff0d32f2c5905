#include "widgets/gallery/figure_dialog.h"

#include "analysis/gallery/published.h"
#include "widgets/document/document.h"
#include "widgets/gallery/figure_data.h"
#include "widgets/gallery/option_form.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_scale.h"

#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int optionPauseMs = 350;

QString dialogText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// The models of which a paper prints numbers in this table.
QStringList publishedModelsOf(const FigureInfo& item) {
    QStringList models;
    for (const std::string& model : publishedModels(item.id))
        models << QString::fromStdString(model);
    return models;
}

QScrollArea* scrollingPart(QWidget* content, const QString& name) {
    auto* area = new QScrollArea;
    area->setWidget(content);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setAccessibleName(name);
    return area;
}

} // namespace

FigureDialog::FigureDialog(Document* document, GalleryContents* contents, const FigureInfo& item, QWidget* parent)
    : QDialog(parent)
    , m_document(document)
    , m_contents(contents)
    , m_item(item)
    , m_form(new OptionForm(item, [this](const OptionInfo& option) { return fieldOf(option); }))
    , m_run(new QPushButton(tr("&Run")))
    , m_stack(new QStackedWidget)
    , m_reason(new QLabel)
    , m_plot(new FigureWidget)
    , m_caption(new QLabel)
    , m_actions(new FigureActions(this, [this] { return m_figure ? *m_figure : Figure(); }))
    , m_typing(new QTimer(this)) {
    setWindowTitle(tr("%1: %2").arg(itemTitle(item), itemSummary(item)));
    setWindowFlag(Qt::WindowMaximizeButtonHint);
    build();
    connectAll();
    draw();
}

/// An option with the values that are offered for it. The choice of published numbers is offered only if a paper prints
/// some.
OptionField FigureDialog::fieldOf(const OptionInfo& option) const {
    if (option.name == publishedOption.name) {
        const QStringList models = publishedModelsOf(m_item);
        return {tr("Compare with the paper"), QStringList{"auto"} + models + QStringList{"none"}, !models.isEmpty()};
    }
    OptionField field{dialogText(option.name).replace('_', ' ')};
    if (option.name == "colours")
        field.values = colourMapIds();
    return field;
}

void FigureDialog::build() {
    m_plot->setAccessibleName(windowTitle());
    m_plot->setWhatsThis(
        tr("The figure with the options beside it. The arrows scroll it where it is higher than the window."));
    m_reason->setAlignment(Qt::AlignCenter);
    m_reason->setWordWrap(true);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    m_reason->setAccessibleName(tr("Reason for the missing figure"));
    m_stack->addWidget(m_reason);
    m_stack->addWidget(m_plot);
    m_caption->setWordWrap(true);
    m_caption->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_caption->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    QScrollArea* caption = scrollingPart(m_caption, tr("Caption"));
    caption->setWhatsThis(tr("The content of the figure, and its differences from that of the paper."));
    constexpr int captionLines = 5;
    caption->setFixedHeight(captionLines * fontMetrics().lineSpacing());
    auto* picture = new QVBoxLayout;
    picture->addWidget(m_stack, 1);
    picture->addWidget(caption);
    auto* row = new QHBoxLayout;
    row->addLayout(picture, 1);
    if (!m_form->isEmpty() || !isFromSession(m_item))
        row->addWidget(buildSide());
    auto* column = new QVBoxLayout(this);
    column->addLayout(row, 1);
    column->addWidget(buildButtons());
    constexpr int widthInCharacters = 130;
    constexpr int heightInLines = 38;
    resize(widthInCharacters * fontMetrics().averageCharWidth(), heightInLines * fontMetrics().lineSpacing());
    m_typing->setSingleShot(true);
    m_typing->setInterval(optionPauseMs);
}

QWidget* FigureDialog::buildSide() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->addWidget(m_form);
    column->addWidget(m_run);
    column->addStretch();
    m_run->setVisible(!isFromSession(m_item));
    m_run->setToolTip(tr("Run the model with these options and draw the figure"));
    QScrollArea* side = scrollingPart(content, tr("Options"));
    constexpr int widthInCharacters = 34;
    side->setFixedWidth(widthInCharacters * fontMetrics().averageCharWidth());
    side->setFocusPolicy(Qt::NoFocus);
    side->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    return side;
}

QWidget* FigureDialog::buildButtons() {
    auto* buttons = new QWidget;
    auto* row = new QHBoxLayout(buttons);
    row->setContentsMargins(0, 0, 0, 0);
    const auto add = [&](const QString& text, const QString& help, auto&& slot) {
        auto* button = new QPushButton(text);
        button->setToolTip(help);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, slot);
        row->addWidget(button);
    };
    row->addStretch();
    add(tr("Save &picture…"), tr("As PDF, SVG or PNG, 17.4 cm wide"), [this] { m_actions->saveAs(FigureWidth::page); });
    add(tr("Save &data…"), tr("The numbers of the figure, as CSV or JSON"), [this] {
        if (m_figure)
            chooseAndSaveData(this, m_figure, itemId(m_item), [this](const QString& message) { emit failed(message); });
    });
    add(tr("Copy command &line"), tr("The command that draws this figure"), [this] { m_actions->copyCommand(); });
    add(tr("&Close"), tr("Close this window (Esc)"), [this] { close(); });
    return buttons;
}

void FigureDialog::connectAll() {
    connect(m_form, &OptionForm::changed, m_typing, qOverload<>(&QTimer::start));
    connect(m_typing, &QTimer::timeout, this, &FigureDialog::draw);
    connect(m_actions, &FigureActions::failed, this, &FigureDialog::failed);
    connect(m_document, &Document::opened, this, &FigureDialog::close);
    connect(m_contents, &GalleryContents::sessionChanged, this, [this] {
        if (isFromSession(m_item))
            draw();
    });
    connect(m_contents, &GalleryContents::itemChanged, this, [this](const FigureInfo* item, double fraction) {
        if (item == &m_item && !isFromSession(m_item) && fraction < 0)
            draw();
    });
    connect(m_run, &QPushButton::clicked, this, [this] {
        m_contents->run(m_item, request());
        m_run->setEnabled(!m_contents->isRunning(m_item));
    });
}

std::string FigureDialog::request() const {
    return m_form->request();
}

void FigureDialog::draw() {
    if (!isFromSession(m_item)) {
        m_run->setEnabled(!m_contents->isRunning(m_item));
        if (const DrawnItem* drawn = m_contents->item(m_item))
            take(*drawn);
        return;
    }
    const quint64 turn = ++m_turn;
    m_contents->draw(m_item, request(), this, [this, turn](const DrawnItem& drawn) {
        if (turn == m_turn)
            take(drawn);
    });
}

void FigureDialog::take(const DrawnItem& drawn) {
    m_figure = drawn.figure;
    m_stack->setCurrentIndex(m_figure ? 1 : 0);
    m_actions->setEnabled(m_figure != nullptr);
    const QStringList said{drawn.reason, drawn.hint};
    m_reason->setText(said.join('\n').trimmed());
    m_caption->setText(m_figure ? QString::fromStdString(m_figure->caption) : QString());
    if (!m_figure)
        return;
    m_plot->setFigure(*m_figure);
}

void FigureDialog::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
