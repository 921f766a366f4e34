import { availableParallelism } from 'node:os';

/**
 * One project per kind of suite, so that each can be run alone: `npx jest --selectProjects unit`.
 * @param {string} name
 */
const project = (name, extra = {}) => ({
  displayName: name,
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  runtime: '<rootDir>/test/support/jest/runtime.ts',
  testEnvironment: '<rootDir>/test/support/jest/environment.ts',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  injectGlobals: false,
  ...extra,
});

/**
 * Suites of `cluster` that compare the local world with the control plane, whose default version it follows, or need kinds that
 * only this version serves. They do not run with another version, which `KUBERNETES` selects.
 */
const OF_ONE_VERSION = [
  'client',
  'gangs',
  'kubectl',
  'lives',
  'localhelm',
  'migrate',
  'mixes',
  'parity',
  'placement',
  'preemption',
  'printed',
];
const comparisons = [...OF_ONE_VERSION, 'scheduling', 'soundness'].map((name) => `test/cluster/${name}\\.test\\.ts$`);

export default {
  // `npm test` leaves out `architecture`, which `npm run check` runs, the suites that take longer, `long`, `operator` and
  // `hostile` (`npm run test:operator` and so on), and the suites that need more than Node: `cluster`, `scenarios` and `kueue`,
  // which need a Go toolchain (`npm run test:cluster` and `test:kueue`), and `moto`, which needs Python (`npm run test:moto`).
  projects: [
    ...['architecture', 'contract'].map((name) => project(name)),
    // Start operators in processes of their own.
    ...['operator', 'hostile', 'kueue'].map((name) =>
      project(name, { globalSetup: '<rootDir>/test/support/operator/bundle.ts' }),
    ),
    project('cluster', {
      globalSetup: '<rootDir>/test/support/operator/bundle.ts',
      testPathIgnorePatterns: process.env.KUBERNETES ? comparisons : [],
    }),
    ...['unit', 'conformance'].map((name) => project(name, { testPathIgnorePatterns: ['\\.long\\.test\\.ts$'] })),
    // Files of unit and conformance tests that take many seconds.
    project('long', { testMatch: ['<rootDir>/test/{unit,conformance}/**/*.long.test.ts'] }),
    // The operator's own suites once more, on a real control plane.
    project('scenarios', {
      testMatch: ['<rootDir>/test/operator/*.test.ts'],
      testEnvironment: '<rootDir>/test/cluster/scenarios/environment.ts',
      setupFilesAfterEnv: ['<rootDir>/test/cluster/scenarios/setup.ts'],
    }),
    // Needs a browser: `npm run test:browser`.
    project('browser'),
    // Needs Linux and root: `npm run test:kubelet`.
    project('kubelet'),
    project('moto', { testMatch: ['<rootDir>/test/contract/moto.peer.ts'] }),
  ],
  // Not for any wait of a test, which has a limit of its own, but for machines that are busy.
  testTimeout: 300_000,
  // A worker that has loaded a hundred test files needs longer than Jest's half second to free its memory and exit. A
  // handle that a test leaves open keeps the worker alive for longer than this limit, and Jest reports it.
  workerGracefulExitTimeout: 30_000,
  // The scripts in package.json set other numbers: one worker per core for tests that compute, and nine for operator
  // scenarios, which wait for two thirds of their time and whose clock stands still while other processes compute.
  // Go programs of the cluster suite run on one core each and collect garbage rarely, because a start of a control plane then
  // takes less CPU time.
  maxWorkers: 2 * availableParallelism(),
};
