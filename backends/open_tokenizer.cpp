#include "backends/open_tokenizer.h"

#include "backends/mapped_file.h"
#include "backends/tokenizers/tokenizer_json.h"

namespace secateur {

std::shared_ptr<const Tokenizer> openTokenizer(const std::string& path) {
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    return assemble(readTokenizerJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path));
}

} // namespace secateur
