#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace secateur::test {

using RunSuite = int (*)(int count, char** values);

/// All suites of this test program. The name of a suite is NAME for the file tst_NAME.cpp.
inline std::map<std::string, RunSuite>& suites() {
    static std::map<std::string, RunSuite> all;
    return all;
}

struct SuiteRegistration {
    SuiteRegistration(const char* file, RunSuite run) {
        const std::string stem = std::filesystem::path(file).stem().string();
        suites().emplace(stem.substr(std::string("tst_").size()), run);
    }
};

} // namespace secateur::test

/// Registers a test class as a suite of its program. One run of the program executes one suite: tests_backends gguf
/// [options]
#define SECATEUR_SUITE(Class)                                                                                           \
    namespace {                                                                                                        \
    const secateur::test::SuiteRegistration registrationOf##Class(__FILE__, [](int count, char** values) {             \
        Class suite;                                                                                                   \
        return QTest::qExec(&suite, count, values);                                                                    \
    });                                                                                                                \
    }
