#include "widgets/gallery/figure_data.h"

#include "analysis/base/error.h"
#include "analysis/figures/table_text.h"
#include "widgets/plot/figure_painter.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>

namespace secateur {

namespace {

QString dataFilter(const Figure& figure) {
    QStringList kinds{QCoreApplication::translate("FigureData", "CSV (*.csv)")};
    if (figure.kind == FigureKind::table)
        kinds << QCoreApplication::translate("FigureData", "LaTeX (*.tex)")
              << QCoreApplication::translate("FigureData", "Markdown (*.md)")
              << QCoreApplication::translate("FigureData", "HTML (*.html)");
    return kinds.join(";;");
}

std::string dataText(const Figure& figure, const QString& ending) {
    if (ending == "csv")
        return toCsv(figure);
    if (figure.kind == FigureKind::table && ending == "tex")
        return toLatex(figure);
    if (figure.kind == FigureKind::table && ending == "md")
        return toMarkdown(figure);
    if (figure.kind == FigureKind::table && ending == "html")
        return toHtmlPage(figure);
    throw Error(figure.kind == FigureKind::table ? "data of a table are written as .csv, .tex, .md or .html"
                                                 : "data of a figure are written as .csv",
                ending.toStdString());
}

} // namespace

void saveFigureData(const Figure& figure, const QString& path) {
    const std::string text = dataText(figure, QFileInfo(path).suffix().toLower());
    writeAside(path, QByteArray::fromStdString(text));
}

void chooseAndSaveData(QWidget* parent, std::shared_ptr<const Figure> figure, const QString& name,
                       std::function<void(const QString& message)> failed) {
    auto* dialog = new QFileDialog(parent, QCoreApplication::translate("FigureData", "Save data"),
                                   QSettings().value("folder").toString(), dataFilter(*figure));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->selectFile(name + ".csv");
    QObject::connect(dialog, &QFileDialog::filterSelected, dialog, [dialog, name](const QString& filter) {
        const QString ending = filter.section("*.", 1).section(')', 0, 0);
        dialog->setDefaultSuffix(ending);
        dialog->selectFile(name + '.' + ending);
    });
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, [dialog, figure, failed](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        try {
            saveFigureData(*figure, path);
        } catch (const Error& error) {
            failed(error.what());
        }
    });
    dialog->open();
}

} // namespace secateur
