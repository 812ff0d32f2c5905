#include "analysis/training/training_set.h"

#include <algorithm>

namespace secateur {

std::int64_t TrainingExample::targetCount() const {
    if (label >= 0)
        return 1;
    return std::ranges::count_if(targets, [](int target) { return target >= 0; });
}

} // namespace secateur
