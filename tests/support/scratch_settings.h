#pragma once

#include <QByteArray>
#include <QCoreApplication>
#include <QSettings>
#include <QTemporaryDir>

namespace secateur::test {

/// Settings and state of the program in a temporary folder, in place of the user's, from the creation of this object.
class ScratchSettings {
public:
    ScratchSettings() {
        QCoreApplication::setOrganizationName("secateur");
        QCoreApplication::setApplicationName("secateur");
        qputenv("XDG_STATE_HOME", m_folder.path().toUtf8());
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_folder.path());
    }

    QString path() const { return m_folder.path(); }

private:
    QTemporaryDir m_folder;
};

} // namespace secateur::test
