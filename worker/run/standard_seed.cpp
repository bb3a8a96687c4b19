#include "worker/run/standard_seed.hpp"

#include <sstream>

namespace cupel::worker {
namespace {

/// The public packages that every supported Go has. Vetting a program that imports them makes the
/// facts that vet keeps of the standard library; vetting "std" itself would vet its tests too, for
/// minutes. go test vets with other flags and keeps facts of its own: without those each first
/// `go test` of a validation analysed the standard library anew (8.5 s against 1.5 s).
constexpr const char* kVettedPackages =
    "archive/tar archive/zip bufio bytes compress/bzip2 compress/flate compress/gzip "
    "compress/lzw compress/zlib container/heap container/list container/ring context "
    "crypto crypto/aes crypto/cipher crypto/des crypto/dsa crypto/ecdsa crypto/ed25519 "
    "crypto/elliptic crypto/hmac crypto/md5 crypto/rand crypto/rc4 crypto/rsa crypto/sha1 "
    "crypto/sha256 crypto/sha512 crypto/subtle crypto/tls crypto/x509 crypto/x509/pkix "
    "database/sql database/sql/driver debug/buildinfo debug/dwarf debug/elf debug/gosym "
    "debug/macho debug/pe debug/plan9obj embed encoding encoding/ascii85 encoding/asn1 "
    "encoding/base32 encoding/base64 encoding/binary encoding/csv encoding/gob "
    "encoding/hex encoding/json encoding/pem encoding/xml expvar flag fmt go/ast go/build "
    "go/build/constraint go/constant go/doc go/format go/importer go/parser go/printer "
    "go/scanner go/token go/types hash hash/adler32 hash/crc32 hash/crc64 hash/fnv "
    "hash/maphash html html/template image image/color image/color/palette image/draw "
    "image/gif image/jpeg image/png index/suffixarray io io/fs io/ioutil log log/syslog "
    "math math/big math/bits math/cmplx math/rand mime mime/multipart "
    "mime/quotedprintable net net/http net/http/cgi net/http/cookiejar net/http/fcgi "
    "net/http/httptest net/http/httptrace net/http/httputil net/http/pprof net/mail "
    "net/netip net/rpc net/rpc/jsonrpc net/smtp net/textproto net/url os os/exec "
    "os/signal os/user path path/filepath reflect regexp regexp/syntax runtime "
    "runtime/debug runtime/metrics runtime/pprof runtime/trace sort strconv strings sync "
    "sync/atomic syscall testing testing/fstest testing/iotest testing/quick text/scanner "
    "text/tabwriter text/template text/template/parse time time/tzdata unicode "
    "unicode/utf16 unicode/utf8 ";

constexpr const char* kSeedTest =
    "package seed\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n";

/// A program of ours that imports them all.
std::string importing_program() {
  std::string text = "package seed\n\nimport (\n";
  std::istringstream words(kVettedPackages);
  for (std::string word; words >> word;) text += "\t_ \"" + word + "\"\n";
  return text + ")\n";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> standard_seed_program() {
  return {{"go.mod", "module seed.invalid/seed\n\ngo 1.18\n"},
          {"seed.go", importing_program()},
          {"seed_test.go", kSeedTest}};
}

std::vector<SeedCommand> standard_seed_commands() {
  return {{.words = {"go", "build", "std"}},
          {.words = {"go", "vet", "-json", "."}, .may_remark = true},
          {.words = {"go", "test", "."}, .may_remark = true}};
}

}  // namespace cupel::worker
