// The page's rules: typescript-eslint's with types, and the lengths that hold for all our code
// (tools/lengths). `bazel build //web:eslint` checks, as tools/lint does.
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["src/proto/**", "src/google/**"] }, // made from proto/*.proto
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: "tsconfig.json" } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "max-lines-per-function": ["error", { max: 70 }],
      "max-lines": ["error", { max: 500 }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
);
