// The histogram functions of the store's interface, against common/histogram.h.

#include "storage/sql_histogram.h"

#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

class SqlHistogramTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store =
        PgStore::Open({cluster->server->conninfo(), cluster->server->reader_conninfo(), "test"});
    ASSERT_TRUE(store.ok()) << store.status();
    connection_ = *PgConnection::Open(cluster->server->conninfo());
    ASSERT_TRUE(connection_->Execute("SET search_path = lockstep").ok());
  }
  PgResult Query(const std::string& sql, const std::vector<PgParam>& parameters = {}) {
    auto rows = connection_->Query(sql, parameters);
    EXPECT_TRUE(rows.ok()) << sql << ": " << rows.status();
    return rows.ok() ? *std::move(rows) : PgResult(nullptr);
  }
  std::string Error(const std::string& sql) {
    return std::string(connection_->Query(sql).status().message());
  }
  std::unique_ptr<PgConnection> connection_;
};

std::string Hex(const common::Histogram& h) {
  return absl::StrCat("\\x", absl::BytesToHexString(h.Encode()));
}

common::Histogram Random(uint64_t seed, int values) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latency(12, 1.5);
  common::Histogram histogram;
  for (int i = 0; i < values; ++i) histogram.Record(static_cast<uint64_t>(latency(random)));
  if (seed % 2 == 0) histogram.Record(~uint64_t{0});  // overflow
  if (seed % 3 == 0) histogram.Record(0);
  if (seed % 5 == 0) histogram.AddBucket(900, uint64_t{1} << 40);
  return histogram;
}

TEST_F(SqlHistogramTest, PercentilesCountsAndBucketsAreThoseOfTheProgram) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const common::Histogram h = Random(seed, static_cast<int>(seed * seed));
    const PgResult rows = Query(
        "SELECT hist_count(h) AS count, hist_percentile(h, 0) AS p0, p[1] AS p50, p[2] AS p99, "
        "p[3] AS p999, p[4] AS p100, hist_mean(h) AS mean, h FROM "
        "(SELECT h, hist_percentiles(h, '{50,99,99.9,100}') AS p FROM (SELECT "
        "hist_decode($1::bytea) AS h) d) x",
        {Hex(h)});
    ASSERT_EQ(rows.rows(), 1);
    EXPECT_EQ(rows.UInt(0, "count"), h.count()) << seed;
    for (const auto& [percent, column] :
         {std::pair(0.0, "p0"), std::pair(50.0, "p50"), std::pair(99.0, "p99"),
          std::pair(99.9, "p999"), std::pair(100.0, "p100")}) {
      EXPECT_DOUBLE_EQ(rows.Real(0, column), h.Percentile(percent)) << seed << " " << percent;
    }
    double sum = 0;
    for (const auto& [bucket, n] : h.Occupied()) {
      sum += common::BucketMidpoint(bucket) * static_cast<double>(n);
    }
    EXPECT_NEAR(rows.Real(0, "mean"), sum / static_cast<double>(h.count()), sum * 1e-12);
    EXPECT_EQ(*HistogramNumber(h.Encode()), rows.Text(0, "h"));
    EXPECT_EQ(*EncodeNumber(rows.Text(0, "h")), h.Encode());
    const PgResult buckets = Query(
        "SELECT bucket, low_ns, high_ns, midpoint_ns, count FROM hist_buckets(hist_decode($1))",
        {Hex(h)});
    const common::Buckets occupied = h.Occupied();
    ASSERT_EQ(buckets.rows(), static_cast<int>(occupied.size()));
    for (int i = 0; i < buckets.rows(); ++i) {
      EXPECT_EQ(buckets.UInt(i, "bucket"), occupied[i].first);
      EXPECT_EQ(buckets.UInt(i, "low_ns"), common::BucketLow(occupied[i].first));
      if (!buckets.Null(i, "high_ns")) {
        EXPECT_EQ(buckets.UInt(i, "high_ns"), common::BucketHigh(occupied[i].first));
      }
      EXPECT_DOUBLE_EQ(buckets.Real(i, "midpoint_ns"), common::BucketMidpoint(occupied[i].first));
      EXPECT_EQ(buckets.UInt(i, "count"), occupied[i].second);
    }
  }
}

TEST_F(SqlHistogramTest, EveryBucketHasTheProgramsBounds) {
  const PgResult rows = Query(
      "SELECT hist_low(b) AS low, hist_midpoint(b) AS midpoint, hist_bucket(hist_low(b)) AS "
      "of_low, "
      "hist_bucket(hist_midpoint(b)) AS of_midpoint FROM generate_series(0, 2496) b");
  ASSERT_EQ(rows.rows(), static_cast<int>(common::kBucketCount));
  for (int b = 0; b < rows.rows(); ++b) {
    EXPECT_EQ(rows.UInt(b, "low"), common::BucketLow(b)) << b;
    EXPECT_DOUBLE_EQ(rows.Real(b, "midpoint"), common::BucketMidpoint(b)) << b;
    EXPECT_EQ(rows.Int(b, "of_low"), b);
    EXPECT_EQ(rows.Int(b, "of_midpoint"), b);
  }
}

