#pragma once

#include <map>
#include <string>

#include "web/http.h"

namespace lockstep::web {

// The page's own files, compressed when it was built. Scripts and styles have their content's hash
// in their names, so browsers keep them for good. The page itself, which names them, is requested
// again each time. Immutable once made.
class Assets {
 public:
  Assets();
  // Nothing where the path is none of them.
  std::optional<Answer> Find(const Request& request) const;

 private:
  struct Asset {
    std::shared_ptr<const std::string> plain, compressed;  // the latter may be null
    std::string type, tag;
    bool immutable = false;
  };
  std::map<std::string, Asset> assets_;
};

}  // namespace lockstep::web
