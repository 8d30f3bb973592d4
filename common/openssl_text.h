#pragma once

#include <openssl/bio.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace lockstep::common {

// Texts that OpenSSL reads and writes: keys, certificates and requests in PEM. For the files that
// call OpenSSL themselves. Thread-safe.

using OpensslMemory = std::unique_ptr<BIO, decltype(&BIO_free)>;

// A memory that reads `text`, which must outlive it. Null if OpenSSL has no memory for it.
inline OpensslMemory ReaderOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// The text that `write` puts into a memory of OpenSSL; empty after an error. `write` returns 1
// after success, as PEM_write_bio_…() does. The memory is wiped, because it may have held a key.
template <typename Write>
std::string WrittenText(const Write& write) {
  const OpensslMemory memory(BIO_new(BIO_s_secmem()), BIO_free);
  if (memory == nullptr || write(memory.get()) != 1) return "";
  char* text = nullptr;
  const auto length = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(length)};
}

// The callback for passwords of PEM_read_bio_…(). Without one, OpenSSL asks on the terminal. Any
// kind of PEM may be encrypted, also a request that another host sends.
int NoPassword(char* buffer, int size, int is_for_writing, void* data);

// INTERNAL, with the error that OpenSSL has last put into its queue of this thread. The queue is
// empty afterwards: an error that stays would explain a later failure.
absl::Status OpensslError(const std::string& what);

}  // namespace lockstep::common
