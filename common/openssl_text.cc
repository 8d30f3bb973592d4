#include "common/openssl_text.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace lockstep::common {

int NoPassword(char*, int, int, void*) { return 0; }

absl::Status OpensslError(const std::string& what) {
  char text[256] = {};
  ERR_error_string_n(ERR_peek_last_error(), text, sizeof text);
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", what, ": ", text));
}

}  // namespace lockstep::common
