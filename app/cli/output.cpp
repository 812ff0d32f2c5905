#include "app/cli/output.h"

#include "analysis/base/text.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace secateur::cli {

namespace {

int droppedOutputs = 0; ///< number of DroppedOutput objects
bool dropsErrors = false;
int outputFailure = 0; ///< errno of the first failure of standard output; 0 = none

std::vector<std::string>& writtenFiles() {
    static std::vector<std::string> files;
    return files;
}

/// Writes bytes to a stream. @returns 0, or the reason why they could not be written
int writeTo(std::FILE* stream, std::string_view bytes) noexcept {
    errno = 0;
    if (std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size())
        return 0;
    return errno != 0 ? errno : EIO;
}

/// The sentence about standard output, with the files that were written nevertheless.
std::string outputSentence() {
    std::string text = "secateur-cli: standard output cannot be written: " +
                       (outputFailure == EBADF ? "it is closed" : std::generic_category().message(outputFailure));
    if (!writtenFiles().empty())
        text += ". These files were written: " + join(writtenFiles(), ", ");
    return shownLine(text) + "\n";
}

} // namespace

DroppedOutput::DroppedOutput() {
    ++droppedOutputs;
}

DroppedOutput::~DroppedOutput() {
    --droppedOutputs;
}

void printBytes(std::string_view bytes) {
    if (droppedOutputs > 0)
        return;
    const int failure = writeTo(stdout, bytes);
    if (failure == 0)
        return;
    if (outputFailure == 0)
        outputFailure = failure;
    throw OutputFailure();
}

void printText(std::string_view text) {
    printBytes(shownText(text));
}

void printJson(std::string_view document) {
    printText(std::string(document) + "\n"); // in JSON the escapes of shownText() stand for the same characters
}

void print(const Table& table) {
    printBytes(table.text());
}

void dropAllOutput() {
    ++droppedOutputs;
    dropsErrors = true;
}

bool flushOutput() noexcept {
    errno = 0;
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && outputFailure == 0)
        outputFailure = errno != 0 ? errno : EIO;
    return outputFailure == 0;
}

bool isOnTerminal() {
    return ::isatty(STDOUT_FILENO) != 0;
}

void printError(std::string_view text) noexcept {
    if (!dropsErrors)
        writeTo(stderr, text); // a failure stays in ferror()
}

void noteWritten(const std::string& path) {
    if (std::ranges::find(writtenFiles(), path) == writtenFiles().end())
        writtenFiles().push_back(path);
}

int finishStreams(int status, bool isText) noexcept {
    flushOutput();
    const bool isErrorWritten = std::ferror(stderr) == 0;
    if (outputFailure != 0)
        printError(outputSentence());
    else if (!isErrorWritten && isText) {
        writeTo(stdout, "note: standard error cannot be written, so notes are missing\n");
        flushOutput();
    }
    return status == 0 && (outputFailure != 0 || !isErrorWritten) ? 1 : status;
}

void printNotes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
        printNote("{}", note);
}

} // namespace secateur::cli
