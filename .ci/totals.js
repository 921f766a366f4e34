// Runs the test suites one after the other and ends with their totals alone on a line.
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'totals-'));
/** The README's test command first, then the slower suites. */
const suites = [
  'test',
  'test:long',
  'test:hostile',
  'test:operator',
  'test:browser',
  'test:moto',
  'test:cluster',
  'test:kubelet',
];
/** Waits for a third of its time, in which the control plane and the image of the last suites are built. */
const leisurely = 'test:operator';
const inNeedOfBuild = 'test:cluster';
let building;
let passed = 0;
let failed = 0;
let skipped = 0;
let broken = false;

for (const suite of suites) {
  if (suite === leisurely)
    building = fork('test/kubelet/build.ts', ['--in-idle-time'], { execPath: 'node_modules/.bin/node' });
  // Whatever came of it: the suite builds what is missing, and fails with the reason.
  if (suite === inNeedOfBuild && building.exitCode === null) await once(building, 'exit');
  const report = join(folder, `${suite.replace(':', '-')}.json`);
  console.log(`npm run ${suite}`);
  const start = Date.now();
  const run = spawnSync('npm', ['run', suite, '--', '--ci', '--json', `--outputFile=${report}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  broken ||= run.status !== 0;
  if (!existsSync(report)) {
    failed += 1;
    continue;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  passed += numPassedTests;
  skipped += numPendingTests;
  failed += numFailedTests + numRuntimeErrorTestSuites;
  console.log(`${suite}: ${numPassedTests} passed in ${Math.round((Date.now() - start) / 1000)} s`);
}

if (skipped > 0) console.log(`${skipped} tests were skipped, see the messages above`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = broken || failed > 0 || passed === 0 ? 1 : 0;
