#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "common/certificate_request.h"
#include "common/openssl_text.h"
#include "gtest/gtest.h"

namespace lockstep::pki {

// A request as a host makes it, of a new key.
inline std::string ChallengedRequest(const std::string& challenge) {
  const auto key = common::MakePrivateKey();
  EXPECT_TRUE(key.ok()) << key.status();
  const auto request = common::MakeCertificateRequest(key.ok() ? *key : "", challenge);
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? *request : "";
}

// A request of this key for this name, which `signer` signs. Lockstep makes none such: no host
// asks for a name, or signs for the key of somebody else. Without a challenge if that is empty.
inline std::string RequestOfKey(EVP_PKEY* key, EVP_PKEY* signer, const std::string& name,
                                const std::string& challenge = "") {
  X509_REQ* csr = X509_REQ_new();
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(csr), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  if (!challenge.empty()) {
    X509_REQ_add1_attr_by_NID(csr, NID_pkcs9_challengePassword, MBSTRING_UTF8,
                              reinterpret_cast<const unsigned char*>(challenge.data()),
                              static_cast<int>(challenge.size()));
  }
  X509_REQ_set_pubkey(csr, key);
  X509_REQ_sign(csr, signer, EVP_sha256());
  std::string pem = common::WrittenText([&](BIO* out) { return PEM_write_bio_X509_REQ(out, csr); });
  X509_REQ_free(csr);
  return pem;
}

}  // namespace lockstep::pki
