#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/frontend.h"

namespace lockstep::frontends::iometer {

// A key, which is a line that begins with ', and the lines that follow up to the next key.
struct Entry {
  std::string key;  // in small letters, without = and blanks at its end
  Origin where;     // the key's line, and the key as it is written
  struct Value {
    std::string text;
    int line = 0;
  };
  std::vector<Value> values;  // without empty lines
};

// The file's entries in their order. Column heads, which begin with ' and a blank, are left out.
std::vector<Entry> ReadEntries(const SourceFile& file, Findings* findings);

}  // namespace lockstep::frontends::iometer
