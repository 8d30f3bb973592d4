#include "doctor/redact.h"

#include <string>

#include "gtest/gtest.h"

namespace lockstep::doctor {
namespace {

std::string Redacted(const std::string& text) { return Redactor().Redact(text); }

TEST(Redact, SecretsInEveryFormAreTakenOut) {
  for (const std::string text :
       {"postgresql://lockstep:S3cr3t@db.example/lockstep", "iscsi://user%S3cr3t@portal/iqn.a/0",
        "host=db password=S3cr3t user=x", "password = 'a S3cr3t b' user=x",
        "\"password\": \"S3cr3t\"", "{\\\"password\\\":\\\"S3cr3t\\\"}", "  db_passwd: S3cr3t",
        "labels: {password: S3cr3t, firmware: 1.2}", "labels.password=S3cr3t",
        "PGPASSWORD=S3cr3t psql", "--api-token S3cr3t run", "--api-token=S3cr3t",
        "Authorization: Bearer S3cr3tS3cr3tS3cr3t", "curl -H 'x: Bearer S3cr3t90123456'",
        "password: with, S3cr3t", "password=with,S3cr3t",
        // Values over several lines, lists, and other forms of YAML and JSON.
        "password: |\n  first\n\n  S3cr3t\nnext: x", "a:\n  token: >-\n    S3cr3t\n  b: x",
        "password: first\n  S3cr3t\nnext: x", "- password: first\n    S3cr3t\n  user: x",
        "passwords:\n- first\n- S3cr3t\nnext: x", "passwords:\n  - S3cr3t\nnext: x",
        "{passwords: [first, S3cr3t], next: x}", "\"passwords\": [\"first\", \"S3cr3t\"]",
        "\"secrets\": {\"a\": \"S3cr3t\"}", "\"password\": S3cr3t", "password: 'it''s S3cr3t'",
        "- name: PGPASSWORD\n  value: S3cr3t", "{\"key\": \"api-token\", \"value\": \"S3cr3t\"}",
        "{\"key\":\"password\",\"value\":\"S3cr3t\"}", "SSHPASS=S3cr3t ssh x",
        "encryption_key: S3cr3t", "sshpass -p S3cr3t ssh x", "sshpass -pS3cr3t ssh x",
        "curl -u admin:S3cr3t x", "curl --user 'admin:S3cr3t' x",
        "machine h login u password S3cr3t", "machine h\n  login u\n  password S3cr3t\n",
        "https://S3cr3t@git.example/x", "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.S3cr3t",
        "-----BEGIN PRIVATE KEY-----\nS3cr3t\n-----END PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nS3cr3t and the log ends here"}) {
    EXPECT_EQ(Redacted(text).find("S3cr3t"), std::string::npos) << Redacted(text);
    EXPECT_NE(Redacted(text).find(Redactor::kRedacted), std::string::npos) << text;
  }
}

TEST(Redact, TheRestOfTheTextStays) {
  EXPECT_EQ(Redacted("host=db password=x1 user=y"), "host=db password=[redacted] user=y");
  EXPECT_EQ(Redacted("postgresql://u:p@h/d?sslmode=require"),
            "postgresql://u:[redacted]@h/d?sslmode=require");
  EXPECT_EQ(Redacted("{\"password\": \"p\", \"iops\": 5}"),
            "{\"password\": \"[redacted]\", \"iops\": 5}");
  for (const std::string plain :
       {"- password: \n  user: x", "\"tokens\": true}", "name: mix\nvalue: 5",
        "http://127.0.0.1:9641/", "the plan's token is missing", "\"tokens\": 5,",
        "10 MiB/s at 12:00:01", "basic block size", "sudo bypass", "bypass: 1",
        "http://h/?mail=a@b", "postgresql://anna@db/x", "the login of anna: password unknown",
        "eyJ and more.", "sshpass -e ssh x", "usage: -u USER"}) {
    EXPECT_EQ(Redacted(plain), plain);
  }
}

TEST(Redact, WhatFollowsAValueStays) {
  EXPECT_EQ(Redacted("- password: x\n  user: y\n"), "- password: [redacted]\n  user: y\n");
  EXPECT_EQ(Redacted("password: |\n  x\n  y\nuser: z"), "password: [redacted]\nuser: z");
  EXPECT_EQ(Redacted("[{\"name\": \"token\", \"value\": \"x\", \"unit\": \"y\"}]"),
            "[{\"name\": \"token\", \"value\": \"[redacted]\", \"unit\": \"y\"}]");
}

TEST(Redact, ASecretIsKnownByItsPartsAndWithoutItsCodes) {
  Redactor redactor;
  redactor.Learn("postgresql://u@h/d?password=hunter2two&sslmode=require");
  redactor.Learn("postgresql://u:p%40ssw%3Ard@h/d");
  EXPECT_EQ(redactor.Redact("hunter2two, p@ssw:rd"), "[redacted], [redacted]");
}

TEST(Redact, OfSecretsThatOverlapNothingStays) {
  Redactor redactor;
  redactor.AddSecret("abcdefgh");
  redactor.AddSecret("efghijkl");
  redactor.AddSecret("abcdefghi");
  EXPECT_EQ(redactor.Redact("<abcdefghijkl>"), "<[redacted]>");
}

// A log is others' text: it must not keep the command busy for hours.
TEST(Redact, NoTextTakesTheSquareOfItsLength) {
  constexpr size_t kBytes = 1 << 20;
  for (const std::string part : {"a://", "password: 1 ", "{password=x ", "-----BEGIN ",
                                 "key: ", "password: [", "password: '", "\npassword:\n ", "login ",
                                 "-u ", "eyJ", "eyJ.", "sshpass -p ", "https://"}) {
    std::string text;
    while (text.size() < kBytes) text += part;
    EXPECT_LE(Redacted(text).size(), 2 * text.size());
  }
  Redactor redactor;
  std::string text;
  for (int i = 0; text.size() < kBytes; ++i) {
    text += "password=secret" + std::to_string(i) + "x\n";
  }
  redactor.Learn(text);
  EXPECT_EQ(redactor.Redact("secret77x"), "[redacted]");
  EXPECT_EQ(redactor.Redact(text).find("secret"), std::string::npos);
}

TEST(Redact, ASecretOfOneTextIsTakenOutOfAll) {
  Redactor redactor;
  redactor.Learn("labels:\n  password: hunter22<3\n");
  EXPECT_EQ(redactor.Redact("it said hunter22<3 to me"), "it said [redacted] to me");
  // As JSON has it.
  EXPECT_EQ(redactor.Redact("it said hunter22\\u003c3 to me"), "it said [redacted] to me");
}

TEST(Redact, FilesOfSecretsAreTakenOutLineByLine) {
  Redactor redactor;
  redactor.AddSecretFile("iqn.2001.com.example:disk chapuser Chap-Secret-1\n");
  redactor.AddSecretFile("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByq\n-----END PRIVATE KEY-----");
  EXPECT_EQ(redactor.Redact("login with Chap-Secret-1 failed"), "login with [redacted] failed");
  EXPECT_EQ(redactor.Redact("read MIGHAgEAMBMGByq"), "read [redacted]");
  EXPECT_EQ(redactor.Redact("iqn.2001.com.example:disk"), "iqn.2001.com.example:disk");
}

TEST(Redact, ShortTextsAndNumbersAreLearntByNobody) {
  Redactor redactor;
  redactor.Learn("password: ab");
  redactor.Learn("password: 12345678");
  EXPECT_EQ(redactor.Redact("about 12345678 I/Os"), "about 12345678 I/Os");
}

}  // namespace
}  // namespace lockstep::doctor
