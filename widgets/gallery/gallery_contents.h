#pragma once

#include "analysis/session/services.h"
#include "widgets/gallery/gallery_papers.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

class QTimer;

namespace secateur {

class Document;
class GallerySteps;

/// An item of the gallery as the open session has it.
struct DrawnItem {
    std::shared_ptr<const Figure> figure; ///< null = it cannot be drawn
    QString reason = {};                  ///< the sentence of what is missing; empty if there is a figure
    QString hint = {};                    ///< what to do about it
};

/// The figures of the gallery. They are computed on a thread of their own, from a copy of the session, and again when
/// the session changes; items that run the model are computed when they are asked for. Nothing is computed while the
/// gallery is not on screen. Lives on the GUI thread.
class GalleryContents : public QObject {
    Q_OBJECT

public:
    /// Returns the prompt for items that run one.
    using PromptSource = std::function<QString()>;
    /// Receives what draw() computed, on the GUI thread.
    using Receiver = std::function<void(const DrawnItem&)>;

    GalleryContents(Document* document, JobRunner* jobs, GallerySteps* steps, std::vector<GalleryPaper> papers,
                    PromptSource prompt, QObject* parent = nullptr);

    const std::vector<GalleryPaper>& papers() const { return m_papers; }
    /// Whether the gallery is on screen.
    void setActive(bool active);
    /// The folder with texts and tasks and the size of the recipes.
    void setChoice(SweepSize size, const QString& folder);
    /// The texts and tasks that were found in the folder, by their usual names.
    const std::map<std::string, std::string>& files() const { return m_files.paths; }

    /// Sets the items to compute first: those on screen.
    void want(std::vector<const FigureInfo*> items) { m_wanted = std::move(items); }
    /// An item as it was computed last, maybe from an earlier state of the session; null = it was not computed yet.
    const DrawnItem* item(const FigureInfo& item) const;
    /// Whether all items were computed.
    bool isComplete() const { return m_stale.empty() && m_job == 0; }
    /// The steps of a paper for the open session; empty while they are not known.
    const std::vector<RecipeStep>& steps(const GalleryPaper& paper) const;
    /// Expected seconds to run steps, or an item that runs the model; empty while the model's speed is not known.
    std::optional<double> seconds(const std::vector<const RecipeStep*>& steps) const;
    std::optional<double> seconds(const FigureInfo& item) const;
    /// Tokens that run forward through all layers in these steps.
    static double tokens(const std::vector<const RecipeStep*>& steps);

    /// Why an item that runs the model cannot be computed; empty = it can.
    QString whyNotRun(const FigureInfo& item) const;
    /// Runs the model for an item, in a job that the panel Jobs shows. @param request "id[:key=value]..."
    void run(const FigureInfo& item, const std::string& request);
    void run(const FigureInfo& item) { run(item, std::string(item.id)); }
    bool isRunning(const FigureInfo& item) const;
    void stop(const FigureInfo& item);

    /// Computes an item with options, from the session. @param receive is not called after `receiver` was destroyed
    void draw(const FigureInfo& item, const std::string& request, QObject* receiver, Receiver receive);

signals:
    /// An item was computed, or its run began, advanced or ended. @param fraction of a run; negative = none
    void itemChanged(const FigureInfo* item, double fraction);
    /// The steps or the files changed.
    void stepsChanged();
    /// The session that the items are drawn from is another one.
    void sessionChanged();

private:
    struct Found {
        NamedFiles files;
        std::map<std::string, std::vector<RecipeStep>> steps; ///< by paper
    };

    void refresh();
    void forget();
    void begin();
    void findSteps();
    void drawNext();
    void startDrawing(const FigureInfo& item);
    void take(const FigureInfo& item, DrawnItem drawn);
    void endRun(quint64 job, const QString& failure);

    Document* m_document;
    JobRunner* m_jobs;
    GallerySteps* m_steps;
    std::vector<GalleryPaper> m_papers;
    PromptSource m_prompt;
    JobRunner m_own; ///< draws; its jobs are not in the panel Jobs
    QTimer* m_refresh;
    bool m_isActive = false;
    bool m_isOld = true; ///< whether the session changed since it was copied
    SweepSize m_size = SweepSize::quick;
    QString m_folder;
    NamedFiles m_files;
    std::shared_ptr<const Session> m_session; ///< the copy; null = nothing is open
    std::string m_source;                     ///< path of the session's file, for commands; empty = not saved
    std::map<std::string, std::vector<RecipeStep>> m_found;
    std::map<const FigureInfo*, DrawnItem> m_items;
    std::set<const FigureInfo*> m_stale; ///< items to compute
    std::vector<const FigureInfo*> m_wanted;
    JobRunner::Id m_job = 0; ///< that draws an item or finds the steps; 0 = none
    bool m_hasSteps = false;
    std::map<JobRunner::Id, const FigureInfo*> m_runs; ///< jobs that run the model, with their items
};

/// An expected time: "about 40 s", "about 4 min", "about 3 h".
QString aboutTime(double seconds);
/// What steps or a run cost: aboutTime(), or "about 1.2 M tokens" while the model's speed is not known.
QString costText(const std::optional<double>& seconds, double tokens);

} // namespace secateur
