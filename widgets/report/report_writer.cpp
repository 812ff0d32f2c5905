#include "widgets/report/report_writer.h"

#include "analysis/base/replaceable.h"
#include "analysis/base/usage_error.h"
#include "widgets/plot/figure_painter.h"

#include <QFileInfo>

namespace secateur {

void writeReport(const Report& report, const QString& path, bool force, const Progress& progress) {
    const std::string extension = QFileInfo(path).suffix().toLower().toStdString();
    const FileKind kind = reportFileKind(extension);
    const Progress drawing = progress.part(0, 0.95);
    const QByteArray bytes = kind == FileKind::pdf ? reportPdf(report, drawing) : reportHtml(report, drawing);
    writeAside(path, bytes, kind, force);
}

} // namespace secateur
