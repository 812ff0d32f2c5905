#pragma once

#include "analysis/metrics/metric.h"

#include <QWidget>

#include <map>
#include <string>
#include <vector>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTreeWidgetItem;

namespace secateur {

class Document;
class MetricTree;
class TextCombo;

/// Controls for metrics that run the model: the calibration text, the number of tokens, and the choice between the
/// dense model and the current mask.
class MeasuringBox : public QWidget {
    Q_OBJECT

public:
    explicit MeasuringBox(Document* document, QWidget* parent = nullptr);

private:
    void showChoice();
    void choose();

    Document* m_document;
    TextCombo* m_text;
    QSpinBox* m_tokens;
    QComboBox* m_mask;
};

/// The list of all metrics with their state, which a field filters. Variants with other options, and earlier
/// measurements, are rows below their metric. Below the list is a form to measure the current metric with options.
class MetricList : public QWidget {
    Q_OBJECT

public:
    explicit MetricList(Document* document, QWidget* parent = nullptr);

    /// The metric and the options in the form. @throws UsageError if the options are invalid
    MetricRequest request() const;
    /// Moves the focus to the options of the current metric.
    void editOptions();
    /// Makes the row of a result the current one.
    void follow(const QString& resultId);

signals:
    /// Emitted when the user chose a result to show.
    void chosen(const QString& key);
    /// Emitted when the user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    void failed(const QString& message);

private:
    void build();
    void refresh();
    void addRow(const MetricRequest& request, QTreeWidgetItem* parent);
    void updateRow(const QString& resultId);
    void updateMeasurements(const std::string& resultId);
    void showState(QTreeWidgetItem* item, const std::string& key);
    void buildForm(const MetricRequest& request);
    void addOption(const OptionInfo& option, const MetricRequest& request);
    void measure();
    void updateButton();
    void openMenu(const QPoint& position);
    const MetricRequest* currentRequest() const;
    std::string currentKey() const;

    Document* m_document;
    QLineEdit* m_filter;
    MetricTree* m_tree;
    QLabel* m_formTitle;
    QFormLayout* m_form;
    MeasuringBox* m_measuring;
    QPushButton* m_measure;
    std::vector<QWidget*> m_options; ///< widgets of the options; the object name is the option's name
    const MetricInfo* m_formInfo;
    std::map<QString, std::pair<QTreeWidgetItem*, MetricRequest>> m_rows; ///< by key (result_key.h)
};

} // namespace secateur
