// A file system in memory that fails as it is told: what real devices do and cannot be made to do
// on demand.
//
//   faultfs -f MOUNTPOINT
//
// The file .fault says what fails; writing to it takes effect at once. A line each: `OPERATION
// FAULT [EVERY]`, with operation read, write or fsync, and fault an errno's name, `hang` (until
// .fault changes), `short` (half of what was asked), `stall` (200 ms), `slow` (20 ms), `flip` (a
// read with one bit changed), `old` (a read of what was there before the last write), or a write
// that is acknowledged and forgotten (`drop`), of which only the first half arrives (`tear`), that
// goes to the place behind its own (`misdirect`), or changes places with the write before it
// (`swap`). With EVERY, only every EVERY-th I/O of at least 4 KiB fails. The file .lies has a line
// for each lie: what it was, and the offset of the I/O.

#define FUSE_USE_VERSION 35
#include <fuse.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace {

struct Fault {
  std::string what;
  unsigned every = 1;
  unsigned seen = 0;
};

struct Node {
  bool directory = false;
  mode_t mode = 0;
  std::string bytes;
  std::map<off_t, std::string> before;  // of places that were written, where reads may lie
  off_t last = 0;                       // where the last write went
  size_t last_size = 0;
};

std::mutex mutex;
std::condition_variable changed;
// guarded by mutex
std::map<std::string, Node> nodes = {
    {"/", {true, 0777, ""}}, {"/.fault", {false, 0666, ""}}, {"/.lies", {false, 0666, ""}}};
// guarded by mutex
std::map<std::string, Fault> faults;
// guarded by mutex
unsigned faults_version = 0;
constexpr size_t kSmallest = 4096;  // smaller I/Os, as of marks, never fail

int ErrnoOf(const std::string& name) {
  const std::map<std::string, int> known = {{"EIO", EIO},       {"ENOSPC", ENOSPC},
                                            {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
                                            {"ENODEV", ENODEV}, {"ETIMEDOUT", ETIMEDOUT}};
  const auto found = known.find(name);
  return found == known.end() ? 0 : found->second;
}

void ReadFaults(const std::string& text) {
  faults.clear();
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string operation;
    Fault fault;
    if (!(words >> operation >> fault.what)) continue;
    words >> fault.every;
    faults[operation] = fault;
  }
  ++faults_version;
  changed.notify_all();
}

// The fault that hits this operation, or nothing. Returns with the lock held.
std::string Hit(const char* operation, size_t size, std::unique_lock<std::mutex>* lock) {
  const auto found = faults.find(operation);
  if (found == faults.end() || size < kSmallest ||
      ++found->second.seen % found->second.every != 0) {
    return "";
  }
  const std::string what = found->second.what;
  if (what == "hang") {
    const unsigned version = faults_version;
    changed.wait(*lock, [version] { return faults_version != version; });
    return "";
  }
  if (what == "stall" || what == "slow") {
    lock->unlock();
    usleep(what == "stall" ? 200000 : 20000);
    lock->lock();
    return "";
  }
  return what;
}

// With the lock held.
void Note(const std::string& lie, off_t offset) {
  nodes["/.lies"].bytes += lie + " " + std::to_string(offset) + "\n";
}

int GetAttr(const char* path, struct stat* facts, fuse_file_info*) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = nodes.find(path);
  if (found == nodes.end()) return -ENOENT;
  memset(facts, 0, sizeof *facts);
  facts->st_mode = (found->second.directory ? S_IFDIR : S_IFREG) | found->second.mode;
  facts->st_nlink = 1;
  facts->st_size = static_cast<off_t>(found->second.bytes.size());
  facts->st_blocks = facts->st_size / 512;
  facts->st_uid = geteuid();
  facts->st_ino = std::hash<std::string>()(found->first);
  return 0;
}

int ReadDir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
            fuse_readdir_flags) {
  std::lock_guard<std::mutex> lock(mutex);
  const std::string prefix = std::string(path) == "/" ? "/" : std::string(path) + "/";
  for (const auto& [name, node] : nodes) {
    if (name.size() > prefix.size() && name.rfind(prefix, 0) == 0 &&
        name.find('/', prefix.size()) == std::string::npos) {
      fill(buffer, name.c_str() + prefix.size(), nullptr, 0, static_cast<fuse_fill_dir_flags>(0));
    }
  }
  return 0;
}

int Add(const char* path, bool directory, mode_t mode) {
  std::lock_guard<std::mutex> lock(mutex);
  return nodes.emplace(path, Node{directory, mode & 07777, ""}).second ? 0 : -EEXIST;
}

