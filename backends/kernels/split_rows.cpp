#include "backends/kernels/split_rows.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__)

#include <immintrin.h>

namespace secateur::avx512 {

const bool areBuilt = true;

namespace {

constexpr std::int64_t lanes = 16;

__mmask16 firstOf(std::int64_t count) {
    return static_cast<__mmask16>(count >= lanes ? 0xffff : (1 << count) - 1);
}

struct Half {
    const std::uint16_t* numbers;

    __m512 at(std::int64_t place, __mmask16 some) const {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(some, numbers + place));
    }
};

struct Single {
    const float* numbers;

    __m512 at(std::int64_t place, __mmask16 some) const { return _mm512_maskz_loadu_ps(some, numbers + place); }
};

/// Sums squares of vectors. A few vectors are summed in float32, and these sums are added in float64.
class Sum {
public:
    void add(__m512 values) { m_some = _mm512_fmadd_ps(values, values, m_some); }
    void keep() {
        m_low = _mm512_add_pd(m_low, _mm512_cvtps_pd(_mm512_castps512_ps256(m_some)));
        m_high = _mm512_add_pd(m_high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(m_some, 1)));
        m_some = _mm512_setzero_ps();
    }
    double all() const { return _mm512_reduce_add_pd(_mm512_add_pd(m_low, m_high)); }

private:
    __m512 m_some = _mm512_setzero_ps();
    __m512d m_low = _mm512_setzero_pd();
    __m512d m_high = _mm512_setzero_pd();
};

__m512 widened(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

__m256i toBfloat16(__m512 values) {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values));
}

template <typename From>
Squares split(const From& from, std::int64_t count, std::uint16_t* high, std::uint16_t* low) {
    constexpr std::int64_t atOnce = 16 * lanes;
    Sum all;
    Sum rounded;
    Sum lost;
    for (std::int64_t begin = 0; begin < count; begin += atOnce) {
        const std::int64_t end = count - begin < atOnce ? count : begin + atOnce;
        for (std::int64_t place = begin; place < end; place += lanes) {
            const __mmask16 some = firstOf(end - place);
            const __m512 values = from.at(place, some);
            const __m256i upper = toBfloat16(values);
            const __m512 whole = widened(upper);
            const __m512 left = _mm512_sub_ps(values, whole);
            all.add(values);
            rounded.add(whole);
            lost.add(left);
            _mm256_mask_storeu_epi16(high + place, some, upper);
            if (low)
                _mm256_mask_storeu_epi16(low + place, some, toBfloat16(left));
        }
        all.keep();
        rounded.keep();
        lost.keep();
    }
    return {all.all(), rounded.all(), lost.all()};
}

} // namespace

Squares splitHalf(const std::uint16_t* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low) {
    return split(Half{from}, count, high, low);
}

Squares splitSingle(const float* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low) {
    return split(Single{from}, count, high, low);
}

} // namespace secateur::avx512

#else

namespace secateur::avx512 {

const bool areBuilt = false;

Squares splitHalf(const std::uint16_t*, std::int64_t, std::uint16_t*, std::uint16_t*) {
    return {};
}
Squares splitSingle(const float*, std::int64_t, std::uint16_t*, std::uint16_t*) {
    return {};
}

} // namespace secateur::avx512

#endif
