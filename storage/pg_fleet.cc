// Hosts, workers and devices in the store.

#include "absl/strings/str_cat.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

absl::Status RegisterDevices(PgConnection* connection, const v1::Hello& hello) {
  // One statement registers all devices: a host may have thousands (limits::kDevicesOfAHost). ON
  // CONFLICT DO UPDATE fails where one statement would change a row twice, hence DISTINCT ON.
  std::string array = "[";
  for (const v1::BlockDevice& device : hello.devices()) {
    absl::StrAppend(&array, array.size() > 1 ? "," : "", Json(device));
  }
  array += "]";
  return connection
      ->Query(
          "INSERT INTO devices "
          "(boot_id, name, host_id, identity, size_bytes, model, scheduler, rotational) "
          "SELECT DISTINCT ON (d->>'name') $1, d->>'name', $2::uuid, coalesce(d->>'identity', ''), "
          "coalesce((d->>'sizeBytes')::bigint, 0), coalesce(d->>'model', ''), "
          "coalesce(d->>'scheduler', ''), coalesce((d->>'rotational')::boolean, false) "
          "FROM jsonb_array_elements($3::jsonb) d "
          "ON CONFLICT (boot_id, name) DO UPDATE SET host_id = excluded.host_id, "
          "identity = excluded.identity, "
          "size_bytes = excluded.size_bytes, scheduler = excluded.scheduler, last_seen = now()",
          {hello.host().boot_id(), hello.host().host_id(), array})
      .status();
}

absl::Status Bind(PgConnection* connection, const v1::Hello& hello) {
  if (hello.certificate().empty()) return absl::OkStatus();
  auto bound = connection->Query(
      "INSERT INTO host_bindings AS b (host, certificate, host_id, worker_id) "
      "VALUES ($1, $2, $3, $4) ON CONFLICT (host) DO UPDATE SET host_id = excluded.host_id, "
      "worker_id = excluded.worker_id, since = CASE WHEN (b.host_id, b.worker_id) = "
      "(excluded.host_id, excluded.worker_id) THEN b.since ELSE now() END "
      "WHERE b.certificate = excluded.certificate RETURNING true",
      {hello.host().name(), hello.certificate(), hello.host().host_id(), hello.worker_id()});
  // No row means that the WHERE of DO UPDATE was false: the name belongs to another certificate. A
  // unique violation means that the host's or the worker's id belongs to another name.
  const bool is_others =
      absl::IsAlreadyExists(bound.status()) || (bound.ok() && bound->rows() == 0);
  if (is_others) {
    return absl::FailedPreconditionError(
        absl::StrCat("the host name ", hello.host().name(),
                     ", or an id of its worker, belongs to another certificate or host"));
  }
  return bound.status();
}

}  // namespace

absl::Status PgStore::RegisterWorker(const v1::Hello& hello) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    const v1::HostFacts& host = hello.host();
    // The binding comes first: where it is refused, the transaction ends and nothing is recorded.
    if (absl::Status bound = Bind(connection, hello); !bound.ok()) return bound;
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
        "INSERT INTO workers (worker_id, host_id, boot_id, version, labels) "
        "VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (worker_id) DO UPDATE SET host_id = excluded.host_id, "
        "boot_id = excluded.boot_id, version = excluded.version, labels = excluded.labels, "
        "last_seen = now()",
        {hello.worker_id(), host.host_id(), host.boot_id(), hello.software_version(),
         JsonObject(hello.labels())});
    if (!worker.ok()) return worker.status();
    return RegisterDevices(connection, hello);
  });
}

absl::StatusOr<std::vector<WorkerOwner>> PgStore::WorkerOwners() {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT worker_id, host_id, host, certificate FROM host_bindings ORDER BY host");
  if (!rows.ok()) return rows.status();
  std::vector<WorkerOwner> owners;
  for (int i = 0; i < rows->rows(); ++i) {
    owners.push_back({rows->Text(i, "worker_id"), rows->Text(i, "host_id"), rows->Text(i, "host"),
                      rows->Text(i, "certificate")});
  }
  return owners;
}

absl::Status PgStore::ForgetHost(const std::string& host) {
  return Run("DELETE FROM host_bindings WHERE host = $1", {host});
}

}  // namespace lockstep::storage
