// Products of a few vectors with packed weights and with weights in the blocks of a file, for each instruction set that
// this processor has, against float64.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/formats/quants.h"
#include "backends/kernels/machine_kernels.h"
#include "backends/kernels/packed_matrix.h"
#include "backends/kernels/stored_matrix.h"
#include "backends/kernels/vector_loops.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#include <ATen/Parallel.h>
#endif
#include "tests/support/loop_tests.h"

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace secateur;

namespace {

/// Of a product's error (errorOf()). Each lane sums in order.
constexpr double tolerance = 1e-6;

/// A type of stored numbers, and the places in a block of its float16 numbers.
struct TypeCase {
    const char* name;
    std::vector<int> halves;
};

const std::vector<TypeCase> typeCases = {{"F16", {0}},     {"BF16", {}},     {"Q4_0", {0}}, {"Q4_1", {0, 2}},
                                         {"Q5_0", {0}},    {"Q5_1", {0, 2}}, {"Q8_0", {0}}, {"Q4_K", {0, 2}},
                                         {"Q5_K", {0, 2}}, {"Q6_K", {208}}};

const StorageType& typeNamed(const char* name) {
    std::uint32_t number = 0;
    while (!ggufType(number) || ggufType(number)->name != name)
        ++number;
    return *ggufType(number);
}

/// A tensor of random blocks, and the numbers that they stand for.
class StoredTensor {
public:
    StoredTensor(const TypeCase& which, std::int64_t rows, std::int64_t columns, unsigned seed = 1)
        : m_type(typeNamed(which.name))
        , m_bytes(static_cast<std::size_t>(rows * columns / m_type.elements * m_type.bytes))
        , m_numbers(at::empty({rows, columns}, at::kFloat)) {
        std::mt19937 random(seed);
        std::ranges::generate(m_bytes, [&] { return static_cast<std::byte>(random()); });
        std::normal_distribution<float> normally(0, 0.02F);
        for (std::size_t block = 0; block < m_bytes.size(); block += static_cast<std::size_t>(m_type.bytes)) {
            for (const int place : which.halves) {
                const at::Half scale = normally(random);
                std::memcpy(&m_bytes[block + static_cast<std::size_t>(place)], &scale.x, sizeof scale.x);
            }
            if (which.halves.empty())
                m_bytes[block + 1] &= std::byte{0xbf}; // smaller than 2
        }
        if (m_type.reading == StorageType::Reading::dequantised)
            dequantise(m_type, m_bytes, {m_numbers.data_ptr<float>(), static_cast<std::size_t>(m_numbers.numel())});
        else
            m_numbers.copy_(at::from_blob(m_bytes.data(), m_numbers.sizes(),
                                          std::strcmp(which.name, "F16") == 0 ? at::kHalf : at::kBFloat16));
    }

    StoredMatrix::Part part(std::vector<std::int32_t> rows) const {
        return {*blockTypeNamed(m_type.name), m_bytes.data(), std::move(rows), {}};
    }
    std::vector<std::int32_t> allRows() const {
        std::vector<std::int32_t> rows(static_cast<std::size_t>(m_numbers.size(0)));
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
    }
    const at::Tensor& numbers() const { return m_numbers; }

private:
    const StorageType& m_type;
    std::vector<std::byte> m_bytes;
    at::Tensor m_numbers;
};

at::Tensor product(const StoredMatrix& weight, const at::Tensor& input) {
    at::Tensor result = at::full({input.size(0), weight.out()}, std::numeric_limits<float>::quiet_NaN());
    weight.multiply(input, result, false);
    return result;
}

at::Tensor product(const PackedMatrix& weight, const at::Tensor& input, std::int64_t out) {
    at::Tensor result = at::full({input.size(0), out}, std::numeric_limits<float>::quiet_NaN());
    weight.multiply(input, result, false);
    return result;
}

/// The largest error of a product in float32, relative to the sum of the magnitudes of its terms.
double errorOf(const at::Tensor& result, const at::Tensor& input, const at::Tensor& weight,
               const at::Tensor& before = {}) {
    at::Tensor exact = at::matmul(wide(input), wide(weight).t());
    at::Tensor size = at::matmul(wide(input).abs(), wide(weight).t().abs());
    if (before.defined()) {
        exact = exact + before;
        size = size + before.abs();
    }
    return ((wide(result) - exact).abs() / (size + 1e-30)).nan_to_num(1).max().item<double>();
}

at::Tensor indices(const std::vector<std::int32_t>& rows) {
    return at::tensor(rows, at::kInt).to(at::kLong);
}

void addTypes() {
    addInstructionSets([](const char* instructionSet) {
        for (std::size_t i = 0; i < typeCases.size(); ++i)
            QTest::addRow("%s %s", typeCases[i].name, instructionSet) << QString(instructionSet) << static_cast<int>(i);
    });
}

const TypeCase& typeCase() {
    QFETCH(int, number);
    return typeCases[static_cast<std::size_t>(number)];
}

/// Columns of a few blocks. Rows of types without blocks may end anywhere.
std::vector<std::int64_t> widthsOf(const TypeCase& which) {
    const int block = typeNamed(which.name).elements;
    return block == 1 ? std::vector<std::int64_t>{1, 31, 77, 640} : std::vector<std::int64_t>{block, 3 * block};
}

} // namespace

