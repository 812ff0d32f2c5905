#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace secateur {

// Text and output for signal handlers: nothing here allocates memory or takes a lock.

/// The name of a signal that ends a program, for example "SIGSEGV".
std::string_view signalName(int number);

/// The compiler that built this program, for example "GCC 12.2.0".
std::string_view compilerName();

/// Writes all bytes to an open file. Stops at the first failure.
void writeAll(int file, std::string_view bytes);

enum class TimeForm {
    name,  ///< 20261127-024110
    date,  ///< 2026-11-27 02:41:10
    clock, ///< 02:41:10
};

/// Writes a time in UTC. @param begin room for 20 characters @returns the number of characters
std::size_t writeTime(char* begin, std::time_t time, TimeForm form);

/// A text of at most `most` characters. What does not fit is left out.
template <std::size_t most>
class SignalText {
public:
    SignalText& add(std::string_view text) {
        for (const char character : text)
            if (m_size < most)
                m_characters[m_size++] = character;
            else
                m_isCut = true;
        return *this;
    }
    SignalText& addNumber(std::uint64_t number) { return addDigits(number, 10); }
    SignalText& addHex(std::uint64_t number) { return add("0x").addDigits(number, 16); }
    /// Adds a time in UTC.
    SignalText& addTime(std::time_t time, TimeForm form) {
        std::array<char, 20> written{};
        return add({written.data(), writeTime(written.data(), time, form)});
    }
    void write(int file) const { writeAll(file, view()); }
    std::string_view view() const { return {m_characters.data(), m_size}; }
    bool isCut() const { return m_isCut; }
    /// The text with a null character after it; valid until the text changes.
    char* terminated() {
        m_characters[m_size] = '\0';
        return m_characters.data();
    }

private:
    SignalText& addDigits(std::uint64_t number, unsigned base) {
        std::array<char, 20> digits{};
        std::size_t begin = digits.size();
        do
            digits[--begin] = "0123456789abcdef"[number % base];
        while ((number /= base) > 0);
        return add({digits.data() + begin, digits.size() - begin});
    }

    std::array<char, most + 1> m_characters{};
    std::size_t m_size = 0;
    bool m_isCut = false;
};

} // namespace secateur
