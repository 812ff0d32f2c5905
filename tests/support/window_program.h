#pragma once

#include "tests/support/fake_services.h"
#include "widgets/document/document.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/main_window.h"

#include <QAction>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTest>

#include <memory>
#include <string>

namespace secateur::test {

/// The main window with services that keep files in memory.
struct Program {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    std::unique_ptr<MainWindow> window;

    Program() { launch(); }

    void launch() {
        window.reset();
        window = std::make_unique<MainWindow>(&document, &jobs);
        window->show();
    }
    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(40); // long enough for the next frame, in which views show results
    }
    void openModel(int layers = 3) {
        services.addModel(path("small.gguf"), layers);
        window->open(QString::fromStdString(path("small.gguf")));
        settle();
    }
    void openSession() {
        const FakeModel model("/nowhere/small.gguf", 3);
        services.addSession(path("work.h5"), model.card());
        window->open(QString::fromStdString(path("work.h5")));
        settle();
    }

    template <typename Widget>
    Widget* find(const QString& name = {}) const {
        return window->findChild<Widget*>(name);
    }
    /// The action in the menu bar whose text contains `text`, apart from "&" marks; nullptr if there is none.
    QAction* action(const QString& text) const {
        for (const QMenu* menu : window->menuBar()->findChildren<QMenu*>())
            for (QAction* action : menu->actions())
                if (action->text().remove('&').contains(text))
                    return action;
        return nullptr;
    }
    QString allText(const QWidget* widget) const {
        QString text;
        for (const QLabel* label : widget->findChildren<QLabel*>())
            if (label->isVisible())
                text += label->text() + '\n';
        return text;
    }
};

} // namespace secateur::test
