/** Use of pods, as the metrics API of the cluster reports it. */
import type { PodUse, Use } from '#engine/costs';
import { amountIn, amountOf, podKey, type StateNode } from '#engine/model';
import { ApiError } from '#kube/client';
import { messageOf, own } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { LiveSummary } from './model.ts';

export interface UseReport {
  /** Use by `namespace/name` of the pod. */
  readonly uses: ReadonlyMap<string, PodUse>;
  /** Source of the use, with its period. */
  readonly source: string;
}

/** Reader of the API server's other paths. */
interface RawReader {
  raw(path: string, signal?: AbortSignal): Promise<unknown>;
}

/** Largest amounts that are believed: CPUs in thousandths, and bytes. No pod of a node can use more. */
const MOST = { cpu: 1e8, memory: 2 ** 50 } as const;
const RESPONSE_MS = 30_000;
const MOST_PODS = 200_000;

/** @throws Error with the place and the value if an amount cannot be the use of a pod */
export function believedUse(resource: 'cpu' | 'memory', value: number, where: string): number {
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
export async function usesFromMetricsApi(client: RawReader): Promise<UseReport> {
  const list = await client.raw(METRICS, AbortSignal.timeout(RESPONSE_MS)).catch((error: unknown) => {
    throw new Error(
      `the use of pods cannot be read from the metrics API (${METRICS}): ${messageOf(error)}; ${remedyOf(error)}`,
      { cause: error },
    );
  });
  return { uses: podMetrics(list), source: 'one sample of the metrics API, so that p50 and p95 are the same' };
}

/** Returns a reader of samples that sends no further requests after a response that the cluster has no metrics API. */
export function usesIfServed(client: RawReader): () => Promise<UseReport> {
  let missing: Error | undefined;
  return async () => {
    if (missing !== undefined) throw missing;
    try {
      return await usesFromMetricsApi(client);
    } catch (error) {
      if (error instanceof Error && error.cause instanceof ApiError && error.cause.status === 404) missing = error;
      throw error;
    }
  };
}

const remedyOf = (error: unknown): string =>
  error instanceof ApiError && error.status === 403
    ? 'allow the account to list pods of metrics.k8s.io, as docs/live-page.md shows'
    : 'install metrics-server and check with kubectl top pods';

export function podMetrics(list: unknown): ReadonlyMap<string, PodUse> {
  const uses = new Map<string, PodUse>();
  for (const item of objectsOf(list, 'items', 'the metrics API')) {
    const { namespace = '', name = '' } = (item.metadata ?? {}) as Readonly<Record<string, unknown>>;
    const where = `the metrics API, pod ${namespace}/${name}`;
    const sample = { cpu: 0, memory: 0 };
    for (const container of objectsOf(item, 'containers', where)) {
      const usage = (container.usage ?? {}) as Readonly<Record<string, unknown>>;
      for (const resource of ['cpu', 'memory'] as const)
        sample[resource] += believedUse(resource, quantityIn(own(usage, resource), resource, where), where);
    }
    const both = (value: number): Use => ({ p50: value, p95: value });
    uses.set(`${namespace}/${name}`, { cpu: both(sample.cpu), memory: both(sample.memory) });
  }
  return uses;
}

/** Returns the objects of a list in a field. @throws Error with the place and the field if it is no list, or if it is too long */
export function objectsOf(value: unknown, key: string, where: string): readonly Readonly<Record<string, unknown>>[] {
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

/** Returns the parts of the allocatable amounts that pods use. */
export function usedShares(
  nodes: readonly StateNode[],
  uses: ReadonlyMap<string, PodUse>,
): NonNullable<LiveSummary['used']> {
  const share = (resource: 'cpu' | 'memory'): number => {
    let used = 0;
    let whole = 0;
    for (const { allocatable, pods } of nodes) {
      whole += amountIn(allocatable, resource);
      for (const pod of pods) used += uses.get(podKey(pod))?.[resource].p95 ?? 0;
    }
    return whole > 0 ? Number((used / whole).toFixed(3)) : 0;
  };
  return { cpu: share('cpu'), memory: share('memory') };
}

/** Minimum time between two samples. metrics-server has a new one every 15 to 60 s. */
const SAMPLE_MS = 60_000;
/** Age after which a sample is no longer shown. */
const MOST_AGE_MS = 5 * 60_000;

/** Last sample of the use, and the reason why it is missing. */
export interface LastUse {
  readonly report: UseReport | undefined;
  readonly problem: string | undefined;
}

/** Samples the use while a view needs it. A cluster without clients of its views gets no requests. */
export class UseSamples {
  readonly #read: () => Promise<UseReport>;
  readonly #clock: Timepiece;
  #report: UseReport | undefined;
  #problem: string | undefined;
  #readMs = Number.NEGATIVE_INFINITY;
  #dueMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(read: () => Promise<UseReport>, clock: Timepiece) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Returns the last sample, and starts the next one if it is due. */
  last(): LastUse {
    const nowMs = monotonicMs(this.#clock);
    if (this.#reading === undefined && nowMs >= this.#dueMs)
      this.#reading = this.#sample().finally(() => {
        this.#reading = undefined;
      });
    if (nowMs - this.#readMs > MOST_AGE_MS) this.#report = undefined;
    return { report: this.#report, problem: this.#problem };
  }

  /** Returns the last sample, and waits for it if it is being read. */
  async latest(): Promise<LastUse> {
    this.last();
    await this.#reading;
    return this.last();
  }

  async #sample(): Promise<void> {
    try {
      this.#report = await this.#read();
      this.#readMs = monotonicMs(this.#clock);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = messageOf(error);
    }
    this.#dueMs = monotonicMs(this.#clock) + SAMPLE_MS;
  }
}
