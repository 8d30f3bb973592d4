// Keeps the machine's modules out of a program of a portable archive, whose C library is another
// one than the machine's. Loaded before the program's libraries (ld.so --preload).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <nss.h>
#include <stddef.h>
#include <stdint.h>

// openssl/crypto.h
#define OPENSSL_INIT_NO_LOAD_CONFIG 0x00000080L

__attribute__((constructor)) static void isolate(void) {
  // /etc/nsswitch.conf may name modules (sss, systemd, ldap, mdns) that lie in the loader's
  // standard directories. The two sources that remain are parts of the C library.
  static const char* const kFiles[] = {"aliases",  "ethers",   "group",  "gshadow",   "initgroups",
                                       "netgroup", "networks", "passwd", "protocols", "publickey",
                                       "rpc",      "services", "shadow"};
  for (size_t i = 0; i < sizeof kFiles / sizeof kFiles[0]; ++i) {
    __nss_configure_lookup(kFiles[i], "files");
  }
  __nss_configure_lookup("hosts", "files dns");
  // openssl.cnf of the machine may name providers and engines, which are modules, too.
  int (*init)(uint64_t, const void*) =
      (int (*)(uint64_t, const void*))dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
  if (init != NULL) init(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}
