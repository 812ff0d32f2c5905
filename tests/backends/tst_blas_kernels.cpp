// The kernels that OpenBLAS runs, on processors that it knows and on newer ones.

#include "backends/base/blas_kernels.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <dlfcn.h>

using namespace secateur;

namespace {

/// The name of the kernels that OpenBLAS runs; empty with another BLAS.
QByteArray kernels() {
    using Name = char*();
    auto* name = reinterpret_cast<Name*>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    return {name ? name() : ""};
}

} // namespace

class TestBlasKernels : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (kernels().isEmpty())
            QSKIP("the BLAS is not OpenBLAS");
    }

    void theChoiceOfTheUserIsKept() {
        const QByteArray before = kernels();
        qputenv("OPENBLAS_CORETYPE", "Prescott");
        chooseBlasKernels();
        QCOMPARE(kernels(), before);
        qunsetenv("OPENBLAS_CORETYPE");
    }

    void genericKernelsAreReplaced() {
#ifdef __x86_64__
        if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
            QSKIP("this processor has no AVX2");
#endif
        const QByteArray before = kernels();
        chooseBlasKernels();
        qInfo("before: %s, after: %s", before.constData(), kernels().constData());
        QVERIFY(kernels() != "Prescott");
        QVERIFY(before == "Prescott" || kernels() == before);
    }
};

SECATEUR_SUITE(TestBlasKernels)
#include "tst_blas_kernels.moc"
