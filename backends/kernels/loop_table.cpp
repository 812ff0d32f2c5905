// The table of the loops for one instruction set. CMake compiles this source and the sources of the loops once for each
// instruction set.

#include "backends/kernels/loop_table.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

extern const VectorLoops loops;
const VectorLoops loops{norm,           rotate,     activate,      sumExponentials, attendBlock,  attendGroup,
                        packKeys,       write,      widen,         innerProducts,   addColumns,   addScaled,
                        sumMagnitudes,  magnitudes, multiplyPanel, multiplyBlocks,  normBackward, activateBackward,
                        attendBackward, lanes,      keysOfPanel};

} // namespace secateur::SECATEUR_INSTRUCTION_SET
