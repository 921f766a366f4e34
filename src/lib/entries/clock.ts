export {
  type Clock,
  type DatedResponse,
  type Elapsed,
  monotonicMs,
  realClock,
  since,
  steadyClock,
  type Timepiece,
} from '../clock.ts';
export { CollectionBrake, mostAtOnce } from '../collection-brake.ts';
export { type Limiter, limiter } from '../limiter.ts';
export { type Freshness, LoadingCache, TtlCache } from '../ttl-cache.ts';
export { inSlices, type Pause, yielding } from '../yielding.ts';
