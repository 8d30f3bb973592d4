#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "web/http.h"

namespace lockstep::web {

// The text as gzip (RFC 1952); `level` from 1, the fastest, to 9, the smallest.
std::string Gzip(absl::string_view text, int level);

// Whether a request's Accept-Encoding takes gzip.
bool AcceptsGzip(absl::string_view accept_encoding);

// The answer with a compressed body where that makes it smaller. Only for readers that take gzip.
Answer Compressed(Answer answer);

}  // namespace lockstep::web
