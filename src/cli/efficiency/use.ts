/** Reads the use of pods from the metrics API of the cluster or from Prometheus. */
import type { PodUse, Use } from '#engine/costs';
import { amountOf } from '#engine/model';
import type { HttpKubeReader } from '#kube/connection';
import { messageOf, own } from '#lib';
import { textOf } from '../operator.ts';

export interface UseReport {
  /** Use by `namespace/name` of the pod. */
  readonly uses: ReadonlyMap<string, PodUse>;
  /** Source of the use, with its period. */
  readonly source: string;
}

/** Largest amounts that are believed: CPUs in thousandths, and bytes. No pod of a node can use more. */
const MOST = { cpu: 1e8, memory: 2 ** 50 } as const;
const RESPONSE_MS = 30_000;
const MOST_BYTES = 64 * 2 ** 20;
const MOST_PODS = 200_000;
const MOST_ERROR_TEXT = 300;

/** @throws Error with the place and the value if an amount cannot be the use of a pod */
function amount(resource: 'cpu' | 'memory', value: number, where: string): number {
  if (!Number.isFinite(value) || value < 0 || value > MOST[resource])
    throw new Error(
      `${where}: the ${resource} use ${value} is not possible; expected a number from 0 to ${MOST[resource]}`,
    );
  return value;
}

const objectsIn = (value: unknown, key: string): readonly Readonly<Record<string, unknown>>[] => {
  const list = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
  if (!Array.isArray(list)) throw new Error(`expected a list in the field "${key}"`);
  if (list.length > MOST_PODS)
    throw new Error(`the field "${key}" has ${list.length} entries; expected at most ${MOST_PODS}`);
  return list.map((each) => (typeof each === 'object' && each !== null ? each : {}));
};

const METRICS = '/apis/metrics.k8s.io/v1beta1/pods';

/** Reads one sample. @throws Error with a remedy if the cluster has no metrics API or if an amount is not possible */
export async function usesFromMetricsApi(client: Pick<HttpKubeReader, 'raw'>): Promise<UseReport> {
  const list = await client.raw(METRICS, AbortSignal.timeout(RESPONSE_MS)).catch((error: unknown) => {
    throw new Error(
      `the use of pods cannot be read from the metrics API (${METRICS}): ${messageOf(error)}; install metrics-server and check with kubectl top pods, or name a Prometheus with --prometheus URL`,
      { cause: error },
    );
  });
  return { uses: podMetrics(list), source: 'one sample of the metrics API, so that p50 and p95 are the same' };
}

export function podMetrics(list: unknown): ReadonlyMap<string, PodUse> {
  const uses = new Map<string, PodUse>();
  for (const item of parts(list, 'items', 'the metrics API')) {
    const { namespace = '', name = '' } = (item.metadata ?? {}) as Readonly<Record<string, unknown>>;
    const where = `the metrics API, pod ${namespace}/${name}`;
    const sample = { cpu: 0, memory: 0 };
    for (const container of parts(item, 'containers', where)) {
      const usage = (container.usage ?? {}) as Readonly<Record<string, unknown>>;
      for (const resource of ['cpu', 'memory'] as const)
        sample[resource] += amount(resource, quantityIn(own(usage, resource), resource, where), where);
    }
    const both = (value: number): Use => ({ p50: value, p95: value });
    uses.set(`${namespace}/${name}`, { cpu: both(sample.cpu), memory: both(sample.memory) });
  }
  return uses;
}

function parts(value: unknown, key: string, where: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    return objectsIn(value, key);
  } catch (error) {
    throw new Error(`${where}: ${messageOf(error)}`, { cause: error });
  }
}

function quantityIn(value: unknown, resource: string, where: string): number {
  try {
    if (typeof value !== 'string' || value.length > 60) throw new Error('it is no quantity');
    return amountOf(resource, value);
  } catch (error) {
    throw new Error(
      `${where}: the ${resource} use ${JSON.stringify(value)?.slice(0, 60)} is not valid: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

const SERIES = {
  cpu: 'sum by (namespace, pod) (rate(container_cpu_usage_seconds_total{container!="",container!="POD"}[5m]))',
  memory: 'sum by (namespace, pod) (container_memory_working_set_bytes{container!="",container!="POD"})',
} as const;
/** Factor from the unit of Prometheus to the unit of the engine. */
const UNIT = { cpu: 1_000, memory: 1 } as const;
export const DEFAULT_RANGE = '7d';

/** Reads the quantiles of the last days. @throws Error with the query or the pod if the answer cannot be used */
export async function usesFromPrometheus(url: string, range: string): Promise<UseReport> {
  const quantile = async (resource: 'cpu' | 'memory', part: number): Promise<ReadonlyMap<string, number>> =>
    vector(await query(url, `quantile_over_time(${part}, ${SERIES[resource]}[${range}:5m])`), resource);
  const found = {
    cpu: { p50: await quantile('cpu', 0.5), p95: await quantile('cpu', 0.95) },
    memory: { p50: await quantile('memory', 0.5), p95: await quantile('memory', 0.95) },
  };
  const uses = new Map<string, PodUse>();
  for (const [pod, cpu] of found.cpu.p95) {
    const memory = found.memory.p95.get(pod);
    if (memory === undefined) continue;
    uses.set(pod, {
      cpu: { p50: found.cpu.p50.get(pod) ?? cpu, p95: cpu },
      memory: { p50: found.memory.p50.get(pod) ?? memory, p95: memory },
    });
  }
  return { uses, source: `Prometheus, the last ${range}` };
}

async function query(server: string, text: string): Promise<unknown> {
  const url = URL.parse('api/v1/query', server.endsWith('/') ? server : `${server}/`);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`--prometheus: "${server}" is not a valid URL; use for example http://127.0.0.1:9090`);
  url.searchParams.set('query', text);
  const signal = AbortSignal.timeout(RESPONSE_MS);
  try {
    const response = await fetch(url, { signal, redirect: 'error' });
    const body = await textOf(response, MOST_BYTES);
    if (!response.ok) throw new Error(`HTTP status ${response.status}: ${body.trim().slice(0, MOST_ERROR_TEXT)}`);
    return JSON.parse(body);
  } catch (error) {
    const why = signal.aborted ? `no response within ${RESPONSE_MS / 1_000} s` : messageOf(error);
    throw new Error(`Prometheus at ${url.origin}: ${why}; check the address of --prometheus`, { cause: error });
  }
}

function vector(answer: unknown, resource: 'cpu' | 'memory'): ReadonlyMap<string, number> {
  const { data } = (answer ?? {}) as { readonly data?: unknown };
  const found = new Map<string, number>();
  for (const { metric, value } of parts(data, 'result', 'Prometheus')) {
    const { namespace = '', pod = '' } = (metric ?? {}) as Readonly<Record<string, unknown>>;
    const [, text] = Array.isArray(value) ? value : [];
    const name = `${namespace}/${pod}`;
    const number = typeof text === 'string' && text.trim() !== '' ? Number(text) * UNIT[resource] : Number.NaN;
    found.set(name, amount(resource, number, `Prometheus, pod ${name}`));
  }
  return found;
}
