#pragma once

#include "analysis/export/export_target.h"

namespace secateur {

/// For a Hugging Face directory whose configuration lists the cut heads (`pruned_heads`) and whose weights are without
/// them. transformers 4 opens it; tests/python/pruned_heads_facts.py says which heads may be cut. transformers 5 does
/// not read this key.
ExportReasons prunedHeadsReasons;

} // namespace secateur
