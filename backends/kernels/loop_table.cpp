// The table of the loops of one level; this source and those of the loops are compiled once for each.

#include "backends/kernels/loop_table.h"

namespace secateur::SECATEUR_LEVEL {

extern const VectorLoops loops;
const VectorLoops loops{norm,       turn,     activate,      sumExponentials, attendBlock, attendGroup,
                        packKeys,   write,    innerProducts, addColumns,      addScaled,   sumMagnitudes,
                        magnitudes, normBack, activateBack,  attendBack,      lanes,       keysOfPanel};

} // namespace secateur::SECATEUR_LEVEL
