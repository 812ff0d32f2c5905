#pragma once

#include <QWidget>

#include <string>
#include <vector>

class QLabel;
class QPushButton;

namespace secateur {

class Document;

/// The page of a view that has nothing to show: a sentence that says what to do, and a button that does it.
class EmptyPage : public QWidget {
    Q_OBJECT

public:
    explicit EmptyPage(QWidget* parent = nullptr);

    /// @param action text of the button; empty = no button
    void say(const QString& sentence, const QString& action = {});
    QString sentence() const;
    QPushButton* button() const { return m_button; }

signals:
    /// The button was clicked.
    void wanted();

private:
    QLabel* m_sentence;
    QPushButton* m_button;
};

/// The page of a view whose results are not measured. The button measures them.
class UnmeasuredPage : public EmptyPage {
    Q_OBJECT

public:
    explicit UnmeasuredPage(Document* document, QWidget* parent = nullptr);

    /// Whether a view should show this page instead of an empty picture: a result is missing, and the model can measure
    /// it. False while metrics of the weights are measured, which does not take long.
    bool isNeeded(const std::vector<std::string>& keys);
    /// Names the results that are missing, or says that they are being measured. @param keys of the results that the
    /// view would show
    void name(const std::vector<std::string>& keys);

private:
    bool isMeasuring() const;
    void measure();

    Document* m_document;
    std::vector<std::string> m_keys;
};

} // namespace secateur