int MakeDirectory(const char* path, mode_t mode) { return Add(path, /*directory=*/true, mode); }
int Create(const char* path, mode_t mode, fuse_file_info* info) {
  info->direct_io = 1;
  return Add(path, /*directory=*/false, mode);
}

int Remove(const char* path) {
  std::lock_guard<std::mutex> lock(mutex);
  return nodes.erase(path) == 1 ? 0 : -ENOENT;
}

int Open(const char* path, fuse_file_info* info) {
  std::lock_guard<std::mutex> lock(mutex);
  info->direct_io = 1;  // every read and write comes here
  return nodes.count(path) == 1 ? 0 : -ENOENT;
}

int Truncate(const char* path, off_t size, fuse_file_info*) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = nodes.find(path);
  if (found == nodes.end()) return -ENOENT;
  found->second.bytes.resize(static_cast<size_t>(size));
  return 0;
}

int Read(const char* path, char* buffer, size_t size, off_t offset, fuse_file_info*) {
  std::unique_lock<std::mutex> lock(mutex);
  const std::string fault = Hit("read", size, &lock);
  if (const int error = ErrnoOf(fault)) return -error;
  if (fault == "short") size /= 2;
  const auto found = nodes.find(path);
  if (found == nodes.end()) return -ENOENT;
  const std::string& bytes = found->second.bytes;
  if (static_cast<size_t>(offset) >= bytes.size()) return 0;
  size = std::min(size, bytes.size() - static_cast<size_t>(offset));
  memcpy(buffer, bytes.data() + offset, size);
  if (fault == "flip") {
    buffer[size / 2] = static_cast<char>(buffer[size / 2] ^ 1);
    Note(fault, offset);
  }
  const auto before = found->second.before.find(offset);
  if (fault == "old" && before != found->second.before.end() && before->second.size() == size) {
    memcpy(buffer, before->second.data(), size);
    Note(fault, offset);
  }
  return static_cast<int>(size);
}

int Write(const char* path, const char* buffer, size_t size, off_t offset, fuse_file_info*) {
  std::unique_lock<std::mutex> lock(mutex);
  if (std::string(path) == "/.fault") {
    ReadFaults(std::string(buffer, size));
    return static_cast<int>(size);
  }
  const std::string fault = Hit("write", size, &lock);
  if (const int error = ErrnoOf(fault)) return -error;
  if (fault == "drop") {
    Note(fault, offset);
    return static_cast<int>(size);
  }
  if (fault == "short") size /= 2;
  const auto found = nodes.find(path);
  if (found == nodes.end()) return -ENOENT;
  Node& node = found->second;
  const size_t acknowledged = size;
  if (fault == "tear") {
    Note(fault, offset);
    size /= 2;
  }
  off_t at = offset;
  if (fault == "misdirect") {
    Note(fault, offset);
    at += static_cast<off_t>(size);
  }
  const bool swaps = fault == "swap" && node.last_size == size && node.last != offset;
  std::string& bytes = node.bytes;
  if (bytes.size() < static_cast<size_t>(at) + size) {
    if (fault == "misdirect") return static_cast<int>(acknowledged);  // beyond the end: lost
    bytes.resize(static_cast<size_t>(at) + size);
  }
  if (faults.contains("read") && faults["read"].what == "old" && size >= kSmallest) {
    node.before[at] = bytes.substr(static_cast<size_t>(at), size);
  }
  if (swaps) {
    Note(fault, offset);
    Note(fault, node.last);
    memcpy(bytes.data() + at, bytes.data() + node.last, size);
    at = node.last;
  }
  memcpy(bytes.data() + at, buffer, size);
  node.last = offset;
  node.last_size = size;
  return static_cast<int>(acknowledged);
}

int Fsync(const char*, int, fuse_file_info*) {
  std::unique_lock<std::mutex> lock(mutex);
  return -ErrnoOf(Hit("fsync", kSmallest, &lock));
}

int StatFs(const char*, struct statvfs* facts) {
  memset(facts, 0, sizeof *facts);
  facts->f_bsize = facts->f_frsize = 4096;
  facts->f_blocks = facts->f_bfree = facts->f_bavail = 1 << 18;
  facts->f_namemax = 255;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  fuse_operations operations = {};
  operations.getattr = GetAttr;
  operations.readdir = ReadDir;
  operations.mkdir = MakeDirectory;
  operations.create = Create;
  operations.unlink = Remove;
  operations.rmdir = Remove;
  operations.open = Open;
  operations.truncate = Truncate;
  operations.read = Read;
  operations.write = Write;
  operations.fsync = Fsync;
  operations.statfs = StatFs;
  return fuse_main(argc, argv, &operations, nullptr);
}
