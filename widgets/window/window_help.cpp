#include "widgets/window/window_help.h"

#include "widgets/help/whats_this.h"
#include "widgets/window/panels.h"
#include "widgets/window/view_tabs.h"
#include "widgets/window/window_commands.h"

#include <QAction>
#include <QDockWidget>
#include <QTabBar>

#include <algorithm>
#include <span>

namespace secateur {

namespace {

struct AreaHelp {
    const char* name;    ///< class of a view, object name of a panel
    const char* help;    ///< what it is for
    const char* section; ///< of the manual
};

constexpr AreaHelp viewHelp[]{
    {"secateur::HeadsView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Shows a metric of every head: layers from top to bottom, heads from left to right. "
                       "Heads are selected and cut here."),
     "using.md#heads"},
    {"secateur::LayersView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Draws several metrics over the layers. Attention sublayers, MLPs and blocks are dropped here."),
     "using.md#layers"},
    {"secateur::NeuronsView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Shows the distribution of a neuron metric in each layer, and the neurons of one layer."),
     "using.md#neurons"},
    {"secateur::AttentionView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Runs the model on a prompt and shows the attention of each head."),
     "using.md#attention-maps"},
    {"secateur::ScatterView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Draws one metric against another, with their rank correlation."),
     "using.md#two-metrics-against-each-other"},
    {"secateur::GradientView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Shows how a cut changes the gradients of the query weights of all heads."),
     "using.md#gradient-changes"},
    {"secateur::CurvesView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Draws the results of sweeps: loss or score against the size of the pruned model."),
     "using.md#sweep-strategies-over-budgets"},
    {"secateur::GalleryView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Draws the figures and tables of papers for this model, and measures the missing results."),
     "using.md#gallery"},
    {"secateur::WeightsView",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Shows the query-key and the output-value circuit of the active head, and the norms of the "
                       "neurons of its layer."),
     "using.md#circuits-and-neurons"},
};

constexpr AreaHelp panelHelp[]{
    {"model", QT_TRANSLATE_NOOP("secateur::WindowCommands", "States the shape, the size and the type of the model."),
     "using.md#the-window"},
    {"metrics",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Lists all metrics. They are measured here with their options."),
     "using.md#measure"},
    {"selection", QT_TRANSLATE_NOOP("secateur::WindowCommands", "Shows every measured metric of the selected heads."),
     "using.md#select-and-filter-heads"},
    {"mask",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Makes masks and shows their savings and their effect on the loss."),
     "using.md#cut"},
    {"sweep",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Runs strategies over several budgets and scores every mask."),
     "using.md#sweep-strategies-over-budgets"},
    {"search",
     QT_TRANSLATE_NOOP("secateur::WindowCommands", "Searches for the mask with the lowest loss for its savings."),
     "using.md#by-search"},
    {"recover", QT_TRANSLATE_NOOP("secateur::WindowCommands", "Trains the pruned model, which lowers its loss again."),
     "using.md#recovering-in-the-window"},
    {"evaluations",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Lists the measured loss of every mask, compared with the dense model."),
     "using.md#evaluate-a-mask"},
    {"continuation",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Shows how the dense model and the pruned model continue the same prompt."),
     "using.md#evaluate-a-mask"},
    {"jobs", QT_TRANSLATE_NOOP("secateur::WindowCommands", "Lists the work in progress. Each job can be cancelled."),
     "using.md#the-window"},
    {"log", QT_TRANSLATE_NOOP("secateur::WindowCommands", "Lists the events since the start, line by line."),
     "using.md#the-window"},
    {"export",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Writes the pruned model as a checkpoint, and shows beforehand how large it will be."),
     "using.md#export-the-pruned-model"},
    {"tensors",
     QT_TRANSLATE_NOOP("secateur::WindowCommands",
                       "Lists the tensors of the checkpoint and shows their numbers, and compares them with another "
                       "checkpoint."),
     "using.md#tensors"},
};

const AreaHelp* find(std::span<const AreaHelp> rows, const QString& name) {
    const auto row = std::ranges::find(rows, name, [](const AreaHelp& each) { return QString(each.name); });
    return row == rows.end() ? nullptr : &*row;
}

void explain(QAction& action, const QString& help) {
    action.setWhatsThis(help);
    action.setStatusTip(help);
}

} // namespace

void explainAreas(ViewTabs& views, const QList<QAction*>& showViews, const Panels& panels) {
    for (int tab = 0; tab < views.count(); ++tab)
        if (const AreaHelp* row = find(viewHelp, views.widget(tab)->metaObject()->className())) {
            const QString help = WindowCommands::tr(row->help);
            views.setTabWhatsThis(tab, help);
            views.widget(tab)->setAccessibleName(views.tabText(tab));
            views.widget(tab)->setWhatsThis(help);
            setManualSection(views.widget(tab), row->section);
            explain(*showViews[tab], help);
        }
    for (QDockWidget* dock : panels.docks())
        if (const AreaHelp* row = find(panelHelp, dock->objectName())) {
            dock->setWhatsThis(WindowCommands::tr(row->help));
            setManualSection(dock, row->section);
            explain(*dock->toggleViewAction(), dock->whatsThis());
        }
}

QList<QString> linkedSections() {
    QList<QString> sections;
    for (const std::span<const AreaHelp> rows :
         {std::span<const AreaHelp>(viewHelp), std::span<const AreaHelp>(panelHelp)})
        for (const AreaHelp& row : rows)
            sections << row.section;
    return sections;
}

} // namespace secateur
