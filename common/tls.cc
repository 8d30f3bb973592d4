#include "common/tls.h"

#include <sys/stat.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "grpc/grpc_security.h"

namespace lockstep::common {
namespace {

absl::Status In(const std::string& option, const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(option, " ", path, ": ", status.message()));
}

absl::Status CheckTimes(const TlsFiles& files, const CertificateFacts& own) {
  const absl::Time now = absl::Now();
  if (now >= own.not_after) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-cert ", files.certificate, " has expired"));
  }
  if (now < own.not_before) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls-cert ", files.certificate, " is not valid yet; is this machine's clock right?"));
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const TlsContent& content) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = content.authority;
  options.pem_private_key = content.key;
  options.pem_cert_chain = content.certificate;
  return grpc::SslCredentials(options);
}

// gRPC 1.51 has a C++ class that watches files, too (FileWatcherCertificateProvider). With it a key
// that is replaced a moment before its certificate makes the server refuse everybody. Here gRPC
// asks at each handshake, and gets only what TlsStore has checked as a whole.
class ReloadedCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadedCredentials(std::shared_ptr<const TlsStore> tls) : tls_(std::move(tls)) {}
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  // The content that one listening port was given last. gRPC asks under a lock of the port.
  struct Port {
    const TlsStore* tls;
    std::shared_ptr<const TlsContent> given;
  };

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    // Each port has its own state: a shared one would call the content unchanged that another port
    // has got.
    ports_.push_back(std::make_unique<Port>(Port{tls_.get(), nullptr}));
    // Each weaker mode of gRPC lets in clients without a certificate, or with one that nobody has
    // verified.
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &Fetch,
            ports_.back().get()));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);  // the server has its own reference
    return port;
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* user_data, grpc_ssl_server_certificate_config** config) {
    Port* port = static_cast<Port*>(user_data);
    auto content = port->tls->Current();
    if (content == port->given) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {content->key.c_str(), content->certificate.c_str()};
    *config = grpc_ssl_server_certificate_config_create(content->authority.c_str(), &pair, 1);
    port->given = std::move(content);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<const TlsStore> tls_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace

// The names that `lockstep pki issue` gives (controller/pki/pki_directory.cc).
TlsFiles WithoutDirectory(TlsFiles files) {
  if (files.directory.empty()) return files;
  for (const auto& [path, name] :
       {std::pair{&files.certificate, "cert.pem"}, std::pair{&files.key, "key.pem"},
        std::pair{&files.authority, "ca.pem"}, std::pair{&files.revocations, "crl.pem"}}) {
    if (path->empty()) *path = absl::StrCat(files.directory, "/", name);
  }
  files.directory.clear();
  return files;
}

absl::StatusOr<std::shared_ptr<TlsStore>> TlsStore::Open(const TlsFiles& files) {
  TlsFiles all = WithoutDirectory(files);
  if (all.certificate.empty() || all.key.empty() || all.authority.empty()) {
    return absl::InvalidArgumentError(
        "TLS needs all three of --tls-cert, --tls-key and --tls-ca, or --tls-dir");
  }
  // `pki issue` gives a list to controllers only. A list that comes later counts from then on.
  struct stat facts;
  if (!files.revocations.empty() && stat(files.revocations.c_str(), &facts) != 0) {
    return In("--tls-crl", files.revocations, absl::NotFoundError("there is no such file"));
  }
  std::shared_ptr<TlsStore> store(new TlsStore(std::move(all)));
  if (absl::Status status = store->Refresh(); !status.ok()) return status;
  return store;
}

std::shared_ptr<const TlsContent> TlsStore::Current() const {
  MutexLock lock(&mutex_);
  return content_;
}

absl::Status TlsStore::problem() const {
  MutexLock lock(&mutex_);
  return problem_;
}

absl::Status TlsStore::Refresh() {
  MutexLock lock(&mutex_);
  // The fingerprint is taken before the files are read. A file that changes in between has another
  // one at the next call, and is read again.
  std::string fingerprint = Fingerprint();
  if (fingerprint == fingerprint_) return absl::OkStatus();
  fingerprint_ = std::move(fingerprint);
  auto read = Read();
  problem_ = read.status();
  // A certificate that a key has revoked stays revoked as long as the key is trusted, whatever else
  // the file with the authorities has.
  if (read.ok() && content_ != nullptr &&
      !(*read)->revoked.Covers(content_->revoked.Of((*read)->authority))) {
    problem_ = absl::FailedPreconditionError(
        absl::StrCat("--tls-crl ", files_.revocations,
                     " lacks certificates that were revoked before; they stay revoked. Copy the "
                     "newest list there"));
  }
  if (problem_.ok()) content_ = *std::move(read);
  return problem_;
}

std::string TlsStore::Fingerprint() const {
  std::string print;
  for (const std::string* path :
       {&files_.certificate, &files_.key, &files_.authority, &files_.revocations}) {
    struct stat facts = {};
    if (path->empty() || stat(path->c_str(), &facts) != 0) facts = {};
    absl::StrAppend(&print, facts.st_dev, " ", facts.st_ino, " ", facts.st_size, " ",
                    facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, " ", facts.st_ctim.tv_sec,
                    ".", facts.st_ctim.tv_nsec, "\n");
  }
  return print;
}

absl::StatusOr<std::shared_ptr<const TlsContent>> TlsStore::Read() const {
  auto content = std::make_shared<TlsContent>();
  for (const auto& [path, text] :
       {std::pair{&files_.certificate, &content->certificate},
        std::pair{&files_.key, &content->key}, std::pair{&files_.authority, &content->authority}}) {
    auto read = ReadRegularFile(*path, static_cast<size_t>(limits::kCertificateBytes));
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  // The files are checked here, since errors of gRPC name no file. A chain begins with the
  // program's own certificate, so that reading the first one is enough.
  auto own = ReadCertificate(content->certificate);
  if (!own.ok()) return In("--tls-cert", files_.certificate, own.status());
  content->own = *std::move(own);
  if (const auto authority = ReadCertificate(content->authority); !authority.ok()) {
    return In("--tls-ca", files_.authority, authority.status());
  }
  if (absl::Status key = CheckKeyOf(content->certificate, content->key); !key.ok()) {
    if (!absl::IsFailedPrecondition(key)) return In("--tls-key", files_.key, key);
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-key ", files_.key, " is not the key of the certificate in --tls-cert ",
                     files_.certificate));
  }
  if (absl::Status times = CheckTimes(files_, content->own); !times.ok()) return times;
  if (files_.revocations.empty()) return content;
  const auto crl =
      ReadRegularFile(files_.revocations, static_cast<size_t>(limits::kRevocationBytes));
  // Open() has refused a path that was named and led nowhere. Refresh() sees to it that a list
  // which has gone since does not let anybody in again.
  if (absl::IsNotFound(crl.status())) return content;
  if (!crl.ok()) return crl.status();
  auto revoked = RevocationList::Parse(*crl, content->authority);
  if (!revoked.ok()) return In("--tls-crl", files_.revocations, revoked.status());
  content->revoked = *std::move(revoked);
  return content;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const TlsFiles& files) {
  if (!files.IsTlsWanted()) return grpc::InsecureChannelCredentials();
  auto store = TlsStore::Open(files);
  if (!store.ok()) return store.status();
  return ChannelCredentialsOf(*(*store)->Current());
}

absl::StatusOr<CredentialsSource> MakeCredentialsSource(const TlsFiles& files) {
  // Without TLS nothing would check the name.
  if (!files.IsTlsWanted() && !files.server_name.empty()) {
    return absl::InvalidArgumentError(
        "--tls-server-name needs --tls-cert, --tls-key and --tls-ca, or --tls-dir");
  }
  if (!files.IsTlsWanted()) return CredentialsSource(&grpc::InsecureChannelCredentials);
  auto store = TlsStore::Open(files);
  if (!store.ok()) return store.status();
  return CredentialsSource([store = *std::move(store)] {
    // An error leaves the last content. It shows when the controller refuses that.
    (void)store->Refresh();
    return ChannelCredentialsOf(*store->Current());
  });
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(std::shared_ptr<const TlsStore> tls) {
  // The controller's main program has refused an address that others can reach unless
  // --insecure-plaintext was given (CheckBinds()).
  if (tls == nullptr) return grpc::InsecureServerCredentials();
  return std::make_shared<ReloadedCredentials>(std::move(tls));
}

}  // namespace lockstep::common
