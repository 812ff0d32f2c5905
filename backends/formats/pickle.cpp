#include "backends/formats/pickle.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace secateur {

namespace pickle_opcode {

/// The instructions of pickle protocols 2 to 5 that torch.save writes, and variants of them.
enum PickleOpcode : std::uint8_t {
    mark = '(',
    stop = '.',
    pop = '0',
    popMark = '1',
    duplicate = '2',
    binFloat = 'G',
    binInt = 'J',
    binInt1 = 'K',
    binInt2 = 'M',
    none = 'N',
    newTrue = 0x88,
    newFalse = 0x89,
    long1 = 0x8a,
    long4 = 0x8b,
    binString = 'T',
    shortBinString = 'U',
    binUnicode = 'X',
    shortBinUnicode = 0x8c,
    binUnicode8 = 0x8d,
    binBytes = 'B',
    shortBinBytes = 'C',
    binBytes8 = 0x8e,
    emptyDictionary = '}',
    emptyList = ']',
    emptyTuple = ')',
    dictionary = 'd',
    list = 'l',
    tuple = 't',
    tuple1 = 0x85,
    tuple2 = 0x86,
    tuple3 = 0x87,
    append = 'a',
    appends = 'e',
    setItem = 's',
    setItems = 'u',
    global = 'c',
    stackGlobal = 0x93,
    reduce = 'R',
    build = 'b',
    binPersistentId = 'Q',
    binPut = 'q',
    longBinPut = 'r',
    memoize = 0x94,
    binGet = 'h',
    longBinGet = 'j',
    protocol = 0x80,
    frame = 0x95,
};

} // namespace pickle_opcode

namespace {

using namespace pickle_opcode;
using PickleKind = PickleValue::Kind;
using Index = std::uint32_t;

constexpr std::size_t longestPickle = 256 << 20;
constexpr std::size_t mostKept = 5'000'000; // maximum number of values and references; a tensor needs about eighty
constexpr std::uint8_t newestProtocol = 5;
constexpr std::string_view orderedDictionary = "collections.OrderedDict";
const char* const what = "a pickle";

/// A virtual machine that executes pickles. It has no instructions that import or call anything.
class Machine {
public:
    Machine(std::span<const std::byte> bytes, const std::string& subject, std::span<const std::string_view> globals)
        : m_bytes(bytes.first(std::min(bytes.size(), longestPickle)))
        , m_reader(m_bytes, subject)
        , m_subject(subject)
        , m_globals(globals) {}

    Pickle run() {
        while (step()) {
        }
        m_pickle.top = take();
        m_pickle.length = m_reader.position();
        return std::move(m_pickle);
    }

private:
    /// Executes one instruction. Returns false after the last one.
    bool step();
    bool stepScalar(std::uint8_t opcode);
    bool stepContainer(std::uint8_t opcode);
    bool stepMemo(std::uint8_t opcode);
    bool stepObject(std::uint8_t opcode);

    void add(PickleValue value);
    void addText(PickleKind kind, std::uint64_t length) {
        add({kind, 0, charactersOf(m_reader.take(length, what)), {}});
    }
    void addInteger(std::int64_t number) { add({PickleKind::integer, number, {}, {}}); }
    void addLong(std::uint64_t length);
    void addGlobal(std::string_view module, std::string_view name);
    void addItems(PickleKind kind, std::vector<Index> items) { add({kind, 0, {}, std::move(items)}); }
    void call();

    void push(Index index) {
        account(1);
        m_stack.push_back(index);
    }
    std::size_t floor() const { return m_marks.empty() ? 0 : m_marks.back(); }
    Index take();
    std::vector<Index> take(std::size_t count);
    std::vector<Index> takeToMark();
    /// The value on top of the stack. @throws Error if it has another kind than `kind`
    PickleValue& container(PickleKind kind);
    void extend(PickleKind kind, const std::vector<Index>& items);
    /// Counts values. Limits their number, so that a small pickle cannot expand to huge values. @throws Error above the
    /// limit
    void account(std::size_t count);
    void remember(std::uint64_t place);
    void recall(std::uint64_t place);
    std::string_view line();
    [[noreturn]] void refuse(const std::string& message) const { throw Error(message, m_subject, "It is damaged"); }

