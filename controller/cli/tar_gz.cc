#include "controller/cli/tar_gz.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace lockstep::cli {
namespace {

namespace io = google::protobuf::io;

constexpr size_t kBlock = 512;
constexpr size_t kNameBytes = 100;
constexpr size_t kChecksumAt = 148, kChecksumBytes = 8;

void Put(std::string* header, size_t at, const std::string& text) {
  header->replace(at, text.size(), text);
}

// The header of a regular file (POSIX.1-1988, ustar). Numbers are octal.
std::string Header(const std::string& name, size_t size, int64_t now_s) {
  std::string header(kBlock, '\0');
  Put(&header, 0, name);
  Put(&header, 100, "0000600");
  Put(&header, 108, "0000000");
  Put(&header, 116, "0000000");
  Put(&header, 124, absl::StrFormat("%011o", size));
  Put(&header, 136, absl::StrFormat("%011o", now_s));
  Put(&header, 156, "0");
  Put(&header, 257, "ustar");
  Put(&header, 263, "00");
  // The checksum is made with blanks in its place.
  Put(&header, kChecksumAt, std::string(kChecksumBytes, ' '));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  Put(&header, kChecksumAt, absl::StrFormat("%06o", sum) + std::string("\0 ", 2));
  return header;
}

}  // namespace

absl::StatusOr<std::string> MakeTarGz(const std::string& directory,
                                      const std::vector<PackedFile>& files, int64_t now_s) {
  std::string packed;
  {
    io::StringOutputStream raw(&packed);
    io::GzipOutputStream zipped(&raw);
    {
      io::CodedOutputStream out(&zipped);
      for (const PackedFile& file : files) {
        const std::string name = absl::StrCat(directory, "/", file.path);
        if (name.size() >= kNameBytes) {
          return absl::InvalidArgumentError(absl::StrCat(name, ": too long for a name in a tar"));
        }
        out.WriteString(Header(name, file.content.size(), now_s));
        out.WriteString(file.content);
        out.WriteString(std::string((kBlock - file.content.size() % kBlock) % kBlock, '\0'));
      }
      // Two blocks of zeros end an archive (POSIX.1-1988).
      out.WriteString(std::string(2 * kBlock, '\0'));
    }
    if (!zipped.Close()) return absl::InternalError("the archive could not be compressed");
  }
  return packed;
}

absl::Status WriteNewPrivateFile(const std::string& path, const std::string& content) {
  // O_EXCL follows no link and replaces nothing: whoever may write to the directory cannot choose
  // where the content goes, nor read it.
  const common::FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return common::ErrnoStatus(errno, path);
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t wrote = write(file.get(), content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const absl::Status status = common::ErrnoStatus(errno, path);
      unlink(path.c_str());
      return status;
    }
    done += static_cast<size_t>(wrote);
  }
  return absl::OkStatus();
}

}  // namespace lockstep::cli
