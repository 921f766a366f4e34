/** The metrics of requests to the API server, under the names that dashboards know. */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import type { Metrics } from '../observe/metrics.ts';

/** 20 buckets from a millisecond, each half as long again as the one before. */
const BUCKETS = Array.from({ length: 20 }, (_, index) => 0.001 * 1.5 ** index);

export interface RequestFacts {
  readonly method: string;
  /** Status code, or `<error>` when there was no answer. */
  readonly code: string;
  readonly kind?: Kind<KubeObject> | undefined;
  readonly subresource?: string | undefined;
  readonly seconds: number;
}

export function requestMetrics(metrics: Metrics | undefined): (facts: RequestFacts) => void {
  if (metrics === undefined) return () => undefined;
  const total = metrics.counter('client_go_request_total', 'Requests to the API server', ['code', 'method']);
  const duration = metrics.histogram(
    'client_go_request_duration_seconds',
    'Duration of requests to the API server until their answer began',
    ['verb', 'group', 'version', 'kind', 'subresource'],
    BUCKETS,
  );
  return ({ method, code, kind, subresource = '', seconds }) => {
    total.inc({ code, method });
    const { group = '', version = '', kind: name = '' } = kind ?? {};
    duration.observe({ verb: method, group, version, kind: name, subresource }, seconds);
  };
}
