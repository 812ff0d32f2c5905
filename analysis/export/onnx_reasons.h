#pragma once

#include "analysis/export/export_target.h"

namespace secateur {

ExportReasons onnxReasons; ///< for an ONNX file of an encoder such as BERT

} // namespace secateur
