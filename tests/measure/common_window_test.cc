#include "measure/common_window.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

constexpr int64_t kWindowSecond = 1000000000;
constexpr auto kRead = v1::OPERATION_KIND_READ;

PartInterval Did(uint32_t worker, uint32_t workload, int64_t begin_ns, int64_t end_ns,
                 uint64_t operations, bool is_over = false) {
  return {worker, workload, begin_ns, end_ns, is_over, {{kRead, {operations, 512 * operations}}}};
}

void AddAll(const std::vector<PartInterval>& parts, CommonWindow* window) {
  std::vector<const PartInterval*> all;
  for (const PartInterval& part : parts) all.push_back(&part);
  window->Add(all);
}

uint64_t OperationsOf(const CommonWindow& window) {
  uint64_t sum = 0;
  for (const auto& [worker, counts] : window.workers()) {
    for (const auto& [key, sums] : counts) sum += sums.operations;
  }
  return sum;
}

TEST(CommonWindowTest, ItEndsWithTheIntervalBeforeTheFirstEnd) {
  CommonWindow window;
  AddAll({Did(0, 0, 0, kWindowSecond, 100), Did(1, 0, 0, kWindowSecond, 50)}, &window);
  AddAll({Did(0, 0, kWindowSecond, kWindowSecond * 3 / 2, 70, /*is_over=*/true),
          Did(1, 0, kWindowSecond, 2 * kWindowSecond, 50)},
         &window);
  AddAll({Did(1, 0, 2 * kWindowSecond, 3 * kWindowSecond, 50)}, &window);
  EXPECT_TRUE(window.closed());
  EXPECT_EQ(window.begin_ns(), 0);
  EXPECT_EQ(window.end_ns(), kWindowSecond);
  EXPECT_EQ(window.covered_ns(), kWindowSecond);
  EXPECT_EQ(OperationsOf(window), 150u);
}

TEST(CommonWindowTest, OfAPartAloneItIsItsWholeTime) {
  CommonWindow window;
  AddAll({Did(0, 0, 0, kWindowSecond, 100)}, &window);
  AddAll({Did(0, 0, kWindowSecond, kWindowSecond + 250000000, 25, /*is_over=*/true)}, &window);
  EXPECT_EQ(window.covered_ns(), kWindowSecond + 250000000);
  EXPECT_EQ(OperationsOf(window), 125u);
}

TEST(CommonWindowTest, ShorterThanAnIntervalItEndsWithTheFirstPart) {
  CommonWindow window;
  AddAll({Did(0, 0, 0, kWindowSecond / 2, 9000, /*is_over=*/true), Did(0, 1, 0, kWindowSecond, 10)},
         &window);
  EXPECT_EQ(window.covered_ns(), kWindowSecond / 2);
  EXPECT_EQ(window.Of(0).at({0, kRead}).operations, 9000u);
  EXPECT_EQ(window.Of(0).at({1, kRead}).operations, 5u);
  EXPECT_EQ(window.Of(0).at({1, kRead}).bytes, 5u * 512);
}

TEST(CommonWindowTest, AnIntervalThatSomebodyLacksIsNoTime) {
  CommonWindow window;
  AddAll({Did(0, 0, 0, kWindowSecond, 100)}, &window);
  AddAll({Did(0, 0, 3 * kWindowSecond, 4 * kWindowSecond, 100)}, &window);
  EXPECT_EQ(window.end_ns(), 4 * kWindowSecond);
  EXPECT_EQ(window.covered_ns(), 2 * kWindowSecond);
}

TEST(CommonWindowTest, ItBeginsWithTheIntervalAfterTheLastBegin) {
  CommonWindow window;
  constexpr int64_t kBegin = kWindowSecond + kWindowSecond / 2;
  for (int64_t k = 0; k < 4; ++k) {
    const int64_t begin = k * kWindowSecond;
    const uint64_t late = k == 0 ? 0 : k == 1 ? 30 : 50;
    AddAll({Did(0, 0, begin, begin + kWindowSecond, 100),
            Did(0, 1, std::max(begin, kBegin), begin + kWindowSecond, late)},
           &window);
    if (k != 1) continue;
    // While there is no whole interval, a part of one must do.
    EXPECT_EQ(window.covered_ns(), kWindowSecond / 2);
    EXPECT_EQ(OperationsOf(window), 80u);
  }
  EXPECT_FALSE(window.closed());
  EXPECT_EQ(window.begin_ns(), 2 * kWindowSecond);
  EXPECT_EQ(window.covered_ns(), 2 * kWindowSecond);
  EXPECT_EQ(OperationsOf(window), 300u);
}

