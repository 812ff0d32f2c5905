#pragma once

#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"
#include "widgets/weights/matrix_tile.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <optional>

class QTimer;

namespace secateur {

class MatrixMap;

/// Lets jobs make the tiles that a MatrixMap lacks: a coarse one at once, then the finer one. Another part of the
/// matrix on screen cancels the tile of the part before it. Nothing runs while the map is invisible. Lives on the GUI
/// thread.
class TileRun : public QObject {
    Q_OBJECT

public:
    /// Takes a tile that is not the last one of a request.
    using Sink = std::function<void(MatrixTile)>;
    /// Computes the values of a tile, without colours. Called on a worker thread; throws Error and Cancelled.
    /// @param coarse called with tiles of less detail, where the tile takes long
    using Maker = std::function<MatrixTile(const TileRequest&, const Sink& coarse, const Progress&)>;

    /// @param map gets the tiles, and the reason for a missing picture
    TileRun(MatrixMap* map, JobRunner* jobs, QObject* parent = nullptr);

    /// Shows another matrix, after MatrixMap::setMatrix(). @param title of the jobs @param make null = no picture
    void start(const QString& title, Maker make);
    /// Makes all tiles again, by another maker of the same matrix. The old ones stay on screen until then.
    void restart(Maker make);
    /// Changes the colours. @param isDifference values around zero: a diverging map whatever the scale says
    void setScale(const ColourScale& scale);
    const ColourScale& scale() const { return m_scale; }
    bool isRunning() const { return m_job != 0; }

signals:
    /// The map got a tile, or has a reason for none.
    void shown();
    /// A job begins, or the last one is over.
    void runningChanged(bool isRunning);

private:
    struct Made {
        std::optional<MatrixTile> tile;
    };
    using Incoming = Mailbox<Made>;

    void follow();
    void request();
    void run(const TileRequest& request);
    void takeCoarse();
    void take(MatrixTile tile);
    void onEnded(quint64 job, const QString& message);
    void stop();
    /// Emits runningChanged() if it changed since the last call.
    void announce();

    MatrixMap* m_map;
    JobRunner* m_jobs;
    QTimer* m_pause; ///< until the next request, while the view moves
    QString m_title;
    std::shared_ptr<const Maker> m_make;
    ColourScale m_scale;
    std::optional<ColourRange> m_range; ///< of the tile before
    std::shared_ptr<Incoming> m_incoming;
    JobRunner::Id m_job = 0;
    bool m_wasRunning = false;
    std::optional<TileRequest> m_request; ///< of the job, or of the one that failed
};

} // namespace secateur
