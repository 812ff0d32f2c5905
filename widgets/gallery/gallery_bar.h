#pragma once

#include "analysis/campaigns/presets.h"

#include <QString>
#include <QWidget>

#include <map>
#include <string>

class QComboBox;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace secateur {

class ElidedLabel;
class GallerySteps;

/// The lines above the gallery: the size of the recipes, the folder with texts and tasks, the button that measures all,
/// and the running command with its progress. Size and folder are kept for the user.
class GalleryBar : public QWidget {
    Q_OBJECT

public:
    explicit GalleryBar(GallerySteps* steps, QWidget* parent = nullptr);

    SweepSize size() const;
    const QString& folder() const { return m_folder; }
    void setFolder(const QString& folder);
    /// Shows which texts and tasks are in the folder.
    void showFiles(const std::map<std::string, std::string>& files);
    /// The button that measures all.
    void setOffer(const QString& text, bool isEnabled);

signals:
    /// The user chose another size or folder.
    void chosen();
    void measureAllWanted();

private:
    void build();
    void chooseFolder();
    void follow();

    GallerySteps* m_steps;
    QString m_folder;
    QComboBox* m_size;
    QToolButton* m_choose;
    ElidedLabel* m_files;
    QPushButton* m_all;
    ElidedLabel* m_running;
    QProgressBar* m_progress;
    QToolButton* m_stop;
};

} // namespace secateur
