// Hosts, workers and devices in the store.

#include "absl/strings/str_cat.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

absl::Status RegisterDevices(PgConnection* connection, const v1::Hello& hello) {
  std::string array = "[";
  for (const v1::BlockDevice& device : hello.devices()) {
    absl::StrAppend(&array, array.size() > 1 ? "," : "", Json(device));
  }
  array += "]";
  return connection
      ->Query(
          "INSERT INTO devices "
          "(boot_id, name, host_id, identity, size_bytes, model, scheduler, rotational) "
          "SELECT $1, d->>'name', $2::uuid, coalesce(d->>'identity', ''), "
          "coalesce((d->>'sizeBytes')::bigint, 0), coalesce(d->>'model', ''), "
          "coalesce(d->>'scheduler', ''), coalesce((d->>'rotational')::boolean, false) "
          "FROM jsonb_array_elements($3::jsonb) d "
          "ON CONFLICT (boot_id, name) DO UPDATE SET identity = excluded.identity, "
          "size_bytes = excluded.size_bytes, scheduler = excluded.scheduler, last_seen = now()",
          {hello.host().boot_id(), hello.host().host_id(), array})
      .status();
}

}  // namespace

absl::Status PgStore::RegisterWorker(const v1::Hello& hello) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    const v1::HostFacts& host = hello.host();
    auto known = connection->Query(
        "INSERT INTO hosts (host_id, name, kernel, os, cpu_model, cpus, memory_bytes) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7) "
        "ON CONFLICT (host_id) DO UPDATE SET name = excluded.name, kernel = excluded.kernel, "
        "os = excluded.os, cpus = excluded.cpus, memory_bytes = excluded.memory_bytes, "
        "last_seen = now()",
        {host.host_id(), host.name(), host.kernel(), host.os(), host.cpu_model(),
         absl::StrCat(host.cpus()), absl::StrCat(host.memory_bytes())});
    if (!known.ok()) return known.status();
    auto worker = connection->Query(
        "INSERT INTO workers (worker_id, host_id, boot_id, version, labels, certificate) "
        "VALUES ($1, $2, $3, $4, $5, $6) "
        "ON CONFLICT (worker_id) DO UPDATE SET host_id = excluded.host_id, "
        "boot_id = excluded.boot_id, version = excluded.version, labels = excluded.labels, "
        "last_seen = now(), certificate = CASE WHEN workers.certificate = '' "
        "THEN excluded.certificate ELSE workers.certificate END",
        {hello.worker_id(), host.host_id(), host.boot_id(), hello.software_version(),
         JsonObject(hello.labels()), hello.certificate()});
    if (!worker.ok()) return worker.status();
    return RegisterDevices(connection, hello);
  });
}

absl::Status PgStore::ForgetHost(const std::string& host) {
  return Run(
      "UPDATE workers w SET certificate = '' FROM hosts h WHERE h.host_id = w.host_id AND h.name = "
      "$1",
      {host});
}

}  // namespace lockstep::storage
