#pragma once

#include "analysis/base/head_id.h"

#include <QStringList>
#include <QTabWidget>

#include <string>
#include <vector>

namespace secateur {

class AttentionView;
class CurvesView;
class Document;
class FigureActions;
class GalleryView;
class GradientView;
class HeadFilter;
class HeadsView;
class JobRunner;
class LayersView;
class NeuronsView;
class ScatterView;
class Selection;
class WeightsView;
struct MarkedUnit;

/// The views of the open model, one in each tab. Menu actions apply to the view on screen.
class ViewTabs : public QTabWidget {
    Q_OBJECT

public:
    ViewTabs(Document* document, JobRunner* jobs, Selection* selection, HeadFilter* filter, QWidget* parent = nullptr);

    HeadsView* heads() const { return m_heads; }
    LayersView* layers() const { return m_layers; }
    GalleryView* gallery() const { return m_gallery; }
    AttentionView* attention() const { return m_attention; }
    WeightsView* weights() const { return m_weights; }

    /// Shows a tab. @param id "heads", "layers", "attention", "sheet" (attention of all heads), "scatter", "gradients",
    /// "curves", "gallery", "weights", "norms" (weights of neurons) or "neurons" (which opens the selected layer)
    void showTab(const QString& id);
    /// The id of the current tab, for showTab().
    QString currentTab() const;
    /// Shows a measurement in the view for its scope. @param key in the form that parseResultKey() reads
    void showResult(const QString& key);
    /// Adds a measurement to the layers view if this view is on screen and can show it. Otherwise like showResult().
    void addResult(const QString& key);
    /// Selects a head and shows it in the heads view.
    void goTo(HeadId head);
    /// Selects a head and shows it in the current view, if this view shows heads.
    void showHead(HeadId head);
    /// Selects a unit and shows it: a head or KV group in the heads view, a neuron in the neurons view.
    void showUnit(const MarkedUnit& unit);
    /// Selects all heads of a layer.
    void showLayer(int layer);

    /// Keys of the measurements that the current view shows.
    std::vector<std::string> shownKeys() const;
    /// Key of the measurement in the current view; empty if the view shows several.
    QString mainKey() const;
    FigureActions* figureActions() const;
    void copyValues();
    void resetZoom();
    void selectAll();

signals:
    /// Emitted with the line about the cell under the pointer in the current view.
    void hoverText(const QString& text);
    void commandWanted(const std::vector<std::string>& keys);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to filter the heads by this condition.
    void filterWanted(const QString& condition);
    /// The user wants to make curves.
    void sweepWanted();
    /// The current tab, or the measurement in it, changed.
    void shownChanged();
    void failed(const QString& message);

private:
    template <typename View>
    View* add(View* view, const QString& title);
    void showAttention(HeadId head);

    Document* m_document;
    Selection* m_selection;
    HeadsView* m_heads;
    LayersView* m_layers;
    NeuronsView* m_neurons;
    AttentionView* m_attention;
    ScatterView* m_scatter;
    GradientView* m_gradients;
    CurvesView* m_curves;
    GalleryView* m_gallery;
    WeightsView* m_weights;
};

} // namespace secateur
