#pragma once

#include <QList>
#include <QString>

class QAction;

namespace secateur {

class Panels;
class ViewTabs;

/// Gives commands their text for What's This? and the status bar. Texts are rows of a table by the title of the
/// command; commands that have a text already keep it.
void explainCommands(const QList<QAction*>& commands);

/// Says of each view and panel what it is for, and links it to its section of the manual. The actions that show them
/// say the same. @param showViews the actions that show the views, in the order of the tabs
void explainAreas(ViewTabs& views, const QList<QAction*>& showViews, const Panels& panels);

/// The sections of the manual that views and panels are linked to.
QList<QString> linkedSections();

} // namespace secateur
