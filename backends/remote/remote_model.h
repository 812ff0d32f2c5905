#pragma once

#include "analysis/model/far_model.h"
#include "analysis/weights/stored_tensors.h"
#include "backends/remote/remote_address.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens a model on a server. The server is a process that lives as long as the model.
/// @throws Error if the server cannot be started, has another version or cannot open the model; Cancelled
std::shared_ptr<const FarModel> openRemoteModel(const RemoteAddress& address, const Progress& progress);

/// A model that has the card and the tokenizer's files of a far model in a folder of this machine, for functions that
/// read files beside the weights. Made at the first call. It has no weights. @throws as FarModel::call()
const Model& localFace(const FarModel& model);

/// The path of a copy of a text of this machine on the server. @throws Error
std::string copiedToServer(const FarModel& model, const std::string& path, const Progress& progress);

/// The tensors of a checkpoint on the server of a model. @param path on the server
std::shared_ptr<const StoredTensors> remoteTensors(const std::shared_ptr<const FarModel>& model,
                                                   const std::string& path, const Progress& progress);

} // namespace secateur