TEST_F(SqlHistogramTest, MergingIsExactInAnyOrderAndOverGroups) {
  common::Histogram all;
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE h (g integer, h numeric)").ok());
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const common::Histogram h = Random(seed, 50);
    all.Merge(h);
    Query("INSERT INTO h VALUES ($1, hist_decode($2))", {absl::StrCat(seed % 4), Hex(h)});
  }
  Query("INSERT INTO h VALUES (9, NULL), (9, 0)");  // neither adds anything
  EXPECT_EQ(*EncodeNumber(Query("SELECT hist_merge(h) AS h FROM h").Text(0, "h")), all.Encode());
  EXPECT_EQ(
      *EncodeNumber(Query("SELECT hist_merge(m) AS h FROM (SELECT hist_merge(h) AS m FROM h GROUP "
                          "BY g) x")
                        .Text(0, "h")),
      all.Encode());
  ASSERT_TRUE(connection_->Execute("DROP TABLE h").ok());
}

TEST_F(SqlHistogramTest, NothingIsNullAndNonsenseIsRefused) {
  const PgResult none = Query(
      "SELECT hist_count(0) AS count, hist_percentile(0, 99) AS p99, hist_mean(0) AS mean, "
      "hist_decode('\\x') AS decoded, hist_share_above(0, 5) AS share, "
      "(SELECT count(*) FROM hist_buckets(0)) AS buckets, hist_percentile(NULL, 5) AS p5, "
      "hist_from_buckets('{}', '{}') AS made");
  for (const char* column : {"p99", "mean", "share", "p5"}) {
    EXPECT_TRUE(none.Null(0, column)) << column;
  }
  for (const char* column : {"count", "decoded", "buckets", "made"}) {
    EXPECT_EQ(none.Int(0, column), 0) << column;
  }
  EXPECT_NE(Error("SELECT hist_percentile(1, 101)").find("percentile 101"), std::string::npos);
  EXPECT_NE(Error("SELECT hist_percentile(1, 'NaN')").find("percentile NaN"), std::string::npos);
  EXPECT_NE(Error("SELECT hist_mean(-1)").find("not a histogram"), std::string::npos);
  EXPECT_NE(Error("SELECT hist_mean(0.5)").find("not a histogram"), std::string::npos);
  EXPECT_NE(Error("SELECT hist_bucket(-1)").find("has no bucket"), std::string::npos);
}

TEST_F(SqlHistogramTest, SharesAreOfTheBucketsAbove) {
  const PgResult rows = Query(
      "SELECT hist_share_above(h, 4) AS a, hist_share_above(h, 5) AS b, hist_share_above(h, 6) AS "
      "c, "
      "hist_share_above(h, 1e15) AS d FROM (SELECT hist_from_buckets('{5,900}', '{1,3}') AS h) x");
  EXPECT_EQ(rows.Real(0, "a"), 1);
  EXPECT_EQ(rows.Real(0, "b"), 0.75);
  EXPECT_EQ(rows.Real(0, "c"), 0.75);
  EXPECT_EQ(rows.Real(0, "d"), 0);
  const PgResult cdf = Query("SELECT share FROM hist_cdf(hist_from_buckets('{5,900}', '{1,3}'))");
  EXPECT_EQ(cdf.Real(0, "share"), 0.25);
  EXPECT_EQ(cdf.Real(1, "share"), 1);
}

TEST_F(SqlHistogramTest, ABucketThatCannotBeAddedUpIsRefused) {
  common::Histogram h;
  h.AddBucket(7, 10000000000000000);
  EXPECT_EQ(HistogramNumber(h.Encode()).status().code(), absl::StatusCode::kInvalidArgument);
  h.Clear();
  h.AddBucket(7, 9999999999999999);
  EXPECT_EQ(*EncodeNumber(*HistogramNumber(h.Encode())), h.Encode());
  for (const char* broken : {"x", "12x4", "-1"}) EXPECT_FALSE(EncodeNumber(broken).ok()) << broken;
}

TEST_F(SqlHistogramTest, JainIsTheIndex) {
  EXPECT_DOUBLE_EQ(
      Query("SELECT jain(x) AS jain FROM (VALUES (1.0::float8), (2.0), (3.0), (NULL)) v(x)")
          .Real(0, "jain"),
      36.0 / 42);
  // One value shares nothing, and several that are 0 neither.
  for (const char* values : {"(5.0::float8), (NULL)", "(0.0::float8), (0.0)"}) {
    const PgResult rows =
        Query(absl::StrCat("SELECT jain(x) AS jain FROM (VALUES ", values, ") v(x)"));
    EXPECT_TRUE(rows.Null(0, "jain")) << values;
  }
}

TEST_F(SqlHistogramTest, EverythingHasAComment) {
  const PgResult silent = Query(
      "SELECT 'column ' || c.relname || '.' || a.attname AS what FROM pg_class c JOIN pg_attribute "
      "a ON "
      "a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relnamespace = "
      "'lockstep'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND col_description(c.oid, "
      "a.attnum) IS NULL "
      "UNION ALL SELECT 'relation ' || relname FROM pg_class WHERE relnamespace = "
      "'lockstep'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition AND "
      "obj_description(oid, 'pg_class') IS NULL "
      "UNION ALL SELECT 'function ' || oid::regprocedure FROM pg_proc WHERE pronamespace = "
      "'lockstep'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL");
  std::string list;
  for (int i = 0; i < silent.rows(); ++i) absl::StrAppend(&list, silent.Text(i, "what"), " ");
  EXPECT_EQ(list, "");
}

}  // namespace
}  // namespace lockstep::storage