class TestStoredProducts : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }
    void init() { at::manual_seed(5); }
    void cleanup() {
        at::set_num_threads(2);
        useBestInstructionSet();
    }

    // Products with the unit vectors are the numbers themselves.
    void blocksDecodeToTheNumbersOfDequantise_data() { addTypes(); }
    void blocksDecodeToTheNumbersOfDequantise() {
        useInstructionSet();
        for (const std::int64_t width : widthsOf(typeCase())) {
            const StoredTensor stored(typeCase(), 5, width);
            const StoredMatrix weight({stored.part(stored.allRows())}, width);
            QCOMPARE(weight.in(), width);
            QVERIFY(sameBits(product(weight, at::eye(width)).t().contiguous() + 0.0, stored.numbers() + 0.0));
        }
    }

    void productsEqualFloat64_data() { addTypes(); }
    void productsEqualFloat64() {
        useInstructionSet();
        double error = 0;
        for (const std::int64_t width : widthsOf(typeCase())) {
            for (const int rows : {1, 3, 67}) {
                const StoredTensor stored(typeCase(), rows, width);
                const StoredMatrix weight({stored.part(stored.allRows())}, width);
                for (const int count : {1, 7, 21}) {
                    const at::Tensor input = normal({count, width});
                    error = std::max(error, errorOf(product(weight, input), input, stored.numbers()));
                }
            }
        }
        verify(typeCase().name, error, tolerance);
    }

    void partsMayHaveOtherRowsAndTypes_data() { addTypes(); }
    void partsMayHaveOtherRowsAndTypes() {
        useInstructionSet();
        constexpr std::int64_t width = 512;
        const StoredTensor first(typeCase(), 70, width, 2);
        const StoredTensor second(typeCases[0], 9, width, 3);
        const std::vector<std::int32_t> some{3, 2, 69, 0, 11};
        const StoredMatrix weight({first.part(some), second.part(second.allRows())}, width);
        QCOMPARE(weight.out(), 14);
        const at::Tensor all = at::cat({first.numbers().index_select(0, indices(some)), second.numbers()});
        const at::Tensor input = normal({3, width});
        const at::Tensor before = normal({3, 14});
        const at::Tensor sum = before.clone();
        weight.multiply(input, sum, true);
        verify(typeCase().name, errorOf(sum, input, all, before), tolerance);
    }

    void columnsMayBeLeftOut_data() { addTypes(); }
    void columnsMayBeLeftOut() {
        useInstructionSet();
        const std::int64_t width = 1024;
        const StoredTensor stored(typeCase(), 66, width);
        const std::int64_t whole = StoredMatrix({stored.part(stored.allRows())}, width).bytes();
        for (const std::vector<std::int64_t>& kept :
             {std::vector<std::int64_t>{0}, {1023}, {5, 6, 300, 301, 302}, {511, 512, 900}}) {
            const StoredMatrix weight({stored.part(stored.allRows())}, width, kept);
            QCOMPARE(weight.in(), std::ssize(kept));
            QVERIFY(weight.bytes() < whole);
            const at::Tensor input = normal({4, std::ssize(kept)});
            const at::Tensor numbers = stored.numbers().index_select(1, at::tensor(kept));
            verify(typeCase().name, errorOf(product(weight, input), input, numbers), tolerance);
        }
    }

    void aRowDependsNeitherOnOthersNorOnThreads_data() { addTypes(); }
    void aRowDependsNeitherOnOthersNorOnThreads() {
        useInstructionSet();
        constexpr std::int64_t width = 2304;
        const StoredTensor stored(typeCase(), 300, width);
        const StoredMatrix weight({stored.part(stored.allRows())}, width);
        const at::Tensor input = normal({11, width});
        const at::Tensor together = product(weight, input);
        at::set_num_threads(1);
        for (std::int64_t row = 0; row < input.size(0); ++row)
            QVERIFY(sameBits(product(weight, input.narrow(0, row, 1)), together.narrow(0, row, 1)));
    }

    void fewRowsTimesPackedWeights_data() { addInstructionSets(); }
    void fewRowsTimesPackedWeights() {
        useInstructionSet();
        double error = 0;
        std::vector<at::ScalarType> types{at::kFloat};
        if (multipliesBfloat16()) // the engine refuses bfloat16 elsewhere
            types.push_back(at::kBFloat16);
        for (const at::ScalarType type : types) {
            for (const auto& [in, out] : std::vector<std::pair<int, int>>{
                     {1, 1}, {37, 53}, {64, 64}, {129, 65}, {577, 200}, {1536, 576}, {576, 4160}}) {
                const at::Tensor weights = normal({out, in}, 0.1).to(type);
                const PackedMatrix packed(weights);
                const at::Tensor input = normal({8, in}).to(type);
                const at::Tensor together = product(packed, input, out);
                error = std::max(error, errorOf(together, input, weights));
                at::set_num_threads(1);
                for (std::int64_t row = 0; row < 8; ++row)
                    QVERIFY(sameBits(product(packed, input.narrow(0, row, 1).contiguous(), out),
                                     together.narrow(0, row, 1)));
                at::set_num_threads(2);
            }
        }
        verify("few rows", error, tolerance);
    }

    void unknownTypesStayPacked() {
        QVERIFY(!blockTypeNamed("Q2_K"));
        QVERIFY(!blockTypeNamed("F32"));
    }
};

SECATEUR_SUITE(TestStoredProducts)
#include "tst_stored_products.moc"
