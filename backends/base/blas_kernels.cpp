#include "backends/base/blas_kernels.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

namespace secateur {

namespace {

/// A function of the BLAS that was loaded; null if it has none of that name.
template <typename Function>
Function* loaded(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

const char* widestKernels() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return nullptr;
}

} // namespace

void chooseBlasKernels() {
    constexpr const char* variable = "OPENBLAS_CORETYPE";
    auto* coreName = loaded<char*()>("openblas_get_corename");
    auto* forget = loaded<void()>("gotoblas_dynamic_quit");
    auto* choose = loaded<void()>("gotoblas_dynamic_init");
    const char* kernels = widestKernels();
    if (!coreName || !forget || !choose || !kernels || std::getenv(variable) ||
        std::string_view(coreName()) != "Prescott")
        return;
    ::setenv(variable, kernels, 0); // read by the next line; child processes inherit it
    forget();
    choose();
}

} // namespace secateur
