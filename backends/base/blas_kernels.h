#pragma once

namespace secateur {

/// Makes OpenBLAS use the widest kernels of this processor if it has chosen its generic ones (SSE3), as it does for
/// processors that are newer than itself. Has no effect with another BLAS, if
/// OpenBLAS knows the processor, or if OPENBLAS_CORETYPE is set. Call it before any matrix product.
void chooseBlasKernels();

} // namespace secateur
