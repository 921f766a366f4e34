/** Reads the use of pods from Prometheus. */
import type { PodUse } from '#engine/costs';
import { messageOf } from '#lib';
import { believedUse, objectsOf, type UseReport } from '#live/view';
import { textOf } from '../operator.ts';

const RESPONSE_MS = 30_000;
const MOST_BYTES = 64 * 2 ** 20;
const MOST_ERROR_TEXT = 300;

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
  for (const { metric, value } of objectsOf(data, 'result', 'Prometheus')) {
    const { namespace = '', pod = '' } = (metric ?? {}) as Readonly<Record<string, unknown>>;
    const [, text] = Array.isArray(value) ? value : [];
    const name = `${namespace}/${pod}`;
    const number = typeof text === 'string' && text.trim() !== '' ? Number(text) * UNIT[resource] : Number.NaN;
    found.set(name, believedUse(resource, number, `Prometheus, pod ${name}`));
  }
  return found;
}