    std::span<const std::byte> m_bytes;
    ByteReader m_reader;
    std::string m_subject;
    std::span<const std::string_view> m_globals;
    Pickle m_pickle;
    std::vector<Index> m_stack;
    std::vector<std::size_t> m_marks; ///< size of the stack at each mark
    std::unordered_map<std::uint64_t, Index> m_memo;
    std::size_t m_kept = 0;
};

void Machine::account(std::size_t count) {
    m_kept += count;
    if (m_kept > mostKept)
        throw Error(fmt::format("is a pickle of more than {} values", mostKept), m_subject);
}

void Machine::add(PickleValue value) {
    account(value.items.size());
    m_pickle.values.push_back(std::move(value));
    push(static_cast<Index>(m_pickle.values.size() - 1));
}

void Machine::addLong(std::uint64_t length) {
    const auto bytes = m_reader.take(length, what);
    if (bytes.size() > sizeof(std::int64_t))
        return add({PickleKind::longInteger, 0, charactersOf(bytes), {}});
    // The highest bit of the last byte is the sign.
    const bool isNegative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
    std::int64_t number = isNegative ? -1 : 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    addInteger(number);
}

void Machine::addGlobal(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{}.{}", module, name);
    const auto known = std::ranges::find(m_globals, full);
    if (full == orderedDictionary)
        return add({PickleKind::global, 0, orderedDictionary, {}});
    if (known == m_globals.end())
        throw Error(
            fmt::format("would import {}, which weights do not need", full), m_subject,
            "No code in it was executed; if you trust the file, load it in PyTorch and save only its state_dict()");
    add({PickleKind::global, 0, *known, {}});
}

Index Machine::take() {
    if (m_stack.size() <= floor())
        refuse(fmt::format("takes a value from an empty stack, at byte {}", m_reader.position()));
    const Index index = m_stack.back();
    m_stack.pop_back();
    return index;
}

std::vector<Index> Machine::take(std::size_t count) {
    std::vector<Index> items(count);
    for (std::size_t i = count; i > 0; --i)
        items[i - 1] = take();
    return items;
}

std::vector<Index> Machine::takeToMark() {
    if (m_marks.empty())
        refuse(fmt::format("closes a group that was not opened, at byte {}", m_reader.position()));
    std::vector<Index> items = take(m_stack.size() - m_marks.back());
    m_marks.pop_back();
    return items;
}

PickleValue& Machine::container(PickleKind kind) {
    if (m_stack.size() <= floor() || m_pickle.values[m_stack.back()].kind != kind)
        refuse(fmt::format("adds items to a value that is not a {}, at byte {}",
                           kind == PickleKind::list ? "list" : "dictionary", m_reader.position()));
    return m_pickle.values[m_stack.back()];
}

void Machine::extend(PickleKind kind, const std::vector<Index>& items) {
    if (kind == PickleKind::dictionary && items.size() % 2 != 0)
        refuse(fmt::format("has a key without a value, at byte {}", m_reader.position()));
    account(items.size());
    auto& held = container(kind).items;
    held.insert(held.end(), items.begin(), items.end());
}

void Machine::remember(std::uint64_t place) {
    const Index index = take();
    push(index);
    m_memo[place] = index;
}

void Machine::recall(std::uint64_t place) {
    const auto found = m_memo.find(place);
    if (found == m_memo.end())
        refuse(fmt::format("refers to memo entry {}, which it did not store", place));
    push(found->second);
}

std::string_view Machine::line() {
    const std::string_view rest = charactersOf(m_bytes.subspan(m_reader.position()));
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    m_reader.take(end + 1, what);
    return rest.substr(0, end);
}

/// Executes a call. A call of OrderedDict, without arguments or with a list of pairs, becomes a dictionary. Any other
/// call is kept as a value.
void Machine::call() {
    const Index arguments = take();
    const Index callable = take();
    const auto& values = m_pickle.values;
    if (values[arguments].kind != PickleKind::tuple || values[callable].kind != PickleKind::global)
        refuse(fmt::format("calls a value that is not a function, at byte {}", m_reader.position()));
    if (values[callable].text != orderedDictionary)
        return addItems(PickleKind::call, {callable, arguments});
    std::vector<Index> items;
    if (!values[arguments].items.empty()) {
        const PickleValue& pairs = values[values[arguments].items.front()];
        account(2 * pairs.items.size());
        for (const Index pair : pairs.items) {
            if (pairs.kind != PickleKind::list || values[pair].items.size() != 2)
                refuse("makes an OrderedDict from a value that is not a list of pairs");
            items.insert(items.end(), values[pair].items.begin(), values[pair].items.end());
        }
    }
    addItems(PickleKind::dictionary, std::move(items));
}

bool Machine::stepScalar(std::uint8_t opcode) {
    switch (opcode) {
    case none:
        return add({}), true;
    case newTrue:
    case newFalse:
        return add({PickleKind::boolean, opcode == newTrue, {}, {}}), true;
    case binInt:
        return addInteger(static_cast<std::int32_t>(m_reader.u32(what))), true;
    case binInt1:
        return addInteger(m_reader.u8(what)), true;
    case binInt2:
        return addInteger(m_reader.u16(what)), true;
    case long1:
        return addLong(m_reader.u8(what)), true;
    case long4:
        return addLong(m_reader.u32(what)), true;
    case binFloat:
        m_reader.take(sizeof(double), what);
        return add({PickleKind::real, 0, {}, {}}), true;
    case binUnicode:
    case binString:
        return addText(PickleKind::text, m_reader.u32(what)), true;
    case shortBinUnicode:
    case shortBinString:
        return addText(PickleKind::text, m_reader.u8(what)), true;
    case binUnicode8:
        return addText(PickleKind::text, m_reader.u64(what)), true;
    case binBytes:
        return addText(PickleKind::bytes, m_reader.u32(what)), true;
    case shortBinBytes:
        return addText(PickleKind::bytes, m_reader.u8(what)), true;
    case binBytes8:
        return addText(PickleKind::bytes, m_reader.u64(what)), true;
    default:
        return false;
    }
}

bool Machine::stepContainer(std::uint8_t opcode) {
    switch (opcode) {
    case emptyDictionary:
        return addItems(PickleKind::dictionary, {}), true;
    case emptyList:
        return addItems(PickleKind::list, {}), true;
    case emptyTuple:
        return addItems(PickleKind::tuple, {}), true;
    case dictionary: {
        const std::vector<Index> items = takeToMark();
        addItems(PickleKind::dictionary, {});
        return extend(PickleKind::dictionary, items), true;
    }
    case list:
        return addItems(PickleKind::list, takeToMark()), true;
    case tuple:
        return addItems(PickleKind::tuple, takeToMark()), true;
    case tuple1:
    case tuple2:
    case tuple3:
        return addItems(PickleKind::tuple, take(opcode - tuple1 + 1U)), true;
    case append:
        return extend(PickleKind::list, take(1)), true;
    case appends:
        return extend(PickleKind::list, takeToMark()), true;
    case setItem:
        return extend(PickleKind::dictionary, take(2)), true;
    case setItems:
        return extend(PickleKind::dictionary, takeToMark()), true;
    default:
        return false;
    }
}

bool Machine::stepMemo(std::uint8_t opcode) {
    switch (opcode) {
    case binPut:
        return remember(m_reader.u8(what)), true;
    case longBinPut:
        return remember(m_reader.u32(what)), true;
    case memoize:
        return remember(m_memo.size()), true;
    case binGet:
        return recall(m_reader.u8(what)), true;
    case longBinGet:
        return recall(m_reader.u32(what)), true;
    default:
        return false;
    }
}

bool Machine::stepObject(std::uint8_t opcode) {
    switch (opcode) {
    case global: {
        const std::string_view module = line();
        return addGlobal(module, line()), true;
    }
    case stackGlobal: {
        const std::vector<Index> names = take(2);
        for (const Index name : names) {
            if (m_pickle.values[name].kind != PickleKind::text)
                refuse("imports a global whose name is not text");
        }
        return addGlobal(m_pickle.values[names[0]].text, m_pickle.values[names[1]].text), true;
    }
    case reduce:
        return call(), true;
    case build:
        take();
        push(take());
        return true;
    case binPersistentId:
        return addItems(PickleKind::external, take(1)), true;
    default:
        return false;
    }
}

bool Machine::step() {
    const std::size_t position = m_reader.position();
    const std::uint8_t opcode = m_reader.u8(what);
    switch (opcode) {
    case stop:
        return false;
    case protocol:
        if (const std::uint8_t version = m_reader.u8(what); version > newestProtocol)
            throw Error(
                fmt::format("is a pickle of protocol {}; protocols up to {} are supported", version, newestProtocol),
                m_subject);
        return true;
    case frame: // the length of a frame, which is not needed
        m_reader.u64(what);
        return true;
    case mark:
        account(1);
        m_marks.push_back(m_stack.size());
        return true;
    case pop:
        take();
        return true;
    case popMark:
        takeToMark();
        return true;
    case duplicate:
        push(take());
        push(m_stack.back());
        return true;
    default:
        if (stepScalar(opcode) || stepContainer(opcode) || stepMemo(opcode) || stepObject(opcode))
            return true;
        throw Error(
            fmt::format("has the pickle instruction 0x{:02x} at byte {}, which weights do not need", opcode, position),
            m_subject, "No code in it was executed");
    }
}

} // namespace

Pickle readPickle(std::span<const std::byte> bytes, const std::string& subject,
                  std::span<const std::string_view> globals) {
    return Machine(bytes, subject, globals).run();
}

} // namespace secateur
