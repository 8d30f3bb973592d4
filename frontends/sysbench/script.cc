// Command lines in a file.

#include <algorithm>
#include <utility>

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

// Commands of a script that do no I/O, and say nothing that a job would need.
bool IsIdle(const std::string& word) { return word == "cd" || word == "set" || word == "echo"; }

// Splits a text as a shell does, as far as quotes, backslashes, comments, ends of lines and
// redirected output go.
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
      // Only the shell knows what it would put there. A guess would measure something else.
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
    } else if (c == ';') {
      EndLine();
    } else if (c == '&' && IsNext('&')) {
      ++at_;
      EndLine();
    } else if (c == '>' || (c == '&' && IsNext('>'))) {
      SkipOutput();
    } else if (c == '|' && !IsNext('|')) {
      SkipPipe();
    } else {
      // Conditions, variables and patterns need a shell, which a translation never runs.
      Fail(line_, absl::StrCat("'", std::string(1, c), "' is the shell's; a line is one sysbench"));
      SkipLine();
    }
  }

  bool IsNext(char c) const { return at_ < text_.size() && text_[at_] == c; }

  // The output into a file: `> file`, `>> file`, `2>&1`, `&> file`.
  void SkipOutput() {
    size_t begin = at_ - 1;
    // Digits right before it name the output: `2>`.
    if (in_word_ && word_.find_first_not_of("0123456789") == std::string::npos) {
      begin -= word_.size();
      word_.clear();
      in_word_ = false;
    }
    while (at_ < text_.size() && absl::StrContains(">&|", text_[at_])) ++at_;
    while (IsNext(' ') || IsNext('\t')) ++at_;
    const size_t name = at_;
    char quote = 0;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (quote == 0 && absl::StrContains(" \t\r;|&<>()", c)) break;
      if (c == '\'' || c == '"') quote = quote == 0 ? c : quote == c ? '\0' : quote;
    }
    if (at_ == name || quote != 0) {
      return Fail(line_, "'>' has no file behind it; a line is one sysbench");
    }
    LeaveOut(begin, line_);
  }

  // A pipe's further commands, up to the end of the line or the next command of its own.
  void SkipPipe() {
    EndWord();
    const size_t begin = at_ - 1;
    const int line = line_;
    char quote = 0;
    if (IsNext('&')) ++at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      // A comment behind the pipe may have the line as it was before, with a `;` in it.
      const bool is_comment =
          c == '#' && absl::ascii_isspace(static_cast<unsigned char>(text_[at_ - 1]));
      if (c == '\\' && quote != '\'') {
        if (++at_ < text_.size() && text_[at_] == '\n') ++line_;
      } else if (c == '\n' || (quote == 0 && (c == ';' || is_comment)) ||
                 (quote == 0 && c == '&' && text_[at_ - 1] != '>')) {
        break;
      } else if (c == '\'' || c == '"') {
        quote = quote == 0 ? c : quote == c ? '\0' : quote;
      }
    }
    at_ = std::min(at_, text_.size());
    if (quote != 0) return Fail(line, "has a quote that does not end");
    LeaveOut(begin, line);
  }

  void LeaveOut(size_t begin, int line) {
    is_redirected_ = true;
    Remark({file_.name, line, text_.substr(begin, at_ - begin)},
           "left out; the run prints its report, and `lockstep report last --format sysbench` "
           "prints it again");
  }

  void Remark(const Origin& where, const std::string& text) {
    constexpr size_t kMaxRemarks = 1000;
    if (script_.remarks.size() < kMaxRemarks) script_.remarks.push_back({where, text});
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
    // A quoted word may have ends of lines in it.
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
    // A vector that was moved from is in an unspecified state.
    words_.clear();
    // The line may come from a host on which sysbench needed root. The worker has rights of its
    // own.
    if (!words.empty() && words[0].text == "sudo") words.erase(words.begin());
    const bool is_redirected = std::exchange(is_redirected_, false);
    if (words.empty()) return;
    // A directory behind the first line would be another one for the lines that follow.
    const bool is_in_place = words[0].text != "cd" || script_.commands.empty();
    if (IsIdle(words[0].text) && !is_redirected && is_in_place) {
      Origin where = words[0].where;
      for (size_t i = 1; i < words.size(); ++i) absl::StrAppend(&where.option, " ", words[i].text);
      Remark(where, words[0].text == "cd" ? "left out; --directory stands in its place"
                                          : "left out; it does no I/O");
      return;
    }
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
  bool is_redirected_ = false;  // the line's output
};

}  // namespace

Script ReadScript(const SourceFile& file) { return Splitter(file).Split(); }

bool LooksLikeScript(const std::string& text) {
  absl::string_view rest = text;
  // A shell's script may do other things first. They are refused one by one, with their lines.
  const bool is_shell =
      absl::StartsWith(text, "#!") && absl::StrContains(text.substr(0, text.find('\n')), "sh");
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    absl::string_view line = absl::StripAsciiWhitespace(rest.substr(0, end));
    rest = end == absl::string_view::npos ? "" : rest.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    if (absl::ConsumePrefix(&line, "sudo")) line = absl::StripLeadingAsciiWhitespace(line);
    // The first command that does something decides. Files of other tools may mention sysbench
    // further down.
    const std::string word(line.substr(0, line.find_first_of(" \t\\")));
    if (IsSysbench(word)) return true;
    if (!is_shell && !IsIdle(word)) return false;
  }
  return false;
}

}  // namespace lockstep::frontends::sysbench
