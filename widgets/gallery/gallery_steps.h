#pragma once

#include "analysis/session/services.h"
#include "widgets/gallery/gallery_papers.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class Document;

/// A step of a paper's recipe, by ids.
struct StepKey {
    std::string paper;
    std::string step;
    auto operator<=>(const StepKey&) const = default;
};

/// Runs steps of recipes one after another as commands of secateur-cli. A command works on a session file of its own,
/// which holds what the open session holds, so that nothing is measured twice. After each step, and when a step was
/// cancelled, the document takes over what the command has measured. What a program that ended unexpectedly has left in
/// the file is taken over with the next step. Lives on the GUI thread.
class GallerySteps : public QObject {
    Q_OBJECT

public:
    /// @param program path of secateur-cli @param folder for the session files, one folder for each model
    GallerySteps(Document* document, JobRunner* jobs, std::vector<GalleryPaper> papers, const QString& program,
                 const QString& folder, QObject* parent = nullptr);

    /// What recipes run on. The model and the session are those of the document.
    void setChoice(SweepSize size, NamedFiles files);
    /// The choice for recipeSteps(): with the model's path and the session file of the commands.
    RecipeChoice choice() const;
    /// Why nothing can be measured, as a sentence; empty = it can.
    QString problem() const;
    const QString& program() const { return m_program; }

    /// Runs steps, behind those that wait already. Steps that wait or run are not added again.
    void run(const std::vector<StepKey>& steps);
    /// Stops the running step and forgets the others. Results so far are kept.
    void stop();

    bool isBusy() const { return m_current.has_value(); }
    bool isRunning(const StepKey& step) const { return m_current == step; }
    bool isWaiting(const StepKey& step) const;
    /// The sentence with which a step ended last; empty = it has not failed.
    QString failure(const StepKey& step) const;
    /// Whether a step was stopped before its end.
    bool isStopped(const StepKey& step) const { return m_stopped.contains(step); }

    // The running step.
    double fraction() const { return m_fraction; }
    double secondsLeft() const { return m_secondsLeft; } ///< negative while unknown
    const QString& text() const { return m_text; }       ///< what the command says it does
    const QString& command() const { return m_command; } ///< as typed in a shell; empty until it runs

signals:
    /// The running step, the waiting steps, or the end of one changed.
    void changed();
    void progressed();

private:
    /// What the job says before it ends.
    struct News {
        QString command;
    };

    std::string sessionFile() const;
    const GalleryPaper* paperOf(const StepKey& step) const;
    void startNext();
    JobRunner::Work work(const StepKey& step);
    void takeOverRest();
    void end(quint64 job, const QString& failure, bool isStopped);
    void forget();

    Document* m_document;
    JobRunner* m_jobs;
    std::vector<GalleryPaper> m_papers;
    QString m_program;
    QString m_folder;
    SweepSize m_size = SweepSize::quick;
    NamedFiles m_files;
    std::deque<StepKey> m_waiting;
    std::optional<StepKey> m_current;
    JobRunner::Id m_job = 0; ///< of the current step; 0 = none
    std::shared_ptr<Mailbox<News>> m_news;
    std::map<StepKey, QString> m_failures;
    std::set<StepKey> m_stopped;
    double m_fraction = 0;
    double m_secondsLeft = -1;
    QString m_text;
    QString m_command;
};

} // namespace secateur