TEST(CommonWindowTest, OfALateWorkloadAloneItIsItsWholeTime) {
  CommonWindow window;
  AddAll({Did(0, 1, kWindowSecond / 4, kWindowSecond, 75)}, &window);
  AddAll({Did(0, 1, kWindowSecond, 2 * kWindowSecond, 100)}, &window);
  EXPECT_EQ(window.begin_ns(), kWindowSecond / 4);
  EXPECT_EQ(window.covered_ns(), 2 * kWindowSecond - kWindowSecond / 4);
  EXPECT_EQ(OperationsOf(window), 175u);
}

TEST(CommonWindowTest, WithoutAWholeIntervalItIsWhatPartsOverlap) {
  CommonWindow window;
  AddAll({Did(0, 0, 0, kWindowSecond, 100), Did(0, 1, kWindowSecond / 2, kWindowSecond, 10)},
         &window);
  AddAll({Did(0, 0, kWindowSecond, kWindowSecond * 3 / 2, 50, /*is_over=*/true),
          Did(0, 1, kWindowSecond, 2 * kWindowSecond, 20)},
         &window);
  EXPECT_TRUE(window.closed());
  EXPECT_EQ(window.begin_ns(), kWindowSecond / 2);
  EXPECT_EQ(window.end_ns(), kWindowSecond * 3 / 2);
  EXPECT_EQ(window.covered_ns(), kWindowSecond);
  EXPECT_EQ(window.Of(0).at({0, kRead}).operations, 100u);
  EXPECT_EQ(window.Of(0).at({1, kRead}).operations, 20u);
}

// One operation of 1.3 ms beside a second of others is no rate of both.
TEST(CommonWindowTest, AMomentIsNoTime) {
  CommonWindow window;
  constexpr int64_t kEnd = 3 * kWindowSecond + 1300000;
  AddAll({Did(0, 0, 3 * kWindowSecond, kEnd, 1, /*is_over=*/true),
          Did(0, 1, 3 * kWindowSecond, 4 * kWindowSecond, 100)},
         &window);
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.closed());
}

TEST(CommonWindowTest, SharesOfManyAddUpToThatOfTheSum) {
  CommonWindow window;
  std::vector<PartInterval> parts = {Did(0, 0, 0, kWindowSecond / 50, 7, /*is_over=*/true)};
  for (uint32_t host = 1; host <= 100; ++host) parts.push_back(Did(host, 1, 0, kWindowSecond, 20));
  AddAll(parts, &window);
  EXPECT_EQ(window.covered_ns(), kWindowSecond / 50);
  // A fiftieth of 100 times 20.
  EXPECT_EQ(OperationsOf(window), 7u + 40u);
  for (uint32_t host = 1; host <= 100; ++host) {
    const IoSums sums = window.Of(host).at({1, kRead});
    EXPECT_LE(sums.operations, 1u);
    EXPECT_EQ(sums.bytes, sums.operations * 512);
  }
}

TEST(CommonWindowTest, AfterTheFirstEndNoBeginOpensIt) {
  CommonWindow window;
  for (int64_t k = 0; k < 3; ++k) {
    const int64_t begin = k * kWindowSecond;
    AddAll({Did(0, 0, begin, std::max(begin, kWindowSecond), 100, /*is_over=*/k >= 1),
            Did(0, 1, std::max(begin, 2 * kWindowSecond), begin + kWindowSecond, 10)},
           &window);
  }
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.closed());
}

TEST(CommonWindowTest, WhatWasOverBeforeItBeganLeavesNothing) {
  CommonWindow window;
  AddAll({Did(0, 0, kWindowSecond, kWindowSecond, 0, /*is_over=*/true),
          Did(1, 0, kWindowSecond, 2 * kWindowSecond, 50)},
         &window);
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.closed());
}

