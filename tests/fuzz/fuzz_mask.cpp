// Fuzz target: the JSON of a mask, for a model with layers of different shapes and for one with tied layers. A mask
// that can be read is written and read again; the result must be equal.

#include "backends/session/mask_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/mask_models.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<ModelSpec> specs{test::raggedSpec(), test::tiedSpec()};
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    for (const ModelSpec& spec : specs) {
        std::string text;
        MaskRecord record;
        fuzz::answers([&] {
            record = parseMask(input, "a.mask.json", spec, "sha256:feed").record;
            text = maskJson(record);
        });
        if (text.empty())
            continue;
        record.mask.checkFits(spec);
        // An Error thrown here counts as a crash.
        const MaskRecord again = parseMask(text, "again.mask.json", spec, "").record;
        if (again != record || maskJson(again) != text || maskDigest(again.mask) != maskDigest(record.mask))
            std::abort();
    }
    return 0;
}
