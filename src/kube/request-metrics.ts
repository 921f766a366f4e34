/** The metrics of requests to the API server, with the names that dashboards use. */
import type { Kind, KubeObject } from '#api/objects';
import { CLIENT_GO_REQUEST, CLIENT_GO_REQUEST_DURATION_SECONDS, type Metrics } from '#observe/metrics';

interface RequestFacts {
  readonly method: string;
  /** Status code, or `<error>` if the server did not respond. */
  readonly code: string;
  readonly kind?: Kind<KubeObject> | undefined;
  readonly subresource?: string | undefined;
  readonly seconds: number;
}

export function requestMetrics(metrics: Metrics | undefined): (facts: RequestFacts) => void {
  if (metrics === undefined) return () => undefined;
  const total = metrics.counter(CLIENT_GO_REQUEST);
  const duration = metrics.histogram(CLIENT_GO_REQUEST_DURATION_SECONDS);
  return ({ method, code, kind, subresource = '', seconds }) => {
    total.inc({ code, method });
    const { group = '', version = '', kind: name = '' } = kind ?? {};
    duration.observe({ verb: method, group, version, kind: name, subresource }, seconds);
  };
}
