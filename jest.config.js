// One project per kind of suite, so that each can be run alone: `npx jest --selectProjects unit`.
const swc = [
  '@swc/jest',
  { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
];

const project = (name, extra = {}) => ({
  displayName: name,
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': swc },
  ...extra,
});

export default {
  // `npm test` leaves out `cluster`, which needs a Go toolchain: `npm run test:cluster`.
  projects: [project('architecture'), project('unit'), project('operator'), project('conformance'), project('cluster')],
  testTimeout: 30_000,
};
