// Command lines in a file.

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontends/sysbench/sysbench.h"

namespace lockstep::frontends::sysbench {
namespace {

constexpr size_t kMaxCommands = 64;

bool IsSysbench(const std::string& word) {
  return word == "sysbench" || absl::EndsWith(word, "/sysbench");
}

// Splits a text as a shell does, as far as quotes, backslashes, comments and ends of lines go.
class Splitter {
 public:
  explicit Splitter(const SourceFile& file) : file_(file), text_(file.text) {}

  Script Split() {
    while (at_ < text_.size() && script_.errors.size() < kMaxErrors) Step();
    EndLine();
    if (quote_ != 0) Fail(quote_line_, "has a quote that does not end");
    return std::move(script_);
  }

 private:
  void Step() {
    const char c = text_[at_++];
    if (c == '\0') return Fail(line_, "has a byte 0");
    // Nothing is special within single quotes, not even a backslash.
    if (quote_ == '\'' && c != '\'') return Add(c);
    if (c == '\\') return Escape();
    if (quote_ != 0 && c == quote_) {
      quote_ = 0;
    } else if (c == '$' || c == '`') {
      Fail(line_,
           absl::StrCat("'", std::string(1, c), "' is the shell's; write what it stands for"));
      EndLine();
      SkipLine();
    } else if (quote_ == 0 && !IsPlain(c)) {
      StepOutsideQuotes(c);
    } else {
      Add(c);
    }
  }

  // Whether a character without quotes is a part of the word that it stands in.
  bool IsPlain(char c) const {
    return !absl::ascii_isspace(static_cast<unsigned char>(c)) &&
           !absl::StrContains("'\";|&<>()*?", c) && (c != '#' || in_word_);
  }

  void StepOutsideQuotes(char c) {
    if (c == '\'' || c == '"') {
      quote_ = c;
      quote_line_ = line_;
      if (!in_word_) word_line_ = line_;
      in_word_ = true;
    } else if (c == '\n') {
      EndLine();
      ++line_;
    } else if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      EndWord();
    } else if (c == '#') {
      SkipLine();
    } else {
      Fail(line_, absl::StrCat("'", std::string(1, c), "' is the shell's; a line is one sysbench"));
      SkipLine();
    }
  }

  void Escape() {
    if (at_ >= text_.size()) return Add('\\');
    const char c = text_[at_++];
    // A backslash before the end of a line joins it with the next one.
    if (c == '\n') {
      ++line_;
      return;
    }
    // In double quotes a backslash stands for itself before most characters.
    if (quote_ == '"' && c != '"' && c != '\\' && c != '$' && c != '`') Add('\\');
    Add(c);
  }

  void Add(char c) {
    if (c == '\n') ++line_;
    if (!in_word_) word_line_ = line_;
    in_word_ = true;
    word_ += c;
  }

  void SkipLine() {
    quote_ = 0;
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void EndWord() {
    if (!in_word_) return;
    words_.push_back({word_, {file_.name, word_line_, word_}});
    word_.clear();
    in_word_ = false;
  }

  void EndLine() {
    EndWord();
    std::vector<Word> words = std::move(words_);
    words_.clear();
    // The line may come from a host on which sysbench needed root. The worker has rights of its
    // own.
    if (!words.empty() && words[0].text == "sudo") words.erase(words.begin());
    if (words.empty()) return;
    if (!IsSysbench(words[0].text)) {
      return Fail(words[0].where.line,
                  absl::StrCat("'", words[0].text,
                               "' is no sysbench; lines are `sysbench [options] fileio "
                               "prepare|run|cleanup`"));
    }
    if (script_.commands.size() >= kMaxCommands) {
      return Fail(words[0].where.line, "is beyond the 64 lines of a job");
    }
    Command command;
    command.where = {file_.name, words[0].where.line, ""};
    command.words.assign(words.begin() + 1, words.end());
    script_.commands.push_back(std::move(command));
  }

  void Fail(int line, const std::string& text) {
    if (script_.errors.size() >= kMaxErrors) return;
    // Further errors of a line mostly follow from its first.
    if (!script_.errors.empty() && script_.errors.back().where.line == line) return;
    script_.errors.push_back({{file_.name, line, ""}, text});
  }

  const SourceFile& file_;
  const std::string& text_;
  Script script_;
  size_t at_ = 0;
  int line_ = 1;
  char quote_ = 0;
  int quote_line_ = 0;
  bool in_word_ = false;
  int word_line_ = 0;
  std::string word_;
  std::vector<Word> words_;
};

}  // namespace

Script ReadScript(const SourceFile& file) { return Splitter(file).Split(); }

bool LooksLikeScript(const std::string& text) {
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    absl::string_view line = absl::StripAsciiWhitespace(rest.substr(0, end));
    rest = end == absl::string_view::npos ? "" : rest.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    if (absl::ConsumePrefix(&line, "sudo")) line = absl::StripLeadingAsciiWhitespace(line);
    return IsSysbench(std::string(line.substr(0, line.find_first_of(" \t\\"))));
  }
  return false;
}

}  // namespace lockstep::frontends::sysbench
