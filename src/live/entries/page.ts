export { type LivePage, openLive } from '../index.ts';
export { UseSamples, usesFromMetricsApi } from '../pod-use.ts';
