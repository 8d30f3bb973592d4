#include "worker/workload/distribution.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace lockstep::worker {
namespace {

class UniformDistribution final : public Distribution {
 public:
  explicit UniformDistribution(uint64_t size) : size_(size) {}
  uint64_t Draw(Random* random) const override { return random->Below(size_); }

 private:
  const uint64_t size_;
};

// A draw that is rejected this often in a row comes from parameters that no distribution has: it is
// uniform then, so that a thread is never kept from hearing that it is to stop. Less than one valid
// draw in 10^19 is rejected as often.
constexpr int kMaxDraws = 128;

// Maps a popularity rank to its location.
class Layout {
 public:
  Layout(uint64_t size, bool clustered, uint64_t seed)
      : clustered_(clustered), order_(size, seed) {}
  uint64_t At(uint64_t rank) const { return clustered_ ? rank : order_.At(rank); }

 private:
  const bool clustered_;
  const Permutation order_;
};

// Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", ACM TOMACS 6 (1996). Exact for every theta > 0, one included.
class ZipfDistribution final : public Distribution {
 public:
  ZipfDistribution(const ZipfOffsets& zipf, uint64_t size, uint64_t seed)
      : size_(size),
        theta_(zipf.theta),
        layout_(size, zipf.clustered, seed),
        first_(Integral(1.5) - 1),
        last_(Integral(static_cast<double>(size) + 0.5)),
        slack_(2 - Inverse(Integral(2.5) - Density(2))) {}

  uint64_t Draw(Random* random) const override {
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      const double u = last_ + random->Unit() * (first_ - last_);
      const double x = Inverse(u);
      const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(size_));
      if (k - x <= slack_ || u >= Integral(k + 0.5) - Density(k)) {
        return layout_.At(static_cast<uint64_t>(k) - 1);
      }
    }
    return random->Below(size_);
  }

 private:
  double Density(double x) const { return std::exp(-theta_ * std::log(x)); }
  // The integral of x^-theta, and its inverse; written so that theta near 1 keeps its digits.
  double Integral(double x) const {
    const double log_x = std::log(x);
    return Expm1OverX((1 - theta_) * log_x) * log_x;
  }
  double Inverse(double y) const {
    const double t = std::max(-1.0, y * (1 - theta_));
    return std::exp(Log1pOverX(t) * y);
  }
  static double Expm1OverX(double x) { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2; }
  static double Log1pOverX(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2; }

  const uint64_t size_;
  const double theta_;
  const Layout layout_;
  const double first_;
  const double last_;
  const double slack_;
};

// P(rank < x * size) = x^(ln(1-h) / ln(h)).
class ParetoDistribution final : public Distribution {
 public:
  ParetoDistribution(const ParetoOffsets& pareto, uint64_t size, uint64_t seed)
      : size_(size),
        power_(std::log(pareto.h) / std::log(1 - pareto.h)),
        layout_(size, pareto.clustered, seed) {}

  uint64_t Draw(Random* random) const override {
    const double rank = std::pow(random->Unit(), power_) * static_cast<double>(size_);
    // The product may round up to the size, which is no rank.
    return layout_.At(rank >= 0 && rank < static_cast<double>(size_) ? static_cast<uint64_t>(rank)
                                                                     : size_ - 1);
  }

 private:
  const uint64_t size_;
  const double power_;
  const Layout layout_;
};

// Pairs by G. Box and M. Muller 1958, of which one is used; draws outside are repeated.
class NormalDistribution final : public Distribution {
 public:
  NormalDistribution(const NormalOffsets& normal, uint64_t size)
      : size_(static_cast<double>(size)),
        center_(normal.center * size_),
        deviation_(normal.deviation * size_) {}

  uint64_t Draw(Random* random) const override {
    constexpr double kTwoPi = 6.283185307179586;
    // Far from the target's middle, or with a wide deviation, most draws fall outside: more are
    // needed here.
    for (int draw = 0; draw < 64 * kMaxDraws; ++draw) {
      // Unit() can be 0, and never is 1: so the logarithm is finite.
      const double radius = std::sqrt(-2 * std::log(1 - random->Unit()));
      const double place = center_ + deviation_ * radius * std::cos(kTwoPi * random->Unit());
      if (place >= 0 && place < size_) return static_cast<uint64_t>(place);
    }
    return random->Below(static_cast<uint64_t>(size_));
  }

 private:
  const double size_;
  const double center_;
  const double deviation_;
};

class ZonedDistribution final : public Distribution {
 public:
  ZonedDistribution(const ZonedOffsets& zoned, uint64_t size) {
    double draws = 0;
    double begin = 0;
    double total = 0;
    for (const ZonedOffsets::Zone& zone : zoned.zones) total += zone.draws;
    for (const ZonedOffsets::Zone& zone : zoned.zones) {
      draws += zone.draws / total;
      const uint64_t first =
          std::min(static_cast<uint64_t>(begin * static_cast<double>(size)), size - 1);
      begin += zone.size;
      const uint64_t end =
          std::min(static_cast<uint64_t>(std::llround(begin * static_cast<double>(size))), size);
      // A zone that is smaller than a block still has one.
      zones_.push_back({draws, first, std::max(end, first + 1) - first});
    }
  }

  uint64_t Draw(Random* random) const override {
    const double u = random->Unit();
    size_t zone = 0;
    while (zone + 1 < zones_.size() && u >= zones_[zone].draws_below) ++zone;
    return zones_[zone].first + random->Below(zones_[zone].size);
  }

 private:
  struct Zone {
    double draws_below;
    uint64_t first;
    uint64_t size;
  };
  std::vector<Zone> zones_;
};

}  // namespace

std::unique_ptr<Distribution> MakeDistribution(const Offsets& offsets, uint64_t size,
                                               uint64_t seed) {
  assert(size > 0);
  struct Maker {
    uint64_t size;
    uint64_t seed;
    std::unique_ptr<Distribution> operator()(const UniformOffsets&) const {
      return std::make_unique<UniformDistribution>(size);
    }
    std::unique_ptr<Distribution> operator()(const ZipfOffsets& p) const {
      return std::make_unique<ZipfDistribution>(p, size, seed);
    }
    std::unique_ptr<Distribution> operator()(const ParetoOffsets& p) const {
      return std::make_unique<ParetoDistribution>(p, size, seed);
    }
    std::unique_ptr<Distribution> operator()(const NormalOffsets& p) const {
      return std::make_unique<NormalDistribution>(p, size);
    }
    std::unique_ptr<Distribution> operator()(const ZonedOffsets& p) const {
      return std::make_unique<ZonedDistribution>(p, size);
    }
  };
  return std::visit(Maker{size, seed}, offsets);
}

}  // namespace lockstep::worker
