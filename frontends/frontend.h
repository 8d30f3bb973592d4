#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace lockstep::frontends {

// Other tools' job files become jobs of Lockstep. Everything in this directory is pure: text in; a
// job, remarks and errors out. A translated job is judged like any other one: nothing in a file of
// another tool gives consent to overwrite anything.

// A file, or several that the tool would be given together.
struct SourceFile {
  std::string name;  // as messages name it
  std::string text;
};

// Facts and flags that the translation gets beside the files.
struct Request {
  std::vector<SourceFile> files;
  // How many hosts take part (`4`), or their names (`node[1-8],db1`). Empty: as the file says, else
  // one.
  std::string hosts;
  std::string directory;  // in place of the tool's working directory; absolute
  std::string target;     // the file or device of jobs that name none
  // Paths that replace the disks that the file names, by the disk's name.
  std::map<std::string, std::string> disks;
  // The text of a file that another one includes; nothing if it cannot be read. Null: includes are
  // refused.
  std::function<std::optional<std::string>(const std::string& path)> read_included;
  // An environment variable; nothing if it is not set. Null: no variable is set.
  std::function<std::optional<std::string>(const std::string& name)> find_variable;
  // The size of a file of the machine where the translation is asked for; nothing if there is none.
  // Null: no file is there. For tools that take the size of a file from the file.
  std::function<std::optional<int64_t>(const std::string& path)> find_size;
  // Facts of the machine that a file may name, such as fio's `pagesize`, `mb_memory`, `ncpus`.
  std::map<std::string, std::string> machine;
};

// A place in a source file, and the option that stands there as it was written. Line 0: no line of
// a file, but a default of the tool or a flag of the command.
struct Origin {
  std::string file;
  int line = 0;
  std::string option;
};

// A sentence about an option.
struct Message {
  Origin where;
  std::string text;
};

// "mixed.fio:14: startdelay=5: …", safe to show.
std::string MessageText(const Message& message);

struct Translation {
  v1::JobSpec job;                        // of use if there are no errors
  std::map<std::string, Origin> origins;  // of its fields, by path: phases[0].run.duration
  std::vector<Message> remarks;           // where the meaning differs
  std::vector<Message> errors;            // what is wrong, or cannot be expressed; at most 20
  std::set<std::string> disks;            // names under which the request's disks are looked up
};

// The parts of a request, beside files and hosts, that mean something to a language.
struct Takes {
  bool directory = false, target = false, disks = false;
};

// A language that jobs are translated from.
struct FrontEnd {
  const char* name = "";  // as --language has it
  // Whether the file, by its name or its content, is of this language.
  bool (*recognizes)(const SourceFile& file) = nullptr;
  Translation (*translate)(const Request& request) = nullptr;
  Takes takes;
};

// Registers a front end. A file with one defines a constant of this type, and linking the file is
// enough.
class RegisterFrontEnd {
 public:
  explicit RegisterFrontEnd(const FrontEnd& front_end);
};

// Translates the request. A directory, target or disk that the language has no use for is an error:
// the load would run somewhere else than the caller named.
Translation Translate(const FrontEnd& front_end, const Request& request);

// All registered front ends, by name.
std::vector<FrontEnd> FrontEnds();
// The one that recognizes the file. Files with a suffix of YAML are jobs of Lockstep already.
std::optional<FrontEnd> FindFrontEnd(const SourceFile& file);

// The hosts that --hosts, or a comment in a file, names.
struct Hosts {
  v1::HostSelector selector;
  uint32_t count = 1;
};
// Nothing, if the text is neither a number from 1 to 10,000 nor names.
std::optional<Hosts> ParseHosts(absl::string_view text);

// A job file with a comment beside each line that came from the tool's file.
struct JobText {
  std::string yaml;
  // The job that `yaml` says, as a reader of job files would have it: shares and rates are written
  // with some ten digits.
  v1::JobSpec job;
  std::map<std::string, int> lines;  // of field paths: phases[0].run.duration
  std::map<int, Origin> origins;     // by line, from 1
};
JobText WriteJob(const Translation& translation, const std::string& source);
// The comments that this job begins with, without their marks: the name of the source, and the
// remarks.
std::vector<std::string> CommentsOf(const Translation& translation, const std::string& source);
// With these comments in front.
JobText WriteJob(const Translation& translation, const std::vector<std::string>& comments);

}  // namespace lockstep::frontends
