// Runs the test suites and ends with their totals alone on a line.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { cpus, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'totals-'));
/** The README's test command first, then the slower suites. Stages run one after the other. */
const stages = [
  [['test']],
  [['test:hostile']],
  [['test:operator']],
  [['test:cluster']],
  // The kubelets wait for most of the time. Meanwhile, the suites of the other list run one after the other.
  [['test:kubelet'], ['test:browser', 'test:moto', 'test:long']],
];
/** Only computes, so that it leaves the cores to the kubelets whenever they need them. */
const patient = 'test:long';
const LOW_PRIORITY = 10;
/** More failed files have one cause, and would only take time again. */
const MOST_REPEATED_FILES = 12;
/** A run may take 90 minutes. A repetition that begins later than this could be cut, and the totals with it. */
const LAST_REPETITION_MINUTES = 60;

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Count
 * @typedef {{ testResults: { name: string, status: string, assertionResults: { status: string }[] }[] }} Report
 */

/**
 * Counts by suite and test file.
 * @type {Map<string, Count>}
 */
const results = new Map();
/**
 * Suites that ended without a report, or with a failure that no test file has.
 * @type {Set<string>}
 */
const broken = new Set();

/**
 * Runs a suite, or some of its files, and returns the files with failures.
 * @param {string} suite
 * @param {string[]} files
 */
async function run(suite, files = []) {
  const report = join(folder, `${suite.replace(':', '-')}${files.length > 0 ? '-again' : ''}.json`);
  const paths = files.length > 0 ? ['--runTestsByPath', ...files] : [];
  const start = Date.now();
  const before = machineTimes();
  console.log(`npm run ${suite}`);
  const child = spawn('npm', ['run', suite, '--', '--ci', '--json', `--outputFile=${report}`, ...paths], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (suite === patient && child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY);
  const [code] = await once(child, 'close');
  const counts = existsSync(report) ? countsOf(JSON.parse(readFileSync(report, 'utf8'))) : new Map();
  for (const [file, count] of counts) results.set(`${suite} ${file}`, count);
  const failed = [...counts].filter(([, count]) => count.failed > 0).map(([file]) => file);
  if (counts.size === 0 || (code !== 0 && failed.length === 0)) broken.add(suite);
  const passed = [...counts.values()].reduce((sum, count) => sum + count.passed, 0);
  const { idle, all } = machineTimes();
  const busy = Math.round(100 * (1 - (idle - before.idle) / Math.max(1, all - before.all)));
  console.log(
    `${suite}: ${passed} passed in ${Math.round((Date.now() - start) / 1000)} s, the machine was ${busy} % busy`,
  );
  return failed;
}

/** Time of all cores since the start of the machine, in milliseconds. */
function machineTimes() {
  const cores = cpus().map(({ times }) => times);
  /** @param {number[]} values */
  const sumOf = (values) => values.reduce((total, value) => total + value, 0);
  return { idle: sumOf(cores.map(({ idle }) => idle)), all: sumOf(cores.flatMap((times) => Object.values(times))) };
}

/**
 * @param {Report} report
 * @returns {Map<string, Count>}
 */
const countsOf = ({ testResults }) =>
  new Map(
    testResults.map(({ name, status, assertionResults }) => {
      /** @param {string} wanted */
      const count = (wanted) => assertionResults.filter((result) => result.status === wanted).length;
      const failed = count('failed');
      return [
        name,
        {
          passed: count('passed'),
          // A file that cannot be loaded has no tests.
          failed: failed === 0 && status === 'failed' ? 1 : failed,
          skipped: count('pending'),
        },
      ];
    }),
  );

/** Builds the programs and the image of the last suites beside the first suites. The first build takes minutes. */
const building = fork('test/kubelet/build.ts', ['--beside'], { execPath: 'node_modules/.bin/node' });
const ended = once(building, 'exit');
/**
 * Parts that a suite needs. Whatever came of them: the suite builds what is missing, and fails with the reason.
 * @type {Readonly<Record<string, Promise<unknown>>>}
 */
const built = { 'test:cluster': Promise.race([ended, once(building, 'message')]), 'test:kubelet': ended };

/** @type {Map<string, string[]>} */
const failures = new Map();
/** @param {string[]} suites */
async function runInOrder(suites) {
  for (const suite of suites) {
    await built[suite];
    failures.set(suite, await run(suite));
  }
}
for (const lists of stages) await Promise.all(lists.map(runInOrder));

const repeated = [...failures].filter(([, files]) => files.length > 0);
if (repeated.flatMap(([, files]) => files).length <= MOST_REPEATED_FILES) {
  for (const [suite, files] of repeated) {
    const minutes = Math.round(performance.now() / 60_000);
    if (minutes >= LAST_REPETITION_MINUTES) {
      console.log(`failed files of ${suite} do not run again, because the suites took ${minutes} minutes`);
      continue;
    }
    const failed = await run(suite, files);
    for (const file of files.filter((name) => !failed.includes(name)))
      console.log(`passed only when it ran again, alone: ${relative('', file)} of ${suite}`);
  }
}

/** @param {keyof Count} part */
const sum = (part) => [...results.values()].reduce((total, count) => total + count[part], 0);
const [passed, failed, skipped] = [sum('passed'), sum('failed') + broken.size, sum('skipped')];
for (const suite of broken) console.log(`${suite} ended without the result of a test`);
if (skipped > 0) console.log(`${skipped} tests were skipped, see the messages above`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
