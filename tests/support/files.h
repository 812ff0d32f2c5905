#pragma once

#include "analysis/base/error.h"

#include <QByteArray>
#include <QFile>
#include <QString>
#include <QTemporaryDir>

#include <stdexcept>
#include <string>
#include <utility>

namespace secateur::test {

/// The bytes of a number in little-endian order.
template <typename T>
QByteArray little(T value) {
    return QByteArray(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The bytes of a file; none if it cannot be read.
inline QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline QByteArray contents(const std::string& path) {
    return contents(QString::fromStdString(path));
}

/// A temporary folder for the files of a test. It is deleted with this object.
class Scratch {
public:
    QString path(const QString& name = {}) const { return name.isEmpty() ? m_folder.path() : m_folder.filePath(name); }

    std::string write(const QString& name, const QByteArray& bytes) const {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
            throw std::runtime_error("cannot write " + file.fileName().toStdString());
        return file.fileName().toStdString();
    }

    /// The message of the Error that `work` throws, with the folder's path removed; "accepted" if it throws none.
    template <typename Work>
    QString refusal(Work work) const {
        try {
            std::forward<Work>(work)();
        } catch (const Error& error) {
            return QString::fromUtf8(error.what()).remove(path() + "/").replace(path(), "FOLDER");
        }
        return "accepted";
    }

private:
    QTemporaryDir m_folder;
};

} // namespace secateur::test
