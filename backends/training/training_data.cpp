#include "backends/training/training_data.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/tasks/answer_generation.h"
#include "backends/base/json_object.h"
#include "backends/base/sha256.h"
#include "backends/text/task_file.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/training/data_rows.h"
#include "backends/training/label_classes.h"
#include "backends/training/row_templates.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t shortestBlock = 16;

bool isJson(const std::string& path) {
    const fs::path extension = fs::path(path).extension();
    return (extension == ".jsonl" || extension == ".json") && !fs::is_directory(path);
}

/// The format of a row for a decoder.
std::string_view formatOfRow(const JsonObject& row) {
    if (row.has("messages"))
        return "chat";
    return row.has("instruction") && row.has("output") ? "instructions" : "text";
}

/// Sets the targets: each position predicts the next token, if the loss counts that token.
TrainingExample exampleOf(EncodedRow row) {
    TrainingExample example;
    example.targets.assign(row.ids.size(), -1);
    for (std::size_t i = 1; i < row.ids.size(); ++i)
        if (row.isTrained[i])
            example.targets[i - 1] = row.ids[i];
    example.ids = std::move(row.ids);
    return example;
}

/// Reads one file, for one model.
class TrainingDataReader {
public:
    TrainingDataReader(const ModelCard& model, const Tokenizer& tokenizer, TrainingDataRequest request,
                       const Progress& progress)
        : m_model(model)
        , m_tokenizer(tokenizer)
        , m_request(std::move(request))
        , m_progress(progress)
        , m_source(sourceName(m_request.path)) {}

    TrainingSet read() {
        checkRequest();
        if (!m_request.path.empty() && !fs::exists(m_request.path))
            throw Error("does not exist", m_source);
        if (isJson(m_request.path))
            m_rows = jsonRows(m_request.path);
        m_set.source = m_source;
        m_set.warnings = m_tokenizer.card().warnings;
        m_set.format = settledFormat();
        if (m_set.format == "text")
            readTexts();
        else if (m_set.format == "classification")
            readLabels();
        else
            readConversations();
        return finished();
    }

private:
    bool isEncoder() const { return m_model.spec.family == Family::encoder; }
    bool isFull() const { return m_request.mostExamples > 0 && m_set.examples.size() >= m_request.mostExamples; }

    void checkRequest() {
        const int context = m_model.spec.context;
        if (m_request.length < shortestBlock)
            throw UsageError(fmt::format("expected at least {} tokens, found {}", shortestBlock, m_request.length),
                             "length");
        if (!m_request.format.empty() && std::ranges::find(trainingFormats, m_request.format) == trainingFormats.end())
            throw UsageError(fmt::format("is not known; the formats are {}", fmt::join(trainingFormats, ", ")),
                             fmt::format("format {}", m_request.format));
        if (context > 0 && m_request.length > context && isEncoder())
            m_request.length = context;
    }

    std::string settledFormat() const {
        std::string format = m_request.format;
        if (format.empty())
            format = isEncoder() ? "classification" : m_rows.empty() ? "text" : std::string(formatOfFirstRow());
        if (format == "classification" && !isEncoder() && m_model.spec.classes == 0)
            throw Error("has no classes to train: labelled texts are for encoders and classifiers", m_model.path);
        if (format != "classification" && isEncoder())
            throw Error(fmt::format("is an encoder, which cannot be trained on {}", format), m_model.path,
                        "It can be trained on labelled texts");
        if ((format == "chat" || format == "instructions") && m_rows.empty())
            throw Error(fmt::format("is not a .json or .jsonl file, as the format {} needs", format), m_source);
        return format;
    }

    /// The format of the first row that is valid.
    std::string_view formatOfFirstRow() const {
        for (const TextLine& row : m_rows) {
            try {
                return formatOfRow(parsed(row));
            } catch (const Error&) {
                if (!m_request.skipsBrokenRows)
                    throw;
            }
        }
        return "text";
    }

    std::string placeOf(const TextLine& row) const { return fmt::format("{}: line {}", m_source, row.number); }
    JsonObject parsed(const TextLine& row) const { return JsonObject::parse(row.text, placeOf(row)); }

    /// Runs `read` for each row. If its errors are to be skipped, counts them and keeps the first.
    void forEachRow(std::span<const TextLine> rows, const std::function<void(const TextLine&)>& read) {
        for (std::size_t i = 0; i < rows.size() && !isFull(); ++i) {
            m_progress.report(static_cast<double>(i) / static_cast<double>(rows.size()), "reading the training data");
            ++m_rowCount;
            try {
                read(rows[i]);
            } catch (const Error& error) {
                if (!m_request.skipsBrokenRows)
                    throw;
                if (m_broken++ == 0)
                    m_firstBroken = error.what();
            }
        }
    }

    // --- text --------------------------------------------------------------------------------------------------------

