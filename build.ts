/** Bundles the operator and the command line into dist/: the entry points, and the code of threads beside them. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Short source revision for the log field `commit`; empty outside a git checkout. */
function revision(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=7'], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: [
    'src/main.ts',
    'src/cli.ts',
    'src/controllers/solverworker.ts',
    'src/controllers/disruption/labworker.ts',
  ],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  sourcemap: true,
  minifySyntax: true,
  define: { 'process.env.SOURCE_REVISION': JSON.stringify(revision()) },
  // Some dependencies are CommonJS and call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
