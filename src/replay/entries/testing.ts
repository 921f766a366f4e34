/** Names that only tests and scripts of other areas import. */
export { inProcessClients } from '../aws/in-process-clients.ts';
export { compareLives, comparePairs, LIFE_AMOUNTS, lifeFigures } from '../lives/life-runs.ts';
export type { LifeFigures } from '../lives/lives-result.ts';
export { Measure } from '../measure/measure.ts';
export type { ReplayOperator } from '../operator/operator.ts';
export { play } from '../player.ts';
export type { ReplayOptions } from '../replay.ts';
export { fitToAccount, run } from '../run.ts';
export { readEvent } from '../trace/events.ts';
export { batch } from '../trace/generators/batch.ts';
export { share, traceOf } from '../trace/generators/generate.ts';
export type { Streams } from '../trace/generators/options.ts';
export { pipeline } from '../trace/generators/pipeline.ts';
export { type WebTuning, webService } from '../trace/generators/web-service.ts';
export { VirtualClock } from '../virtual-clock.ts';
export { CLUSTER, openWorld } from '../world.ts';
export { bootMs, bootOfInstances, kubeletsOf } from '../world-model/boot-times.ts';
export { awsOf } from '../world-model/start-world-model.ts';
