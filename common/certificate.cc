#include "common/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/openssl_text.h"

namespace lockstep::common {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr absl::Duration kSoon = absl::Hours(30 * 24);
constexpr int kSoonShare = 3;  // of a life that is shorter

Certificate NextCertificate(BIO* memory) {
  Certificate read(PEM_read_bio_X509(memory, nullptr, NoPassword, nullptr), X509_free);
  // gRPC uses OpenSSL on the same threads, and takes what is left in their queues for errors of its
  // own calls.
  if (read == nullptr) ERR_clear_error();
  return read;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    ERR_clear_error();
    return absl::InfinitePast();  // of a certificate's end: expired
  }
  return absl::FromCivil(absl::CivilSecond(parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                           parts.tm_hour, parts.tm_min, parts.tm_sec),
                         absl::UTCTimeZone());
}

std::string SerialOf(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(ASN1_INTEGER_to_BN(serial, nullptr),
                                                           BN_free);
  if (number == nullptr) return "";
  char* text = BN_bn2hex(number.get());
  std::string hexadecimal = text == nullptr ? "" : text;
  OPENSSL_free(text);
  return hexadecimal;
}

std::string IdOf(const X509_NAME* issuer, const ASN1_INTEGER* serial) {
  char* text = X509_NAME_oneline(issuer, nullptr, 0);
  std::string id = absl::StrCat(text == nullptr ? "" : text, "#", SerialOf(serial));
  OPENSSL_free(text);
  return id;
}

std::string CommonNameOf(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return "";
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index));
  unsigned char* text = nullptr;
  const int length = ASN1_STRING_to_UTF8(&text, value);
  std::string name;
  if (length > 0) name.assign(reinterpret_cast<char*>(text), static_cast<size_t>(length));
  if (length >= 0) OPENSSL_free(text);
  return name;
}

std::vector<Certificate> CertificatesIn(const std::string& pem) {
  std::vector<Certificate> found;
  const OpensslMemory memory = ReaderOf(pem);
  while (Certificate next = NextCertificate(memory.get())) found.push_back(std::move(next));
  return found;
}

std::string KeyDigest(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (X509_pubkey_digest(certificate, EVP_sha256(), digest, &length) != 1) length = 0;
  return {reinterpret_cast<char*>(digest), length};
}

void AddAlternativeNames(const X509* certificate, CertificateFacts* facts) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) {
      const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                             static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
      if (text.find('\0') == std::string::npos) facts->dns_names.push_back(text);
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = {};
      const int length = ASN1_STRING_length(name->d.iPAddress);
      if (length != 4 && length != 16) continue;
      inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), text,
                sizeof text);
      facts->addresses.emplace_back(text);
    }
  }
  GENERAL_NAMES_free(names);
}

}  // namespace

Validity ValidityAt(const CertificateFacts& facts, absl::Time now) {
  if (now >= facts.not_after) return Validity::kExpired;
  const absl::Duration life = facts.not_after - facts.not_before;
  return facts.not_after - now < std::min(kSoon, life / kSoonShare) ? Validity::kSoonExpired
                                                                    : Validity::kValid;
}

std::string DescribeExpiry(const CertificateFacts& facts, absl::Time now) {
  const std::string day = absl::FormatTime("%Y-%m-%d", facts.not_after, absl::UTCTimeZone());
  if (now >= facts.not_after) return absl::StrCat("has expired on ", day);
  const int64_t hours = absl::ToInt64Hours(facts.not_after - now);
  return absl::StrCat("expires on ", day, ", in ",
                      hours >= 48 ? absl::StrCat(hours / 24, " days")
                      : hours >= 2
                          ? absl::StrCat(hours, " hours")
                          : absl::StrCat(absl::ToInt64Minutes(facts.not_after - now), " minutes"));
}

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem) {
  const Certificate certificate = NextCertificate(ReaderOf(pem).get());
  if (certificate == nullptr) return absl::InvalidArgumentError("no certificate in PEM");
  CertificateFacts facts;
  facts.name = CommonNameOf(certificate.get());
  AddAlternativeNames(certificate.get(), &facts);
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
  facts.serial = SerialOf(serial);
  facts.id = IdOf(X509_get_issuer_name(certificate.get()), serial);
  facts.key = KeyDigest(certificate.get());
  facts.not_before = TimeOf(X509_get0_notBefore(certificate.get()));
  facts.not_after = TimeOf(X509_get0_notAfter(certificate.get()));
  return facts;
}

