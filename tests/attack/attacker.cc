// A client that means harm, for the integration tests: it calls what it must not, says what it is
// not, and sends what no client sends.
//
//   attacker surface CALLER
//       Every RPC with an empty message; prints a line `METHOD STATUS` for each.
//   attacker jobs CALLER
//       A job with one absurd value, for every field of a job; prints a line for each accepted one.
//   attacker storm CALLER --calls N --parallel P
//       Mixed hostile calls; prints a line `STATUS COUNT` for each status.
//   attacker impostor CALLER --worker-id ID --host-id ID --name NAME [--run ID]
//       Attaches as another worker, and delivers an empty result of phase 1 in its name.
//   attacker liar --answer TEXT
//       A controller that gives TEXT as its store's address; prints `listen ADDRESS` and serves
//       until its input ends.
//
// CALLER is --controller ADDRESS [--tls-cert F --tls-key F --tls-ca F].

#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/tls.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.grpc.pb.h"
#include "proto/worker.grpc.pb.h"

namespace lockstep {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string NameOf(grpc::StatusCode code) {
  static const char* const kNames[] = {"OK",
                                       "CANCELLED",
                                       "UNKNOWN",
                                       "INVALID_ARGUMENT",
                                       "DEADLINE_EXCEEDED",
                                       "NOT_FOUND",
                                       "ALREADY_EXISTS",
                                       "PERMISSION_DENIED",
                                       "RESOURCE_EXHAUSTED",
                                       "FAILED_PRECONDITION",
                                       "ABORTED",
                                       "OUT_OF_RANGE",
                                       "UNIMPLEMENTED",
                                       "INTERNAL",
                                       "UNAVAILABLE",
                                       "DATA_LOSS",
                                       "UNAUTHENTICATED"};
  return code >= 0 && code <= 16 ? kNames[code] : "?";
}

// One call of any RPC with any bytes, until its first answer or its end; streaming or not is the
// same on the wire. OK when it was answered.
grpc::StatusCode RawCall(grpc::GenericStub* stub, const std::string& method,
                         const std::string& bytes, std::chrono::milliseconds patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  grpc::Slice slice(bytes);
  grpc::ByteBuffer answer;
  grpc::Status status;
  auto call = stub->PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  bool answered = done();
  if (answered) {
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    (void)done();
    call->Read(&answer, nullptr);
    answered = done();
    if (answered) context.TryCancel();
  }
  call->Finish(&status, nullptr);
  (void)done();
  queue.Shutdown();
  return answered ? grpc::OK : status.error_code();
}

std::vector<std::string> Methods() {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitRequest::descriptor()->file(), v1::Hello::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int m = 0; m < file->service(i)->method_count(); ++m) {
        methods.push_back("/" + file->service(i)->full_name() + "/" +
                          file->service(i)->method(m)->name());
      }
    }
  }
  return methods;
}

int Surface(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  for (const std::string& method : Methods()) {
    std::cout << method.substr(method.rfind('/') + 1) << " "
              << NameOf(RawCall(&stub, method, "", std::chrono::seconds(20))) << "\n";
  }
  return 0;
}

// -------------------------------------------------------------------------------------------------
// absurd jobs

v1::JobSpec GoodJob() {
  v1::JobSpec job;
  google::protobuf::TextFormat::ParseFromString(R"(
    name: "absurd"
    hosts { count: 1 }
    targets { name: "t" null { size_bytes: 1073741824 } }
    phases { name: "load" run { duration_ns: 1000000000 workloads { name: "w" } } }
  )",
                                                &job);
  return job;
}

struct Absurd {
  std::string what;
  std::function<void(Message*, const FieldDescriptor*)> set;
};

using Set = std::function<void(Message*, const FieldDescriptor*)>;

// A value of a field, or one more item of it where it is a list.
template <typename Value>
Set Setter(void (google::protobuf::Reflection::*set)(Message*, const FieldDescriptor*, Value) const,
           void (google::protobuf::Reflection::*add)(Message*, const FieldDescriptor*, Value) const,
           std::decay_t<Value> value) {
  return [set, add, value](Message* message, const FieldDescriptor* field) {
    (message->GetReflection()->*(field->is_repeated() ? add : set))(message, field, value);
  };
}

