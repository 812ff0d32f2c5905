// Fuzz target: a row of a task file, read in every format, and the text preprocessing of HellaSwag.

#include "backends/text/task_file.h"
#include "tests/fuzz/fuzz.h"

#include <cstdlib>

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    fuzz::answers([&] {
        const JsonObject row = JsonObject::parse(input, "task.jsonl: line 1");
        detectedFormat(row);
        for (const TaskFormat& format : taskFormats())
            fuzz::answers([&] {
                if (format.kind == TaskKind::classification) {
                    labelledText(row);
                    return;
                }
                const TaskQuestion question = taskQuestion(format.id, row);
                if (question.gold >= question.options.size())
                    std::abort();
            });
    });
    withoutWikiHow(input);
    capitalised(input);
    return 0;
}
