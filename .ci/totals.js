// Runs the test suites and ends with their totals alone on a line.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'totals-'));
/** The README's test command first, then the slower suites. */
const suites = ['test', 'test:operator', 'test:browser', 'test:moto', 'test:cluster'];
/** Computes most of its time, so a suite that waits most of its time runs beside it. */
const busy = 'test';
const waiting = 'test:hostile';
/** Waits for a third of its time, in which the control plane of the last suite is built. */
const leisurely = 'test:operator';
const inNeedOfBuild = 'test:cluster';
let building;
let passed = 0;
let failed = 0;
let broken = false;

for (const suite of suites) {
  if (suite === leisurely)
    building = fork('test/cluster/harness/build.ts', ['--in-idle-time'], { execPath: 'node_modules/.bin/node' });
  // Whatever came of it: the suite builds what is missing, and fails with the reason.
  if (suite === inNeedOfBuild && building.exitCode === null) await once(building, 'exit');
  await Promise.all([run(suite), ...(suite === busy ? [run(waiting, '--maxWorkers=2')] : [])]);
}

/** Runs a suite and adds its results to the totals. */
async function run(suite, ...args) {
  const report = join(folder, `${suite.replace(':', '-')}.json`);
  console.log(`npm run ${suite}`);
  const child = spawn('npm', ['run', suite, '--', '--ci', '--json', `--outputFile=${report}`, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [status] = await once(child, 'exit');
  broken ||= status !== 0;
  if (!existsSync(report)) {
    failed += 1;
    return;
  }
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
  passed += numPassedTests;
  failed += numFailedTests + numRuntimeErrorTestSuites;
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = broken || failed > 0 || passed === 0 ? 1 : 0;
