// The shortest loops over the system calls that an engine uses, which measure nothing: what the
// kernel alone allows.
//
//   raw uring|nop|libaio|sync PATH read|write DEPTH BATCH WAIT BLOCK SIZE SECONDS DIRECT [plain]
//
// Random offsets below SIZE; prints one line of JSON: I/Os per second, and user and system
// nanoseconds per I/O.

#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

struct Work {
  std::string engine;
  int file = -1;
  bool write = false;
  unsigned depth = 1, batch = 1, wait = 1;
  uint64_t block = 4096, blocks = 1;
  double seconds = 1;
  bool plain = false;
  char* buffers = nullptr;
};

uint64_t state = 88172645463325252u;

uint64_t NextBlock(uint64_t blocks) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(state) * blocks) >> 64);
}

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void Check(bool good, const char* what) {
  if (good) return;
  perror(what);
  _exit(1);
}

uint64_t RunUring(const Work& w, double end) {
  io_uring ring;
  const unsigned flags = w.plain ? 0 : IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  Check(io_uring_queue_init(w.depth, &ring, flags) == 0, "io_uring_queue_init");
  const bool nop = w.engine == "nop";
  bool registered = false;
  if (!nop) {
    std::vector<iovec> vectors;
    for (unsigned i = 0; i < w.depth; ++i) vectors.push_back({w.buffers + i * w.block, w.block});
    registered = io_uring_register_buffers(&ring, vectors.data(), w.depth) == 0;
    Check(io_uring_register_files(&ring, &w.file, 1) == 0, "io_uring_register_files");
  }
  std::vector<unsigned> free;
  for (unsigned i = 0; i < w.depth; ++i) free.push_back(i);
  uint64_t done = 0;
  while (Now() < end) {
    for (int turn = 0; turn < 64; ++turn) {
      for (unsigned i = 0; i < w.batch && !free.empty(); ++i) {
        const unsigned slot = free.back();
        free.pop_back();
        io_uring_sqe* sqe = io_uring_get_sqe(&ring);
        const uint64_t offset = NextBlock(w.blocks) * w.block;
        char* buffer = w.buffers + slot * w.block;
        if (nop) {
          io_uring_prep_nop(sqe);
        } else if (registered) {
          w.write ? io_uring_prep_write_fixed(sqe, 0, buffer, w.block, offset, slot)
                  : io_uring_prep_read_fixed(sqe, 0, buffer, w.block, offset, slot);
          sqe->flags |= IOSQE_FIXED_FILE;
        } else {
          w.write ? io_uring_prep_write(sqe, 0, buffer, w.block, offset)
                  : io_uring_prep_read(sqe, 0, buffer, w.block, offset);
          sqe->flags |= IOSQE_FIXED_FILE;
        }
        io_uring_sqe_set_data64(sqe, slot);
      }
      if (free.empty()) {
        io_uring_submit_and_wait(&ring, w.wait);
      } else {
        io_uring_submit_and_get_events(&ring);
      }
      unsigned head, seen = 0;
      io_uring_cqe* cqe;
      io_uring_for_each_cqe(&ring, head, cqe) {
        ++seen;
        free.push_back(static_cast<unsigned>(io_uring_cqe_get_data64(cqe)));
      }
      io_uring_cq_advance(&ring, seen);
      done += seen;
    }
  }
  return done;
}

uint64_t RunLibaio(const Work& w, double end) {
  io_context_t context = nullptr;
  Check(io_setup(static_cast<int>(w.depth), &context) == 0, "io_setup");
  std::vector<iocb> blocks(w.depth);
  std::vector<iocb*> batch(w.depth);
  std::vector<io_event> events(w.depth);
  std::vector<unsigned> free;
  for (unsigned i = 0; i < w.depth; ++i) free.push_back(i);
  uint64_t done = 0;
  while (Now() < end) {
    for (int turn = 0; turn < 64; ++turn) {
      unsigned count = 0;
      for (; count < w.batch && !free.empty(); ++count) {
        const unsigned slot = free.back();
        free.pop_back();
        const int64_t offset = static_cast<int64_t>(NextBlock(w.blocks) * w.block);
        w.write ? io_prep_pwrite(&blocks[slot], w.file, w.buffers + slot * w.block, w.block, offset)
                : io_prep_pread(&blocks[slot], w.file, w.buffers + slot * w.block, w.block, offset);
        blocks[slot].data = reinterpret_cast<void*>(static_cast<uintptr_t>(slot));
        batch[count] = &blocks[slot];
      }
      if (count != 0) {
        Check(io_submit(context, count, batch.data()) == static_cast<int>(count), "io_submit");
      }
      const int found =
          io_getevents(context, free.empty() ? w.wait : 0, w.depth, events.data(), nullptr);
      for (int i = 0; i < found; ++i) {
        free.push_back(static_cast<unsigned>(reinterpret_cast<uintptr_t>(events[i].data)));
      }
      done += static_cast<uint64_t>(found);
    }
  }
  return done;
}

uint64_t RunSync(const Work& w, double end) {
  uint64_t done = 0;
  while (Now() < end) {
    for (int i = 0; i < 64; ++i, ++done) {
      const off_t offset = static_cast<off_t>(NextBlock(w.blocks) * w.block);
      Check((w.write ? pwrite(w.file, w.buffers, w.block, offset)
                     : pread(w.file, w.buffers, w.block, offset)) == static_cast<ssize_t>(w.block),
            "pread/pwrite");
    }
  }
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 11) {
    fprintf(stderr,
            "usage: raw uring|nop|libaio|sync PATH read|write DEPTH BATCH WAIT BLOCK SIZE SECONDS "
            "DIRECT [plain]\n");
    return 2;
  }
  Work w;
  w.engine = argv[1];
  w.write = std::string(argv[3]) == "write";
  w.depth = static_cast<unsigned>(atoi(argv[4]));
  w.batch = static_cast<unsigned>(atoi(argv[5]));
  w.wait = static_cast<unsigned>(atoi(argv[6]));
  w.block = strtoull(argv[7], nullptr, 10);
  w.blocks = strtoull(argv[8], nullptr, 10) / w.block;
  w.seconds = atof(argv[9]);
  w.plain = argc > 11;
  if (w.engine != "nop") {
    w.file = open(argv[2], (w.write ? O_RDWR : O_RDONLY) | (atoi(argv[10]) ? O_DIRECT : 0));
    Check(w.file >= 0, argv[2]);
  }
  w.buffers = static_cast<char*>(
      mmap(nullptr, w.depth * w.block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (uint64_t i = 0; i < w.depth * w.block; ++i) w.buffers[i] = static_cast<char>(NextBlock(256));
  const double begin = Now();
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const uint64_t done = w.engine == "libaio" ? RunLibaio(w, begin + w.seconds)
                        : w.engine == "sync" ? RunSync(w, begin + w.seconds)
                                             : RunUring(w, begin + w.seconds);
  const double seconds = Now() - begin;
  getrusage(RUSAGE_SELF, &after);
  const auto ns = [&](const timeval& a, const timeval& b) {
    return (static_cast<double>(b.tv_sec - a.tv_sec) * 1e9 +
            static_cast<double>(b.tv_usec - a.tv_usec) * 1e3) /
           static_cast<double>(done);
  };
  printf("{\"iops\": %.0f, \"user\": %.1f, \"system\": %.1f}\n",
         static_cast<double>(done) / seconds, ns(before.ru_utime, after.ru_utime),
         ns(before.ru_stime, after.ru_stime));
  return 0;
}
