export type { LifeAmount, LifeAmounts, LivesOfSet, LivesSummary, PairedDifference } from '../lives/lives-result.ts';
export { type Progress, type Replay, replay, type SettingsSet } from '../replay.ts';
export type { NodeEvent, ReplayResult, ReplayRun, ReplaySeries, WaitingSummary } from '../result.ts';