// Parts with ends, rates and stalls of their own: what is counted is what the events say.
class RandomParts {
 public:
  explicit RandomParts(uint64_t seed) : random_(seed) {
    const int parts = Between(1, 6);
    for (int p = 0; p < parts; ++p) Make(static_cast<uint32_t>(p));
  }

  struct Part {
    uint32_t worker, workload;
    bool ends_itself;
    int64_t end_ns;
    std::vector<int64_t> events;  // completions

    uint64_t Until(int64_t from_ns, int64_t to_ns) const {
      return static_cast<uint64_t>(std::upper_bound(events.begin(), events.end(), to_ns) -
                                   std::upper_bound(events.begin(), events.end(), from_ns));
    }
  };

  CommonWindow Window(const std::vector<const Part*>& of) const {
    CommonWindow window;
    for (int64_t begin = 0; begin < kLoadEndNs; begin += kWindowSecond) {
      const int64_t end = std::min(begin + kWindowSecond, kLoadEndNs);
      std::vector<PartInterval> parts;
      for (const Part* part : of) {
        const bool over = part->ends_itself && part->end_ns <= end;
        const int64_t until = over ? std::max(begin, part->end_ns) : end;
        parts.push_back(Did(part->worker, part->workload, begin, until,
                            part->Until(begin == 0 ? -1 : begin, end), over));
      }
      AddAll(parts, &window);
    }
    return window;
  }

  std::vector<const Part*> all() const {
    std::vector<const Part*> list;
    for (const Part& part : parts_) list.push_back(&part);
    return list;
  }

  static constexpr int64_t kLoadEndNs = 7 * kWindowSecond + kWindowSecond / 3;

 private:
  int Between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }

  void Make(uint32_t number) {
    Part part{number / 2, number % 2, Between(0, 1) == 1, kLoadEndNs, {}};
    const int64_t gap = Between(1000000, 30000000);
    const int64_t stall = int64_t{Between(0, 8000)} * 1000000;
    const int most = part.ends_itself ? Between(1, 400) : 1000000;
    for (int64_t at = gap; at <= kLoadEndNs; at += gap) {
      if (at >= stall && at < stall + 700000000) continue;
      if (static_cast<int>(part.events.size()) == most) break;
      part.events.push_back(at);
    }
    part.ends_itself = part.ends_itself && static_cast<int>(part.events.size()) == most;
    if (part.ends_itself) part.end_ns = part.events.back();
    parts_.push_back(std::move(part));
  }

  std::mt19937_64 random_;
  std::vector<Part> parts_;
};

TEST(CommonWindowTest, RatesAreThoseOfTheEvents) {
  int interpolated = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomParts random(seed);
    const auto all = random.all();
    const CommonWindow window = random.Window(all);
    int64_t first_end = RandomParts::kLoadEndNs;
    int64_t last_end = 0;
    for (const auto* part : all) {
      first_end = std::min(first_end, part->end_ns);
      last_end = std::max(last_end, part->end_ns);
    }
    const bool is_moment = first_end < std::min(last_end, kWindowSecond) / 100;
    ASSERT_EQ(window.empty(), is_moment);
    if (is_moment) continue;
    EXPECT_EQ(window.begin_ns(), 0);
    EXPECT_LE(window.end_ns(), first_end + 2000000) << "some part was over before";
    EXPECT_GT(window.end_ns(), first_end - kWindowSecond - 2000000);
    EXPECT_EQ(window.covered_ns(), window.end_ns());
    for (const auto* part : all) {
      const uint64_t counted = window.Of(part->worker).at({part->workload, kRead}).operations;
      const uint64_t truth = part->Until(-1, window.end_ns());
      if (window.end_ns() % kWindowSecond == 0 || part->end_ns == window.end_ns() ||
          all.size() == 1) {
        EXPECT_EQ(counted, truth);
      } else {
        // Less than an interval, in which the part may have stalled before or after that instant.
        ++interpolated;
        EXPECT_LE(counted, part->Until(-1, kWindowSecond));
      }
      // A part alone is measured to its own last completion.
      const CommonWindow own = random.Window({part});
      EXPECT_EQ(own.end_ns(), part->end_ns);
      EXPECT_EQ(OperationsOf(own), part->events.size());
      EXPECT_LE(counted, OperationsOf(window));
    }
  }
  EXPECT_GT(interpolated, 0);
}

}  // namespace
}  // namespace lockstep::measure
