// A plug-in of clang-tidy: its checks walk only what stands in the files at hand, not what the
// system's headers declare. gRPC's and protobuf's headers are three quarters of the time otherwise.
//
//   clang-tidy --load=own_code.so FILE -- FLAGS
//
// Clang's ASTContext::setTraversalScope() is what the checks' matchers begin at.

#include <memory>
#include <string>
#include <vector>

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/FrontendPluginRegistry.h"

namespace {

class OwnCode : public clang::ASTConsumer {
 public:
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    declared_.insert(declared_.end(), group.begin(), group.end());
    return true;
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& sources = context.getSourceManager();
    std::vector<clang::Decl*> own;
    for (clang::Decl* decl : declared_) {
      if (!sources.isInSystemHeader(sources.getExpansionLoc(decl->getBeginLoc()))) {
        own.push_back(decl);
      }
    }
    context.setTraversalScope(own);
  }

 private:
  std::vector<clang::Decl*> declared_;
};

class OwnCodeAction : public clang::PluginASTAction {
 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        llvm::StringRef) override {
    return std::make_unique<OwnCode>();
  }
  bool ParseArgs(const clang::CompilerInstance&, const std::vector<std::string>&) override {
    return true;
  }
  // The checks' own consumer comes after this one.
  ActionType getActionType() override { return AddBeforeMainAction; }
};

const clang::FrontendPluginRegistry::Add<OwnCodeAction> kOwnCode(
    "own-code", "checks walk only what stands in the files at hand");

}  // namespace