std::string CertificatesOnly(const std::string& pem) {
  const OpensslMemory memory(BIO_new(BIO_s_mem()), BIO_free);
  for (const Certificate& one : CertificatesIn(pem)) {
    if (memory == nullptr || PEM_write_bio_X509(memory.get(), one.get()) != 1) return "";
  }
  char* text = nullptr;
  const auto length = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(length)};
}

bool HasCertificate(const std::string& pem, const std::string& certificate_pem) {
  const Certificate wanted = NextCertificate(ReaderOf(certificate_pem).get());
  if (wanted == nullptr) return false;
  const std::vector<Certificate> all = CertificatesIn(pem);
  return std::any_of(all.begin(), all.end(), [&](const Certificate& one) {
    return X509_cmp(one.get(), wanted.get()) == 0;
  });
}

absl::Status CheckKeyOf(const std::string& certificate_pem, const std::string& key_pem) {
  const Certificate certificate = NextCertificate(ReaderOf(certificate_pem).get());
  if (certificate == nullptr) return absl::InvalidArgumentError("no certificate in PEM");
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(ReaderOf(key_pem).get(), nullptr, NoPassword, nullptr),
      EVP_PKEY_free);
  const bool matches = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) return absl::InvalidArgumentError("no key in PEM without a password");
  return matches ? absl::OkStatus()
                 : absl::FailedPreconditionError("is not the key of the certificate");
}

absl::StatusOr<RevocationList> RevocationList::Parse(const std::string& pem,
                                                     const std::string& authority_pem) {
  const std::vector<Certificate> authorities = CertificatesIn(authority_pem);
  RevocationList list;
  size_t lists = 0;
  ERR_clear_error();
  const OpensslMemory memory = ReaderOf(pem);
  while (true) {
    const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> crl(
        PEM_read_bio_X509_CRL(memory.get(), nullptr, NoPassword, nullptr), X509_CRL_free);
    // The end of the text is no error. A list that is damaged must not end the reading unnoticed.
    const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (crl == nullptr && is_end) break;
    if (crl == nullptr) {
      ERR_clear_error();
      return absl::InvalidArgumentError("a revocation list is damaged");
    }
    ++lists;
    X509_NAME* issuer = X509_CRL_get_issuer(crl.get());
    const auto signer =
        std::find_if(authorities.begin(), authorities.end(), [&](const Certificate& authority) {
          return X509_NAME_cmp(issuer, X509_get_subject_name(authority.get())) == 0 &&
                 X509_CRL_verify(crl.get(), X509_get0_pubkey(authority.get())) == 1;
        });
    ERR_clear_error();
    if (signer == authorities.end()) {
      return absl::InvalidArgumentError("no authority in --tls-ca signed the revocation list");
    }
    const std::string key = KeyDigest(signer->get());
    STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(crl.get());
    for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
      const X509_REVOKED* one = sk_X509_REVOKED_value(revoked, i);
      list.signers_[IdOf(issuer, X509_REVOKED_get0_serialNumber(one))] = key;
    }
  }
  ERR_clear_error();
  if (lists == 0) return absl::InvalidArgumentError("no revocation list in PEM");
  return list;
}

bool RevocationList::Covers(const RevocationList& other) const {
  return std::all_of(other.signers_.begin(), other.signers_.end(),
                     [&](const auto& revoked) { return signers_.contains(revoked.first); });
}

RevocationList RevocationList::Of(const std::string& authority_pem) const {
  std::set<std::string> keys;
  for (const Certificate& authority : CertificatesIn(authority_pem)) {
    keys.insert(KeyDigest(authority.get()));
  }
  RevocationList list;
  for (const auto& [id, signer] : signers_) {
    if (keys.contains(signer)) list.signers_[id] = signer;
  }
  return list;
}

}  // namespace lockstep::common
