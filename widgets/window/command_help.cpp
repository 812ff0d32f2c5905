#include "widgets/window/window_commands.h"
#include "widgets/window/window_help.h"

#include <QAction>

#include <algorithm>

namespace secateur {

namespace {

struct CommandHelp {
    const char* title; ///< as in the menu, before translation
    const char* help;  ///< what the command does
};

#define SECATEUR_HELP(text) QT_TRANSLATE_NOOP("secateur::WindowCommands", text)

constexpr CommandHelp commandHelp[]{
    {"&Open model…",
     SECATEUR_HELP("Opens a model file, a session or a mask. A mask becomes a new mask of the open model.")},
    {"Open model &folder…", SECATEUR_HELP("Opens a model folder in the format of Hugging Face.")},
    {"Open model on a ser&ver…",
     SECATEUR_HELP("Opens a model on another machine by ssh. The work on it runs there, results are kept here.")},
    {"Open s&ession…",
     SECATEUR_HELP("Opens a saved session. Its results are shown even if the files of its model are missing.")},
    {"&Locate model…",
     SECATEUR_HELP("Connects the open session with the files of its model, so that it can be measured.")},
    {"&Save session", SECATEUR_HELP("Saves metrics, masks and evaluations in one file.")},
    {"Save session &as…", SECATEUR_HELP("Saves metrics, masks and evaluations in a file of another name.")},
    {"Save figure, column &width…",
     SECATEUR_HELP("Saves the picture of the current tab 8.4 cm wide, as PDF, SVG, PNG or CSV.")},
    {"Save figure, &page width…",
     SECATEUR_HELP("Saves the picture of the current tab 17.4 cm wide, as PDF, SVG, PNG or CSV.")},
    {"&Report…", SECATEUR_HELP("Writes a report about the session as HTML or PDF.")},
    {"&Export…", SECATEUR_HELP("Shows the panel Export, which writes the pruned model as a checkpoint.")},
    {"&Quit", SECATEUR_HELP("Closes the window. Asks first if something is unsaved.")},
    {"&Copy selected values", SECATEUR_HELP("Copies the values of the selected heads or neurons as a table.")},
    {"Copy figure as &image", SECATEUR_HELP("Copies the picture of the current tab as an image.")},
    {"Copy figure as CS&V", SECATEUR_HELP("Copies the numbers of the picture of the current tab.")},
    {"Copy figure as command &line", SECATEUR_HELP("Copies the command that draws the picture of the current tab.")},
    {"&Find head, layer or metric…",
     SECATEUR_HELP("Finds a head by its place (12.3), a layer by its number (12), or a metric by its name.")},
    {"Select &all heads", SECATEUR_HELP("Selects all heads that pass the filter; in a list of neurons, all neurons.")},
    {"&Clear selection", SECATEUR_HELP("Selects nothing. The mask does not change.")},
    {"Measure all &weight metrics", SECATEUR_HELP("Measures all metrics that need the weights only.")},
    {"Measure with &options…", SECATEUR_HELP("Moves to the options of the current metric in the panel Metrics.")},
    {"Measure all &forward metrics",
     SECATEUR_HELP("Measures all metrics that need a forward pass over the calibration text.")},
    {"Measure all &gradient metrics",
     SECATEUR_HELP("Measures all metrics that need a backward pass. This takes longer than the forward metrics.")},
    {"Copy metric as command &line", SECATEUR_HELP("Copies the command that measures the metric on screen.")},
    {"&Find a mask…",
     SECATEUR_HELP("Shows the panel Search, which looks for the mask with the lowest loss for its savings.")},
    {"Train the pruned mode&l…", SECATEUR_HELP("Shows the panel Recover, which trains the pruned model.")},
    {"Compare with the &next mask",
     SECATEUR_HELP("Marks in all views the differences between the current mask and the next one in the list.")},
    {"S&wap with the compared mask", SECATEUR_HELP("Exchanges the current mask and the compared mask.")},
    {"S&top comparing", SECATEUR_HELP("Shows the cuts of the current mask only.")},
    {"Copy mask as command &line", SECATEUR_HELP("Copies the commands that make the current mask again.")},
    {"Copy e&xport as command line",
     SECATEUR_HELP("Copies the command that exports the model under the current mask.")},
    {"&Evaluate the mask", SECATEUR_HELP("Measures the loss under the current mask, compared with the dense model.")},
    {"&Stop here", SECATEUR_HELP("Ends the evaluation and keeps the result of the windows that are measured.")},
    {"&More measurements…",
     SECATEUR_HELP("Chooses further measurements: tasks, tokens per second, the continuation of a prompt.")},
    {"Copy evaluation as command &line", SECATEUR_HELP("Copies the command that repeats the current evaluation.")},
    {"&Reset zoom", SECATEUR_HELP("Shows the whole picture.")},
    {"&Filter heads…", SECATEUR_HELP("Shows the field for conditions on heads, for example sink_head > 0.5.")},
    {"Theme: follow the &system", SECATEUR_HELP("Uses light or dark colours as the desktop does.")},
    {"Theme: &light", SECATEUR_HELP("Uses light colours.")},
    {"Theme: &dark", SECATEUR_HELP("Uses dark colours.")},
    {"&Guide", SECATEUR_HELP("Opens the manual at the page about the window and its tasks.")},
    {"&Manual", SECATEUR_HELP("Opens the manual. It can be searched.")},
    {"Search &commands…", SECATEUR_HELP("Finds any command, metric or head by a few letters, and runs or shows it.")},
    {"&Shortcuts", SECATEUR_HELP("Lists all keys, and the actions of the mouse in each view.")},
    {"What's &This?",
     SECATEUR_HELP("Explains the control that is clicked next. Pressed twice, Shift+F1 explains the control with the "
                   "keyboard focus.")},
    {"&About Secateur", SECATEUR_HELP("States the version and the licence.")},
};

#undef SECATEUR_HELP

} // namespace

void explainCommands(const QList<QAction*>& commands) {
    for (QAction* command : commands) {
        const auto row = std::ranges::find(commandHelp, command->text(),
                                           [](const CommandHelp& each) { return WindowCommands::tr(each.title); });
        if (command->whatsThis().isEmpty() && row != std::end(commandHelp))
            command->setWhatsThis(WindowCommands::tr(row->help));
        // The tool tip of an action is its text unless it was set, as those of tours are.
        if (command->whatsThis().isEmpty() && command->toolTip() != command->text().remove('&'))
            command->setWhatsThis(command->toolTip());
        if (command->statusTip().isEmpty())
            command->setStatusTip(command->whatsThis());
    }
}

} // namespace secateur
