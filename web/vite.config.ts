import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The licence of what is built in wants its notice in every copy.
const notice = `/*! Includes uPlot, https://github.com/leeoniya/uPlot

${readFileSync("node_modules/uplot/LICENSE", "utf8").trim()}
*/`;

// One self-contained script for each entry point: `vite build --mode report` makes dist/report.js of src/report.ts.
export default defineConfig(({ mode }) => ({
  build: {
    target: "es2022",
    emptyOutDir: false,
    copyPublicDir: false,
    lib: {
      entry: `src/${mode}.ts`,
      name: "plimsoll",
      formats: ["iife"],
      fileName: () => `${mode}.js`,
    },
    rollupOptions: { output: { banner: mode === "report" ? notice : "" } },
  },
  logLevel: "warn",
}));
