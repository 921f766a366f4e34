/**
 * Bundles the operator and the command line, each into a folder of its own with the code of its threads: the image holds
 * the first alone, the npm package both.
 * `node build.ts [FOLDER [PROGRAM…]]`: into dist/ by default; PROGRAMs are built with the operator and without the command line, for
 * tests and benchmarks.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** Source revision for the log field `commit`: what the environment says, as in the image's build, or what git says. */
function revision(): string {
  const given = process.env.SOURCE_REVISION;
  if (given) return given;
  try {
    const describe = ['describe', '--always', '--dirty', '--abbrev=7'];
    return execFileSync('git', describe, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

/** Packages that run nothing when they are loaded, without saying so: what is not used of them can go. */
const PURE = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;

/** Resolves imports within these packages itself: a second resolution by esbuild takes three times as long as the rest. */
const prunePure: Plugin = {
  name: 'prune-pure',
  setup(bundler) {
    bundler.onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === prunePure) return undefined;
      return { ...(await bundler.resolve(path, { ...from, pluginData: prunePure })), sideEffects: false };
    });
    bundler.onResolve({ filter: /^\..*\.js$/ }, ({ path, importer, resolveDir }) =>
      PURE.test(importer) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/**
 * Writes constant names of computed keys as literals. esbuild assumes that a computed key has side effects, and would keep the
 * schemas of all 800 requests of EC2: 5 MB of each thread's heap.
 */
const literalKeys: Plugin = {
  name: 'literal-keys',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]@aws-sdk[\\/]client-[^\\/]+[\\/]dist-es[\\/]schemas[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const names = new Map([...text.matchAll(/^const (\w+) = ("[^"\\]*");$/gm)].map(([, key, name]) => [key, name]));
      return { contents: text.replace(/\[(\w+)\](?=: )/g, (key, name: string) => names.get(name) ?? key) };
    });
  },
};

const [outdir = 'dist', ...programs] = process.argv.slice(2);

/** The program of threads, beside the entry points. */
const THREADS = { 'engine-worker': 'src/engine-worker/worker.ts' };

/** The operator shares nothing with the command line, whose local world needs all of the AWS SDK. */
const COMMAND_LINE: BuildOptions = {
  outdir: join(outdir, 'cli'),
  entryPoints: { cli: 'src/cli.ts', ...THREADS, 'replay-thread': 'src/replay/threads/replay-thread.ts' },
};
const OPERATOR: BuildOptions = {
  outdir: join(outdir, 'operator'),
  entryPoints: {
    main: 'src/program.ts',
    doctor: 'src/doctor.ts',
    ...THREADS,
    ...Object.fromEntries(programs.map((file) => [basename(file, '.ts'), file])),
  },
  // The AWS SDK comes in two forms, and from this one the commands that are not used can be left out.
  mainFields: ['module', 'main'],
  plugins: [prunePure, literalKeys],
};

/**
 * Node.js keeps the text of a module with two bytes for each letter as soon as one of them is beyond ASCII: 4 MB for the operator. esbuild
 * escapes all but those in regular expressions.
 */
function escapeLetters(folder: string): void {
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.js'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    const escaped = text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    if (escaped !== text) writeFileSync(join(folder, name), escaped);
  }
}

const OPTIONS: BuildOptions = {
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  sourcemap: true,
  minifySyntax: true,
  // Every thread keeps the text of what it runs. Names stay as they are: errors are read by people.
  minifyWhitespace: true,
  legalComments: 'linked',
  lineLimit: 200,
  define: {
    'process.env.SOURCE_REVISION': JSON.stringify(revision()),
    'process.env.NODE_ENV': '"production"',
  },
  // Some dependencies are CommonJS and call require for Node's own modules.
  // ink loads these development tools only if DEV=true, and works without them.
  external: ['react-devtools-core'],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};

rmSync(outdir, { recursive: true, force: true });
await build({ ...OPTIONS, ...OPERATOR });
escapeLetters(join(outdir, 'operator'));
// Files of pages go as they are: the live page's, and those of the page about a replay.
cpSync('src/live/page', join(outdir, 'operator/page'), {
  recursive: true,
  filter: (path) => !path.endsWith('tsconfig.json'),
});
if (programs.length === 0) {
  await build({ ...OPTIONS, ...COMMAND_LINE });
  cpSync('src/cli/replay/page/assets', join(outdir, 'cli/assets'), { recursive: true });
}
