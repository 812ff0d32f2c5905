#include "widgets/window/view_memory.h"

#include "analysis/model/far_model.h"
#include "analysis/model/model_card.h"
#include "widgets/document/document.h"
#include "widgets/window/view_tabs.h"

#include <QDateTime>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSettings>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

constexpr const char* modelsSetting = "views/models";
constexpr qsizetype modelsKept = 50;
constexpr qsizetype longestEntry = 4000; ///< in characters; longer ones are not kept

/// Names of entries in a session's view that only change how results are drawn, or the beginnings of such names.
constexpr std::array<std::string_view, 12> drawingEntries{
    "heads.",         "layers.",          "neurons.",          "scatter.",
    "curves.",        "attention.side",   "attention.colours", "attention.scale",
    "attention.clip", "gradient_change.", "circuits.",         "tensors."};

/// Tabs that run the model when they are shown.
constexpr std::array<std::string_view, 3> runningTabs{"attention", "sheet", "gradients"};

bool isDrawing(std::string_view name) {
    return std::ranges::any_of(drawingEntries, [&](std::string_view begin) { return name.starts_with(begin); });
}

/// Names the metrics instead of measurements, which a model that is opened again does not have: "sink_head@1a2b3c4d".
QString withoutMeasurements(QString text) {
    static const QRegularExpression measurement("@[0-9a-f]{8}\\b");
    return text.remove(measurement);
}

QString keyOf(const ModelCard& model) {
    if (isFarPath(model.path))
        return QString::fromStdString(model.path);
    const QFileInfo file(QString::fromStdString(model.path));
    const QString path = file.canonicalFilePath();
    return path.isEmpty() ? file.absoluteFilePath() : path;
}

/// Removes the entries that were stored longest ago.
void dropOldest(QVariantMap& models) {
    while (models.size() > modelsKept) {
        auto oldest = models.begin();
        for (auto each = models.begin(); each != models.end(); ++each)
            if (each->toMap().value("time").toLongLong() < oldest->toMap().value("time").toLongLong())
                oldest = each;
        models.erase(oldest);
    }
}

/// What was stored for a model of this path and structure; empty = nothing.
QVariantMap storedFor(const ModelCard& model) {
    const QVariantMap stored = QSettings().value(modelsSetting).toMap().value(keyOf(model)).toMap();
    const bool isSame = stored.value("structure").toString().toStdString() == model.spec.structure();
    return isSame ? stored : QVariantMap();
}

} // namespace

ViewMemory::ViewMemory(Document* document, ViewTabs* views, Filter filter, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_views(views)
    , m_filter(std::move(filter)) {
    document->recallViewBy([this](const ModelCard& model) { return recall(model); });
    connect(document, &Document::aboutToReplace, this, &ViewMemory::remember);
    connect(document, &Document::opened, this, &ViewMemory::restore);
}

void ViewMemory::remember() {
    if (!m_document->isOpen())
        return;
    const ModelCard& model = m_document->session().model;
    QVariantMap view;
    for (const auto& [name, value] : m_document->session().view) {
        const QString text = withoutMeasurements(QString::fromStdString(value));
        if (isDrawing(name) && text.size() <= longestEntry)
            view[QString::fromStdString(name)] = text;
    }
    QVariantMap models = QSettings().value(modelsSetting).toMap();
    models[keyOf(model)] = QVariantMap{{"time", QDateTime::currentMSecsSinceEpoch()},
                                       {"structure", QString::fromStdString(model.spec.structure())},
                                       {"view", view},
                                       {"tab", m_views->currentTab()},
                                       {"filter", m_filter.text()}};
    dropOldest(models);
    QSettings().setValue(modelsSetting, models);
}

void ViewMemory::forget() {
    QSettings().remove(modelsSetting);
}

std::map<std::string, std::string> ViewMemory::recall(const ModelCard& model) const {
    std::map<std::string, std::string> view;
    const QVariantMap stored = storedFor(model).value("view").toMap();
    for (auto each = stored.begin(); each != stored.end(); ++each)
        if (std::string name = each.key().toStdString(); isDrawing(name))
            view.emplace(std::move(name), each->toString().toStdString());
    return view;
}

/// Restores what no session holds.
void ViewMemory::restore() {
    if (!m_document->sessionPath().isEmpty())
        return;
    const QVariantMap stored = storedFor(m_document->session().model);
    if (stored.isEmpty())
        return;
    const QString tab = stored.value("tab").toString();
    if (std::ranges::find(runningTabs, tab.toStdString()) == runningTabs.end())
        m_views->showTab(tab);
    m_filter.setText(stored.value("filter").toString());
}

} // namespace secateur
