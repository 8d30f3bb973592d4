#include "controller/pki/authority.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cctype>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/certificate.h"
#include "common/openssl_text.h"
#include "common/text.h"

namespace lockstep::pki {
namespace {

using common::NoPassword;
using common::OpensslError;
using common::ReaderOf;
using common::WrittenText;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Crl = std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)>;

constexpr size_t kMaxName = 64;  // ub-common-name (RFC 5280, appendix A)
constexpr int kSerialBytes = 16;
constexpr int kMinRsaBits = 2048;
// A host whose clock is a little behind must be able to use a new certificate at once.
constexpr absl::Duration kBackdated = absl::Minutes(5);
constexpr char kRoleEnd[] = ".role.lockstep";
constexpr Holder kHolders[] = {Holder::kController, Holder::kWorker, Holder::kViewer,
                               Holder::kSubmitter, Holder::kAdmin};

Key ReadKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(ReaderOf(pem).get(), nullptr, NoPassword, nullptr),
          EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

Certificate ReadX509(const std::string& pem) {
  Certificate read(PEM_read_bio_X509(ReaderOf(pem).get(), nullptr, NoPassword, nullptr), X509_free);
  ERR_clear_error();
  return read;
}

bool SetTime(ASN1_TIME* to, absl::Time time) {
  return ASN1_TIME_set(to, static_cast<time_t>(absl::ToUnixSeconds(time))) != nullptr;
}

// Random serial numbers: nobody needs a counter that two machines could count up at once, and none
// can be guessed before the certificate is signed.
bool SetSerial(ASN1_INTEGER* to) {
  unsigned char bytes[kSerialBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = (bytes[0] & 0x3f) | 0x40;  // positive, and always of the same length
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_bin2bn(bytes, sizeof bytes, nullptr),
                                                           BN_free);
  return number != nullptr && BN_to_ASN1_INTEGER(number.get(), to) != nullptr;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// The text of X509V3_EXT_conf_nid() is a small language, in which a comma begins the next name. The
// names have been checked: none has one.
std::string AlternativeNames(const Request& request) {
  if (request.holder != Holder::kController) {
    return absl::StrCat("DNS:", HolderName(request.holder), kRoleEnd);
  }
  return absl::StrJoin(request.addresses, ",", [](std::string* out, const std::string& address) {
    unsigned char bytes[16];
    const bool is_ip = inet_pton(AF_INET, address.c_str(), bytes) == 1 ||
                       inet_pton(AF_INET6, address.c_str(), bytes) == 1;
    absl::StrAppend(out, is_ip ? "IP:" : "DNS:", address);
  });
}

absl::Status CheckRequest(const Request& request) {
  if (absl::Status name = CheckName(request.name); !name.ok()) return name;
  if (request.holder == Holder::kController && request.addresses.empty()) {
    return absl::InvalidArgumentError("a controller's certificate needs an address");
  }
  if (request.holder != Holder::kController && !request.addresses.empty()) {
    return absl::InvalidArgumentError("only a controller's certificate has addresses");
  }
  for (const std::string& address : request.addresses) {
    if (absl::Status status = CheckControllerAddress(address); !status.ok()) return status;
  }
  if (request.not_after <= request.not_before) {
    return absl::InvalidArgumentError("the certificate would expire before it begins");
  }
  return absl::OkStatus();
}

absl::Status CheckStrength(const EVP_PKEY* key) {
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_ED25519) return absl::OkStatus();
  if (type == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= kMinRsaBits) return absl::OkStatus();
  char group[64] = {};
  if (type == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1) {
    for (const char* good : {"prime256v1", "secp384r1", "secp521r1"}) {
      if (std::string(group) == good) return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      "this kind of key is not accepted; make one with: openssl ecparam -name prime256v1 -genkey "
      "-noout");
}

// A certificate without extensions and signature.
Certificate Blank(const std::string& name, EVP_PKEY* key, absl::Time begin, absl::Time end) {
  Certificate made(X509_new(), X509_free);
  if (made == nullptr || X509_set_version(made.get(), X509_VERSION_3) != 1 ||
      !SetSerial(X509_get_serialNumber(made.get())) ||
      !SetTime(X509_getm_notBefore(made.get()), begin - kBackdated) ||
      !SetTime(X509_getm_notAfter(made.get()), end) || X509_set_pubkey(made.get(), key) != 1 ||
      X509_NAME_add_entry_by_NID(X509_get_subject_name(made.get()), NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0) != 1) {
    made.reset();
  }
  return made;
}

absl::StatusOr<std::string> Issue(const Request& request, EVP_PKEY* public_key,
                                  const std::string& authority_pem, const std::string& key_pem) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  if (absl::Status status = CheckStrength(public_key); !status.ok()) return status;
  const Certificate authority = ReadX509(authority_pem);
  const Key key = ReadKey(key_pem);
  const auto facts = common::ReadCertificate(authority_pem);
  if (authority == nullptr || key == nullptr || !facts.ok())
    return OpensslError("read the authority");
  // A certificate is invalid as soon as its authority is: a longer one would promise too much.
  if (request.not_after > facts->not_after) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate would outlive its authority, which ",
                     common::DescribeExpiry(*facts, request.not_before), "; say a shorter time"));
  }
  const Certificate made = Blank(request.name, public_key, request.not_before, request.not_after);
  // The usage keeps a controller's certificate from calling, and the others from being taken for a
  // controller's.
  const char* usage = request.holder == Holder::kController ? "serverAuth" : "clientAuth";
  if (made == nullptr ||
      X509_set_issuer_name(made.get(), X509_get_subject_name(authority.get())) != 1 ||
      !AddExtension(made.get(), authority.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(made.get(), authority.get(), NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(made.get(), authority.get(), NID_ext_key_usage, usage) ||
      !AddExtension(made.get(), authority.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(made.get(), authority.get(), NID_authority_key_identifier, "keyid:always") ||
      !AddExtension(made.get(), authority.get(), NID_subject_alt_name, AlternativeNames(request)) ||
      X509_sign(made.get(), key.get(), EVP_sha256()) == 0) {
    return OpensslError("make the certificate");
  }
  return WrittenText([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
}

// The text of the request's only challengePassword; empty without one.
std::string ChallengeOf(const X509_REQ* csr) {
  const int index = X509_REQ_get_attr_by_NID(csr, NID_pkcs9_challengePassword, -1);
  if (index < 0 || X509_REQ_get_attr_by_NID(csr, NID_pkcs9_challengePassword, index) >= 0) {
    return "";
  }
  X509_ATTRIBUTE* attribute = X509_REQ_get_attr(csr, index);
  if (X509_ATTRIBUTE_count(attribute) != 1) return "";
  const ASN1_TYPE* value = X509_ATTRIBUTE_get0_type(attribute, 0);
  if (value == nullptr ||
      (value->type != V_ASN1_UTF8STRING && value->type != V_ASN1_PRINTABLESTRING)) {
    return "";
  }
  const ASN1_STRING* text = value->value.asn1_string;
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

bool AddRevoked(X509_CRL* list, const X509* certificate, absl::Time now) {
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> at(ASN1_TIME_new(), ASN1_TIME_free);
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  X509_REVOKED* found = nullptr;
  // A list names a certificate once, so that a repeated command changes nothing.
  if (X509_CRL_get0_by_serial(list, &found, const_cast<ASN1_INTEGER*>(serial)) != 0) return true;
  std::unique_ptr<X509_REVOKED, decltype(&X509_REVOKED_free)> revoked(X509_REVOKED_new(),
                                                                      X509_REVOKED_free);
  if (at == nullptr || revoked == nullptr || !SetTime(at.get(), now) ||
      X509_REVOKED_set_serialNumber(revoked.get(), const_cast<ASN1_INTEGER*>(serial)) != 1 ||
      X509_REVOKED_set_revocationDate(revoked.get(), at.get()) != 1 ||
      X509_CRL_add0_revoked(list, revoked.get()) != 1) {
    return false;
  }
  (void)revoked.release();  // the list's now
  return true;
}

}  // namespace

const char* HolderName(Holder holder) {
  switch (holder) {
    case Holder::kController:
      return "controller";
    case Holder::kWorker:
      return "worker";
    case Holder::kViewer:
      return "viewer";
    case Holder::kSubmitter:
      return "submitter";
    case Holder::kAdmin:
      return "admin";
  }
  return "?";
}

absl::Status CheckName(const std::string& name) {
  // The name becomes a path: no character of it may lead out of the directory.
  const auto may_stand = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' ||
           c == '@';
  };
  bool good = !name.empty() && name.size() <= kMaxName &&
              absl::ascii_isalnum(static_cast<unsigned char>(name[0]));
  for (const char c : name) good = good && may_stand(c);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", common::Printable(name, 80),
                   "' cannot be a name; write letters, digits, '.', '_', '-' "
                   "and '@', at most ",
                   kMaxName, ", beginning with a letter or digit"));
}

absl::Status CheckControllerAddress(const std::string& address) {
  unsigned char bytes[16];
  if (inet_pton(AF_INET, address.c_str(), bytes) == 1 ||
      inet_pton(AF_INET6, address.c_str(), bytes) == 1) {
    return absl::OkStatus();
  }
  // PrincipalOf() takes such a name for a role, whoever shows it.
  if (absl::EndsWith(absl::AsciiStrToLower(address), kRoleEnd)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", common::Printable(address, 80), "' is a role, not an address"));
  }
  if (common::IsHostName(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", common::Printable(address, 80),
                   "' cannot be an address; write a host's name or an IP address, without a port"));
}

absl::StatusOr<std::string> MakeAuthority(const std::string& key_pem, const std::string& name,
                                          absl::Time not_before, absl::Time not_after) {
  if (name.empty() || name.size() > kMaxName || !common::IsPlainLine(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an authority's name is text on one line, of at most ", kMaxName, " bytes"));
  }
  const Key key = ReadKey(key_pem);
  if (key == nullptr) return OpensslError("read the key");
  const Certificate made = Blank(name, key.get(), not_before, not_after);
  // With a path length of 0 no certificate that it signs can sign others.
  if (made == nullptr || X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) != 1 ||
      !AddExtension(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(made.get(), made.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(made.get(), key.get(), EVP_sha256()) == 0) {
    return OpensslError("make the authority's certificate");
  }
  return WrittenText([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
}

absl::StatusOr<Authority> Authority::Open(std::string certificate_pem, std::string key_pem) {
  const Certificate certificate = ReadX509(certificate_pem);
  if (certificate == nullptr || X509_check_ca(certificate.get()) != 1) {
    return absl::FailedPreconditionError("is no certificate of an authority");
  }
  if (absl::Status key = common::CheckKeyOf(certificate_pem, key_pem); !key.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("the authority's key: ", key.message()));
  }
  return Authority(std::move(certificate_pem), std::move(key_pem));
}

absl::StatusOr<std::string> Authority::IssueForKey(const Request& request,
                                                   const std::string& key_pem) const {
  const Key key = ReadKey(key_pem);
  if (key == nullptr) return absl::InvalidArgumentError("no key in PEM without a password");
  return Issue(request, key.get(), certificate_pem_, key_pem_);
}

absl::StatusOr<std::string> Authority::IssueForCsr(const Request& request,
                                                   const std::string& csr_pem,
                                                   const std::string& challenge) const {
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> csr(
      PEM_read_bio_X509_REQ(ReaderOf(csr_pem).get(), nullptr, NoPassword, nullptr), X509_REQ_free);
  EVP_PKEY* key = csr == nullptr ? nullptr : X509_REQ_get0_pubkey(csr.get());
  ERR_clear_error();
  if (key == nullptr) return absl::InvalidArgumentError("no certificate request in PEM");
  // Before the key is used: whoever sends the request chooses how much work its signature is.
  if (absl::Status strength = CheckStrength(key); !strength.ok()) return strength;
  // The signature proves that whoever asks has the key.
  const bool is_signed = X509_REQ_verify(csr.get(), key) == 1;
  ERR_clear_error();
  if (!is_signed) {
    return absl::InvalidArgumentError("the certificate request is not signed by its own key");
  }
  if (!challenge.empty() && ChallengeOf(csr.get()) != challenge) {
    return absl::InvalidArgumentError(
        "the certificate request does not carry the challenge of this command; it is another "
        "program's, or an old one");
  }
  return Issue(request, key, certificate_pem_, key_pem_);
}

absl::StatusOr<std::string> Authority::Renew(const Request& request,
                                             const std::string& certificate_pem) const {
  const Certificate old = ReadX509(certificate_pem);
  // The key stays, so that its owner need not bring it here to renew the certificate.
  EVP_PKEY* key = old == nullptr ? nullptr : X509_get0_pubkey(old.get());
  if (key == nullptr) return absl::InvalidArgumentError("no certificate in PEM");
  return Issue(request, key, certificate_pem_, key_pem_);
}

absl::StatusOr<std::string> Authority::Revoke(const std::string& list_pem,
                                              const std::vector<std::string>& certificates_pem,
                                              absl::Time now) const {
  const Certificate authority = ReadX509(certificate_pem_);
  const Key key = ReadKey(key_pem_);
  if (authority == nullptr || key == nullptr) return OpensslError("read the authority");
  Crl list(X509_CRL_new(), X509_CRL_free);
  if (!list_pem.empty()) {
    if (const auto old = common::RevocationList::Parse(list_pem, certificate_pem_); !old.ok()) {
      return old.status();
    }
    list.reset(PEM_read_bio_X509_CRL(ReaderOf(list_pem).get(), nullptr, NoPassword, nullptr));
  }
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> at(ASN1_TIME_new(), ASN1_TIME_free);
  // No nextUpdate: a list that nobody renews must not let in whom it keeps out, or keep out all.
  if (list == nullptr || at == nullptr || !SetTime(at.get(), now) ||
      X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(authority.get())) != 1 ||
      X509_CRL_set1_lastUpdate(list.get(), at.get()) != 1) {
    return OpensslError("make the revocation list");
  }
  for (const std::string& pem : certificates_pem) {
    const Certificate certificate = ReadX509(pem);
    if (certificate == nullptr) return absl::InvalidArgumentError("no certificate in PEM");
    if (!AddRevoked(list.get(), certificate.get(), now))
      return OpensslError("revoke the certificate");
  }
  if (X509_CRL_sort(list.get()) != 1 || X509_CRL_sign(list.get(), key.get(), EVP_sha256()) == 0) {
    return OpensslError("sign the revocation list");
  }
  return WrittenText([&](BIO* out) { return PEM_write_bio_X509_CRL(out, list.get()); });
}

absl::StatusOr<Request> RequestOf(const std::string& certificate_pem) {
  const auto facts = common::ReadCertificate(certificate_pem);
  if (!facts.ok()) return facts.status();
  Request request;
  request.name = facts->name;
  // Blank() dates the certificate back again.
  request.not_before = facts->not_before + kBackdated;
  request.not_after = facts->not_after;
  for (const Holder holder : kHolders) {
    if (holder != Holder::kController && facts->addresses.empty() &&
        facts->dns_names == std::vector{absl::StrCat(HolderName(holder), kRoleEnd)}) {
      request.holder = holder;
      return request;
    }
  }
  request.holder = Holder::kController;
  request.addresses = facts->dns_names;
  request.addresses.insert(request.addresses.end(), facts->addresses.begin(),
                           facts->addresses.end());
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  return request;
}

}  // namespace lockstep::pki
