#pragma once

#include <QObject>
#include <QString>

class QWidget;

namespace secateur {

class Document;
class HeadsView;

/// Reports when the picture of the heads is complete on screen for the first time. The program then logs
/// the time since its launch.
class FirstPicture : public QObject {
    Q_OBJECT

public:
    FirstPicture(const Document* document, HeadsView* view, QObject* parent = nullptr);

signals:
    /// Emitted when the picture was painted. @param resultId the result in the picture
    void shown(const QString& resultId);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void look(const QString& resultId);
    void awaitPaint();

    const Document* m_document;
    HeadsView* m_view;
    QString m_resultId;
    bool m_isComplete = false;
};

} // namespace secateur
