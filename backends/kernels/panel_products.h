#pragma once

#include "analysis/model/model_spec.h"

#include <cstdint>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// A weight of bfloat16 numbers in panels of 64 outputs, as oneDNN packs it: [panels, paddedIn / 2, 64, 2], padded with
/// zeros.
struct WeightPanels {
    const std::uint16_t* numbers = nullptr;
    std::int64_t in = 0;
    std::int64_t paddedIn = 0; ///< a multiple of 32
    std::int64_t out = 0;
};

// Products with such weights on all threads, only where there are rowProducts() (bfloat16_rows.h). What reads a product
// next is computed while the product is in the cache, so a product that is wider than its input is not written to
// memory and read again. The result for a row depends neither on the number of rows nor on that of threads.

/// result = input weight^T, or result += input weight^T if `adds`.
/// @param input [n, in] bfloat16, contiguous @param result [n, out] float32, contiguous
void multiplyPanels(const WeightPanels& weight, const at::Tensor& input, const at::Tensor& result, bool adds);

/// activateRows() of input weight^T + bias. @param bias [out] float32; null = none @param hidden bfloat16 or float32
void activatePanels(const WeightPanels& weight, const at::Tensor& input, const float* bias, Activation activation,
                    bool gated, const at::Tensor& hidden);

/// crossEntropyRows() of input weight^T + bias. @param bias [out] float32; null = none
void crossEntropyOfPanels(const WeightPanels& weight, const at::Tensor& input, const float* bias,
                          std::span<const int> targets, float softcap, std::span<float> losses,
                          std::span<std::uint8_t> greedy);

} // namespace secateur
