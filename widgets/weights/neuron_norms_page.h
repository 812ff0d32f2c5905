#pragma once

#include "analysis/figures/figure.h"
#include "analysis/weights/neuron_norms.h"
#include "analysis/weights/unit_marks.h"
#include "widgets/jobs/job_runner.h"

#include <QWidget>

#include <optional>

class QComboBox;
class QLabel;
class QStackedWidget;

namespace secateur {

class Document;
class NeuronNormsPlot;
class Selection;

/// The norms of the directions that the neurons of the active layer read and write.
class NeuronNormsPage : public QWidget {
    Q_OBJECT

public:
    NeuronNormsPage(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// The scatter on screen; without series if there is none.
    const Figure& currentFigure() const { return m_figure; }
    NeuronNormsPlot* plot() const { return m_plot; }
    /// The layer on screen; empty while it is computed.
    std::optional<int> layer() const { return m_norms ? std::optional(m_norms->layer) : std::nullopt; }
    QWidget* picture() const;

signals:
    void hoverText(const QString& text);
    /// The user wants to see a neuron in its view.
    void unitWanted(const secateur::MarkedUnit& unit);
    void shown();

protected:
    void showEvent(QShowEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void build();
    void connectAll();
    void restart();
    void follow();
    void draw();
    void say(const QString& sentence);
    QString describe(std::size_t neuron) const;
    int wantedLayer() const;
    void onEnded(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    Selection* m_selection;
    QLabel* m_title;
    QComboBox* m_read;
    QStackedWidget* m_stack;
    QLabel* m_reason;
    NeuronNormsPlot* m_plot;
    Figure m_figure;
    std::optional<NeuronNorms> m_norms;
    JobRunner::Id m_job = 0;
    int m_jobLayer = -1;
};

} // namespace secateur