std::vector<Absurd> AbsurdTexts(const FieldDescriptor* field) {
  using google::protobuf::Reflection;
  std::map<std::string, std::string> texts = {{"900 kB", std::string(900000, 'x')},
                                              {"escape", "a\x1b]0;owned\a"},
                                              {"NUL", std::string("a\0b", 3)}};
  if (field->name() == "names") {
    texts["range"] = "x[4294967295-4294967295]";
    texts["product"] = "x[0-65535][0-65535]";
  }
  std::vector<Absurd> values;
  for (const auto& [what, text] : texts) {
    values.push_back({what, Setter(&Reflection::SetString, &Reflection::AddString, text)});
  }
  if (field->is_repeated()) {
    values.push_back({"100,000 of them", [](Message* m, const FieldDescriptor* f) {
                        for (int i = 0; i < 100000; ++i) {
                          m->GetReflection()->AddString(m, f, "n" + std::to_string(i));
                        }
                      }});
  }
  return values;
}

std::vector<Absurd> AbsurdValues(const FieldDescriptor* field) {
  using google::protobuf::Reflection;
  using Double = std::numeric_limits<double>;
  using Int64 = std::numeric_limits<int64_t>;
  std::vector<Absurd> values;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      for (const double v :
           {Double::quiet_NaN(), Double::infinity(), -Double::infinity(), -1.0, 1e300}) {
        values.push_back({std::to_string(v).substr(0, 12),
                          Setter(&Reflection::SetDouble, &Reflection::AddDouble, v)});
      }
      return values;
    case FieldDescriptor::CPPTYPE_INT64:
      for (const int64_t v : {int64_t{-1}, Int64::min(), Int64::max()}) {
        values.push_back(
            {std::to_string(v), Setter(&Reflection::SetInt64, &Reflection::AddInt64, v)});
      }
      return values;
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"4294967295", Setter(&Reflection::SetUInt32, &Reflection::AddUInt32, ~0u)}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {
          {"18446744073709551615", Setter(&Reflection::SetUInt64, &Reflection::AddUInt64, ~0ull)}};
    case FieldDescriptor::CPPTYPE_ENUM:
      for (const int v : {99, -1}) {
        values.push_back({"enum " + std::to_string(v),
                          Setter(&Reflection::SetEnumValue, &Reflection::AddEnumValue, v)});
      }
      return values;
    case FieldDescriptor::CPPTYPE_STRING:
      return AbsurdTexts(field);
    default:
      return values;
  }
}

// Calls `visit` for every leaf that a message of this type can have: the steps to it, and the leaf.
using Path = std::vector<const FieldDescriptor*>;
void EachLeaf(const Descriptor* type, Path* path,
              const std::function<void(const Path&, const FieldDescriptor*)>& visit) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      path->push_back(field);
      if (path->size() < 12) EachLeaf(field->message_type(), path, visit);
      path->pop_back();
    } else {
      visit(*path, field);
    }
  }
}

int Jobs(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::Controller::NewStub(channel);
  int refused = 0;
  int accepted = 0;
  Path path;
  EachLeaf(v1::JobSpec::descriptor(), &path, [&](const Path& steps, const FieldDescriptor* leaf) {
    for (const Absurd& absurd : AbsurdValues(leaf)) {
      v1::SubmitRequest request;
      *request.mutable_job() = GoodJob();
      Message* at = request.mutable_job();
      std::string name;
      for (const FieldDescriptor* step : steps) {
        const google::protobuf::Reflection* reflection = at->GetReflection();
        name += step->name() + ".";
        if (!step->is_repeated()) {
          at = reflection->MutableMessage(at, step);
        } else if (reflection->FieldSize(*at, step) > 0) {
          at = reflection->MutableRepeatedMessage(at, step, 0);
        } else {
          at = reflection->AddMessage(at, step);
        }
      }
      absurd.set(at, leaf);
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
      v1::SubmitReply reply;
      const grpc::Status status = stub->Submit(&context, request, &reply);
      const bool clear = (status.error_code() == grpc::INVALID_ARGUMENT ||
                          status.error_code() == grpc::RESOURCE_EXHAUSTED) &&
                         !status.error_message().empty();
      if (clear) {
        ++refused;
      } else {
        if (status.ok()) ++accepted;
        std::cout << (status.ok() ? "ACCEPTED " : "UNCLEAR ") << name << leaf->name() << " = "
                  << absurd.what
                  << (status.ok() ? ""
                                  : ": " + NameOf(status.error_code()) + " " +
                                        status.error_message().substr(0, 200))
                  << "\n";
      }
      if (!status.ok()) continue;
      grpc::ClientContext stopping;
      v1::StopRequest stop;
      stop.set_run_id(reply.run_id());
      stop.set_now(true);
      v1::StopReply stopped;
      (void)stub->Stop(&stopping, stop, &stopped);
    }
  });
  std::cout << "refused " << refused << ", accepted " << accepted << "\n";
  return 0;
}

