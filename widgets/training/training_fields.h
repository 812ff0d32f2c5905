#pragma once

#include "analysis/training/training_settings.h"

#include <QWidget>

#include <string>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;
class QToolButton;

namespace secateur {

class Document;
class TextCombo;

/// The fields of a training run: recipe, data, duration and, folded, the options that replace those of the recipe.
class TrainingFields : public QWidget {
    Q_OBJECT

public:
    explicit TrainingFields(QWidget* parent = nullptr);

    /// The settings that the fields describe. @throws UsageError
    TrainingSettings settings() const;
    /// The path of the training data; empty = the built-in text.
    std::string data() const;
    /// Writes the fields into the session's view.
    void keep(Document& document) const;
    /// Sets the fields to those of the session's view, or to the usual ones.
    void restore(const Document& document);

signals:
    void changed();

private:
    enum Unit { minutes, steps, epochs };

    void build();
    void addDuration(QFormLayout& form);
    QWidget* options();
    void chooseRecipe(const std::string& id);
    void takeRecipe();
    void setDuration(Unit unit, double amount);
    void takeUnit();

    QComboBox* m_recipe;
    TextCombo* m_data;
    QDoubleSpinBox* m_amount;
    QComboBox* m_unit;
    QToolButton* m_fold;
    QSpinBox* m_rank;
    QDoubleSpinBox* m_rate;
    QSpinBox* m_length;
};

} // namespace secateur
