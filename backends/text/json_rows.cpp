#include "backends/text/json_rows.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

/// Divides the text of a JSON list into the texts of its elements.
class ListDivider {
public:
    ListDivider(std::string_view content, std::string path)
        : m_content(content)
        , m_path(std::move(path)) {}

    std::vector<TextLine> elements() {
        while (m_content[m_at] != '[')
            step();
        for (step(); m_at < m_content.size(); step()) {
            const char c = m_content[m_at];
            if (m_depth == 0 && (c == ',' || c == ']')) {
                const bool isLast = c == ']';
                add(isLast);
                if (isLast)
                    return finished();
            } else if (!m_isInText && whiteSpaceAt(m_content, m_at) > 0) {
                continue;
            } else {
                read(c);
            }
        }
        throw Error("ends inside of the list of rows", m_path, "The file is incomplete");
    }

private:
    void step() {
        if (m_content[m_at] == '\n')
            ++m_line;
        ++m_at;
    }

    void read(char c) {
        if (m_begin == std::string_view::npos) {
            m_begin = m_at;
            m_beginLine = m_line;
        }
        if (m_isInText) {
            if (c == '"')
                leave();
            else if (c == '\\' && m_at + 1 < m_content.size())
                step();
        } else if (c == '"') {
            m_isInText = true;
            ++m_depth;
        } else if (c == '{' || c == '[') {
            ++m_depth;
        } else if ((c == '}' || c == ']') && m_depth > 0) {
            --m_depth;
        }
    }

    void leave() {
        m_isInText = false;
        --m_depth;
    }

    void add(bool isLast) {
        if (m_begin != std::string_view::npos)
            m_rows.push_back({m_beginLine, std::string(m_content.substr(m_begin, m_at - m_begin))});
        else if (!isLast || !m_rows.empty())
            throw Error("has an empty element in the list of rows", fmt::format("{}: line {}", m_path, m_line));
        m_begin = std::string_view::npos;
    }

    std::vector<TextLine> finished() {
        if (!trimmed(m_content.substr(m_at + 1)).empty())
            throw Error("goes on after the end of the list of rows", fmt::format("{}: line {}", m_path, m_line));
        return std::move(m_rows);
    }

    std::string_view m_content;
    std::string m_path;
    std::size_t m_at = 0;
    std::size_t m_line = 1;
    std::size_t m_depth = 0; ///< open brackets and quotation marks inside of the list
    bool m_isInText = false;
    std::size_t m_begin = std::string_view::npos; ///< beginning of the current element
    std::size_t m_beginLine = 0;
    std::vector<TextLine> m_rows;
};

} // namespace

std::vector<TextLine> jsonRows(const std::string& path) {
    const std::string content = readTextFile(path);
    std::vector<TextLine> rows =
        trimmed(content).starts_with('[') ? ListDivider(content, path).elements() : nonBlankLines(content);
    if (rows.empty())
        throw Error("holds no rows", path);
    return rows;
}

} // namespace secateur