    void readTexts() {
        std::vector<std::string> documents;
        if (m_rows.empty())
            documents = readDocuments(m_request.path, m_request.field, m_request.split);
        else
            forEachRow(m_rows,
                       [&](const TextLine& row) { documents.push_back(documentIn(parsed(row), m_request.field)); });
        for (std::size_t i = 0; i < documents.size() && !isFull(); ++i) {
            m_progress.report(static_cast<double>(i) / static_cast<double>(documents.size()), "tokenising");
            if (trimmed(documents[i]).empty())
                ++m_set.skipped;
            else
                addDocument(documents[i], i == 0);
        }
        if (!isFull())
            addLastBlock();
        warnOfEos();
    }

    void addDocument(const std::string& document, bool isFirst) {
        const bool hasBos = m_request.bos != BosRule::firstOnly || isFirst;
        append(beginningTokens(m_tokenizer, hasBos ? m_request.bos : BosRule::never));
        append(m_tokenizer.encode(document, {.addSpecial = false}).ids);
        if (const auto eos = m_tokenizer.card().eos)
            m_stream.push_back(*eos);
        const auto length = static_cast<std::size_t>(m_request.length);
        std::size_t at = 0;
        for (; at + length <= m_stream.size() && !isFull(); at += length)
            addBlock(at, length);
        m_stream.erase(m_stream.begin(), m_stream.begin() + static_cast<std::ptrdiff_t>(at));
    }

    void append(const std::vector<int>& ids) { m_stream.insert(m_stream.end(), ids.begin(), ids.end()); }

    void addBlock(std::size_t at, std::size_t count) {
        const auto begin = m_stream.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        m_set.examples.push_back(exampleOf({{begin, end}, std::vector<bool>(count, true)}));
    }

    void addLastBlock() {
        if (std::ssize(m_stream) >= shortestBlock)
            addBlock(0, m_stream.size());
        else if (!m_stream.empty())
            m_set.warnings.push_back(fmt::format("the last {} of the text are too few for a sequence and were left out",
                                                 counted(m_stream.size(), "token")));
    }

    // --- instructions and chats --------------------------------------------------------------------------------------

    const RowTemplate& settledTemplate() const {
        if (!m_request.templateName.empty())
            return rowTemplate(m_request.templateName);
        if (m_set.format == "instructions")
            return rowTemplate("alpaca");
        if (const RowTemplate* const known = recognisedTemplate(m_tokenizer.card().chatTemplate))
            return *known;
        throw Error(m_tokenizer.card().chatTemplate.empty() ? "has no chat template" : "has an unknown chat template",
                    m_model.path.empty() ? m_source : m_model.path,
                    "Name the template of the chats by --template: " + rowTemplateNames());
    }

    void readConversations() {
        const RowTemplate& row = settledTemplate();
        m_set.templateName = row.name;
        for (const char* const token : row.special)
            if (const auto id = m_tokenizer.id(token); !id || !m_tokenizer.isSpecial(*id))
                m_set.warnings.push_back(fmt::format("the tokenizer has no special token {}, which the template {} "
                                                     "writes: it is encoded as text",
                                                     token, row.name));
        if (row.special.size() == 0)
            warnOfEos();
        const auto messagesOf = m_set.format == "chat" ? chatMessages : instructionMessages;
        forEachRow(m_rows, [&](const TextLine& line) {
            std::vector<ChatMessage> messages = messagesOf(parsed(line));
            try {
                addRow(encodedRow(row.parts(row, std::move(messages), m_tokenizer), m_tokenizer, m_request.bos));
            } catch (const Error& error) {
                throw error.within(placeOf(line));
            }
        });
    }

    void addRow(EncodedRow row) {
        const bool isLong = std::ssize(row.ids) > m_request.length;
        if (isLong) {
            row.ids.resize(static_cast<std::size_t>(m_request.length));
            row.isTrained.resize(row.ids.size());
        }
        TrainingExample example = exampleOf(std::move(row));
        if (example.targetCount() == 0) {
            ++m_untrained;
            return;
        }
        m_set.truncated += isLong ? 1 : 0;
        m_set.examples.push_back(std::move(example));
    }

    void warnOfEos() {
        if (!m_tokenizer.card().eos)
            m_set.warnings.push_back("the tokenizer has no EOS token: the ends of documents and answers have none");
    }

    // --- classification ----------------------------------------------------------------------------------------------

    LabelledText labelledRow(const TextLine& row) const {
        LabelledText text;
        if (m_rows.empty()) {
            LabelledLine line = labelledLine(row.text, placeOf(row));
            text.text = std::move(line.text);
            text.label = std::move(line.label);
        } else {
            text = labelledText(parsed(row));
        }
        text.line = row.number;
        return text;
    }