// -------------------------------------------------------------------------------------------------
// many calls

std::string HostileBytes(std::mt19937_64* random, int kind) {
  v1::SubmitRequest submit;
  *submit.mutable_job() = GoodJob();
  switch (kind) {
    case 0:
      submit.mutable_job()->mutable_hosts()->add_names("x[4294967295-4294967295]");
      break;
    case 1:
      submit.mutable_job()->mutable_hosts()->add_names("x[0-65535][0-65535]");
      break;
    case 2:
      for (int i = 0; i < 20000; ++i) submit.mutable_job()->add_expendable(std::string(40, 'e'));
      break;
    case 3:
      submit.set_source(std::string(5 << 20, 's'));
      break;
    case 4: {
      std::string noise((*random)() % 5000, '\0');
      for (char& c : noise) c = static_cast<char>((*random)());
      return noise;
    }
    case 5:
      return "";
    default:
      break;
  }
  return submit.SerializeAsString();
}

int Storm(const std::shared_ptr<grpc::Channel>& channel, int calls, int parallel) {
  grpc::GenericStub stub(channel);
  std::vector<std::string> methods = Methods();
  std::atomic<int> next{0};
  std::mutex mutex;
  std::map<std::string, int> counts;
  std::map<std::string, double> slowest;
  std::vector<std::thread> threads;
  for (int t = 0; t < parallel; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t + 1);
      for (int i = next++; i < calls; i = next++) {
        const std::string& method = methods[random() % methods.size()];
        // One in eight is abandoned at once.
        const std::string bytes = HostileBytes(&random, static_cast<int>(random() % 6));
        const auto began = std::chrono::steady_clock::now();
        const std::string status = NameOf(RawCall(
            &stub, method, bytes,
            random() % 8 == 0 ? std::chrono::milliseconds(5) : std::chrono::milliseconds(15000)));
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        std::lock_guard<std::mutex> lock(mutex);
        ++counts[status];
        double& longest = slowest[method.substr(method.rfind('/') + 1)];
        longest = std::max(longest, seconds);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [status, count] : counts) std::cout << status << " " << count << "\n";
  for (const auto& [method, seconds] : slowest) {
    std::cout << "slowest " << method << " " << seconds << " s\n";
  }
  return 0;
}

// -------------------------------------------------------------------------------------------------
// somebody else

