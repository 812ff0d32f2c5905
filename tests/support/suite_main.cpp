// Runs one suite of a test program: PROGRAM SUITE [options of Qt Test]. Without arguments it lists the suites.

#include "tests/support/suite.h"

#ifdef SECATEUR_TEST_WINDOWS
#include "widgets/window/guarded_application.h"
#else
#include <QCoreApplication>
#endif

#include <cstdio>
#include <memory>
#include <vector>

int main(int count, char** values) {
    const auto& suites = secateur::test::suites();
    const auto found = count > 1 ? suites.find(values[1]) : suites.end();
    if (found == suites.end()) {
        for (const auto& [name, run] : suites)
            std::puts(name.c_str());
        return count > 1 ? 1 : 0;
    }
#ifdef SECATEUR_TEST_WINDOWS
    // In the other suites an exception that leaves a slot ends the program.
    const bool isGuarded = found->first == "guarded_application";
    const std::unique_ptr<QApplication> application(isGuarded ? new secateur::GuardedApplication(count, values)
                                                              : new QApplication(count, values));
#else
    QCoreApplication application(count, values);
#endif
    // Qt stores settings under this name. Every suite has a name of its own, because suites run at the same time.
    QCoreApplication::setApplicationName("tst_" + QString::fromStdString(found->first));
    std::vector<char*> arguments(values, values + count);
    arguments.erase(arguments.begin() + 1);
    return found->second(static_cast<int>(arguments.size()), arguments.data());
}
