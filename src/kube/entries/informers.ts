export { type ProcessInformers, startInformers } from '../informers.ts';
export { readinessChecks } from '../readiness.ts';
export { watchAges, watchViews } from '../watch-ages.ts';
