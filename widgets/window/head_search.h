#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"

#include <QString>

#include <variant>
#include <vector>

namespace secateur {

/// A layer by its number.
struct LayerPlace {
    int layer = 0;
    bool operator==(const LayerPlace&) const = default;
};

/// Heads and layers that what was typed may mean, likeliest first: "12.3", "L12.H3", "l12h3" and "12 3" are a head,
/// "12" is a layer and its heads, "h3" that head of each layer. What goes on with more digits comes after. Costs no
/// more for a model of many heads.
std::vector<std::variant<HeadId, LayerPlace>> placesFor(const QString& typed, const ModelSpec& spec, std::size_t most);

} // namespace secateur
