// Reads an expression from a line's tokens and stops at the first token that cannot go on with it.
// Not a public header.
#pragma once

#include <diecast/template/expr_node.h>
#include <diecast/template/parse/token.h>

#include <memory>

namespace diecast {

class ExpressionParser {
 public:
  static Result<Expression> parse(Tokens& tokens);
  // One operand: a number, a name, a call or an expression in parentheses.
  static Result<Expression> parse_operand(Tokens& tokens);

 private:
  using NodePointer = std::unique_ptr<Expression::Node>;
  explicit ExpressionParser(Tokens& tokens) : tokens_(tokens) {}

  Result<NodePointer> choice();
  Result<NodePointer> binary(int weakest);
  Result<NodePointer> unary();
  Result<NodePointer> operand();
  Result<NodePointer> leaf(const Token& at);
  Result<NodePointer> among(NodePointer left);
  Result<NodePointer> call(const Token& function);
  Result<NodePointer> bits_of();
  Result<NodePointer> node(const Token& at, Operation operation, NodePointer a, NodePointer b = {},
                           NodePointer c = {});
  Error too_deep(const Token& at) const;
  Result<Expression> finish(int column, Result<NodePointer> root);

  Tokens& tokens_;
  int depth_ = 0;
  std::vector<Expression::Name> names_, types_;
};

}  // namespace diecast