int Impostor(const std::shared_ptr<grpc::Channel>& channel, const std::string& worker_id,
             const std::string& host_id, const std::string& name, const std::string& run) {
  const auto stub = v1::WorkerService::NewStub(channel);
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    auto call = stub->Control(&context);
    v1::WorkerMessage message;
    v1::Hello* hello = message.mutable_hello();
    hello->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
    hello->set_worker_id(worker_id);
    hello->set_instance_id("00000000-0000-4000-8000-00000000dead");
    hello->mutable_host()->set_host_id(host_id);
    hello->mutable_host()->set_name(name);
    hello->mutable_host()->set_boot_id("00000000-0000-4000-8000-00000000beef");
    hello->mutable_host()->set_clock_id("stranger");
    hello->mutable_status()->set_state(v1::WorkerStatus::STATE_IDLE);
    call->Write(message);
    v1::ControllerMessage answer;
    if (call->Read(&answer)) {
      std::cout << "control: "
                << (answer.has_refused()   ? "refused: " + answer.refused().reason()
                    : answer.has_welcome() ? "welcome"
                                           : "other")
                << "\n";
      if (answer.has_welcome()) {
        context.TryCancel();
        (void)call->Finish();
        return 0;
      }
    }
    const grpc::Status status = call->Finish();
    std::cout << "control ended: " << NameOf(status.error_code()) << " " << status.error_message()
              << "\n";
  }
  if (run.empty()) return 0;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  auto call = stub->Deliver(&context);
  v1::Delivery delivery;
  delivery.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  delivery.mutable_hello()->set_worker_id(worker_id);
  delivery.mutable_hello()->set_session("00000000-0000-4000-8000-00000000dead");
  call->Write(delivery);
  delivery.Clear();
  v1::PhaseId* phase = delivery.mutable_batch()->mutable_phase();
  phase->set_run_id(run);
  phase->set_phase(1);
  phase->set_attempt(1);
  delivery.mutable_batch()->add_items()->mutable_result();
  call->Write(delivery);
  v1::DeliveryAck ack;
  while (call->Read(&ack)) {
    std::cout << "deliver: committed " << ack.committed() << " refused '" << ack.refused() << "'\n";
  }
  const grpc::Status status = call->Finish();
  std::cout << "deliver ended: " << NameOf(status.error_code()) << " " << status.error_message()
            << "\n";
  return 0;
}

class Liar final : public v1::Controller::Service {
 public:
  explicit Liar(std::string answer) : answer_(std::move(answer)) {}
  grpc::Status GetStoreAddress(grpc::ServerContext*, const v1::StoreAddressRequest*,
                               v1::StoreAddressReply* reply) override {
    reply->set_conninfo(answer_);
    return grpc::Status::OK;
  }

 private:
  const std::string answer_;
};

int Lie(const std::string& answer) {
  Liar liar(answer);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&liar);
  const auto server = builder.BuildAndStart();
  std::cout << "listen 127.0.0.1:" << port << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  server->Shutdown();
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app{"A client that means harm."};
  app.require_subcommand(1);
  std::string controller, worker_id, host_id, name, run, answer;
  common::TlsFiles files;
  int calls = 1000;
  int parallel = 8;
  const auto caller = [&](CLI::App* command) {
    command->add_option("--controller", controller)->required();
    command->add_option("--tls-cert", files.certificate);
    command->add_option("--tls-key", files.key);
    command->add_option("--tls-ca", files.authority);
    return command;
  };
  CLI::App* surface = caller(app.add_subcommand("surface"));
  CLI::App* jobs = caller(app.add_subcommand("jobs"));
  CLI::App* storm = caller(app.add_subcommand("storm"));
  storm->add_option("--calls", calls);
  storm->add_option("--parallel", parallel);
  CLI::App* impostor = caller(app.add_subcommand("impostor"));
  impostor->add_option("--worker-id", worker_id)->required();
  impostor->add_option("--host-id", host_id)->required();
  impostor->add_option("--name", name)->required();
  impostor->add_option("--run", run);
  CLI::App* liar = app.add_subcommand("liar");
  liar->add_option("--answer", answer)->required();
  CLI11_PARSE(app, argc, argv);
  if (liar->parsed()) return Lie(answer);
  // Its files may be wrong on purpose: nothing of ours looks at them first.
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!files.authority.empty()) {
    const auto read = [](const std::string& path) {
      std::ifstream in(path);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read(files.authority);
    if (!files.certificate.empty()) {
      options.pem_cert_chain = read(files.certificate);
      options.pem_private_key = read(files.key);
    }
    credentials = grpc::SslCredentials(options);
  }
  const auto channel = grpc::CreateChannel(controller, credentials);
  if (surface->parsed()) return Surface(channel);
  if (jobs->parsed()) return Jobs(channel);
  if (storm->parsed()) return Storm(channel, calls, parallel);
  return Impostor(channel, worker_id, host_id, name, run);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Main(argc, argv); }