    void readLabels() {
        std::vector<LabelledText> texts;
        const std::vector<TextLine> lines =
            m_rows.empty() ? nonBlankLines(readTextFile(m_request.path)) : std::vector<TextLine>();
        forEachRow(m_rows.empty() ? lines : m_rows, [&](const TextLine& row) { texts.push_back(labelledRow(row)); });
        m_classes = classesOf(texts, m_model);
        m_set.classes = m_classes.names;
        if (m_classes.isUnlikeModel)
            m_set.warnings.push_back("the labels are not the classes of the model's classifier");
        for (std::size_t i = 0; i < texts.size() && !isFull(); ++i) {
            m_progress.report(static_cast<double>(i) / static_cast<double>(texts.size()), "tokenising");
            addLabelled(texts[i]);
        }
    }

    void addLabelled(const LabelledText& text) {
        const auto length = static_cast<std::size_t>(m_request.length);
        Encoding encoding = cutEncoding(text, m_tokenizer, 0);
        if (encoding.ids.size() > length) {
            ++m_set.truncated;
            encoding = cutEncoding(text, m_tokenizer, length);
        }
        TrainingExample example;
        example.ids = std::move(encoding.ids);
        example.types = std::move(encoding.types);
        example.label = m_classes.indexOf(text);
        m_set.examples.push_back(std::move(example));
    }

    // -----------------------------------------------------------------------------------------------------------------

    TrainingSet finished() {
        m_set.skipped += m_broken + m_untrained;
        const auto rows = grouped(static_cast<std::uint64_t>(m_rowCount));
        if (m_set.truncated > 0)
            m_set.warnings.push_back(fmt::format("{} of {} rows were longer than {} tokens and were cut",
                                                 grouped(static_cast<std::uint64_t>(m_set.truncated)), rows,
                                                 grouped(static_cast<std::uint64_t>(m_request.length))));
        if (m_untrained > 0)
            m_set.warnings.push_back(fmt::format("{} of {} rows have no answer within {} tokens and were left out",
                                                 grouped(static_cast<std::uint64_t>(m_untrained)), rows,
                                                 grouped(static_cast<std::uint64_t>(m_request.length))));
        if (m_broken > 0)
            m_set.warnings.push_back(fmt::format("{} of {} rows are invalid and were left out; the first: {}",
                                                 grouped(static_cast<std::uint64_t>(m_broken)), rows, m_firstBroken));
        if (m_set.examples.empty())
            throw Error(m_broken > 0 ? "holds nothing to train on; the first invalid row: " + m_firstBroken
                                     : "holds nothing to train on",
                        m_source);
        warnOfContext();
        for (const TrainingExample& example : m_set.examples) {
            m_set.tokens += std::ssize(example.ids);
            m_set.targets += example.targetCount();
        }
        m_set.digest = dataDigest(m_set);
        spdlog::info("{} sequences of {} tokens to train on", m_set.examples.size(), m_set.tokens);
        return std::move(m_set);
    }

    void warnOfContext() {
        std::size_t longest = 0;
        for (const TrainingExample& example : m_set.examples)
            longest = std::max(longest, example.ids.size());
        const int context = m_model.spec.context;
        if (context > 0 && longest > static_cast<std::size_t>(context))
            m_set.warnings.push_back(
                fmt::format("sequences of {} tokens are longer than the model's context of {}", longest, context));
    }

    const ModelCard& m_model;
    const Tokenizer& m_tokenizer;
    TrainingDataRequest m_request;
    const Progress& m_progress;
    std::string m_source;
    std::vector<TextLine> m_rows; ///< rows of a JSON file
    TrainingSet m_set;
    std::vector<int> m_stream; ///< tokens of text that are not in a block yet
    LabelClasses m_classes;
    std::int64_t m_rowCount = 0;
    std::int64_t m_untrained = 0; ///< rows without a target
    std::int64_t m_broken = 0;    ///< invalid rows
    std::string m_firstBroken;
};

} // namespace

TrainingSet readTrainingSet(const Model& model, const TrainingDataRequest& request, const Progress& progress) {
    return readTrainingSet(model.card(), *openTokenizer(model.card()), request, progress);
}

TrainingSet readTrainingSet(const ModelCard& model, const Tokenizer& tokenizer, const TrainingDataRequest& request,
                            const Progress& progress) {
    try {
        return TrainingDataReader(model, tokenizer, request, progress).read();
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? request.path : error.path1().string());
    }
}

std::string dataDigest(const TrainingSet& set) {
    Sha256 sum;
    const auto add = [&](const std::vector<int>& numbers) {
        sum.add(static_cast<std::int64_t>(numbers.size()));
        for (const int number : numbers)
            sum.add(std::int64_t{number});
    };
    sum.add(static_cast<std::int64_t>(set.examples.size()));
    for (const TrainingExample& example : set.examples) {
        add(example.ids);
        add(example.targets);
        sum.add(std::int64_t{example.label});
    }
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
