/** The events of a seeded life of a cluster: Deployments that scale and roll out, Jobs, interruptions and shortages. */
import { parseArgs } from 'node:util';
import type { KubeObject } from '#api/objects';
import { pseudoRandom } from '#engine/model';
import { deployment } from '../../test/operator/harness.ts';
import { budgetFor } from '../../test/operator/pools.ts';
import { mixed, spread, ZONE } from './workloads.ts';

/** `pick` is a number in [0, 1) that selects one of the nodes that exist at this time. */
export type LifeEvent =
  | { readonly kind: 'create'; readonly objects: readonly KubeObject[] }
  | { readonly kind: 'scale'; readonly name: string; readonly replicas: number }
  | { readonly kind: 'roll-out'; readonly name: string; readonly version: number }
  | { readonly kind: 'interrupt'; readonly pick: number }
  | { readonly kind: 'shortage'; readonly pick: number };

export interface TimedEvent {
  readonly atMs: number;
  readonly event: LifeEvent;
}

/** Label of the pods of Jobs. Its value is the running time in seconds. */
export const RUNS_FOR = 'runs-for';
const SERVICES = 8;
/** Time of the first change, after the nodes of the first burst have joined. */
const FIRST_CHANGE_MS = 90_000;
const LONGEST_GAP_MS = 20_000;
const MOST_REPLICAS = 20;
const CPUS = ['250m', '500m', '1', '2'];
const MEMORIES = ['512Mi', '1Gi', '2Gi', '6Gi'];

export const MINUTE_MS = 60_000;

/** `changes` of many kinds, or `waves` of small services that end with a third of the pods. */
const WORKLOADS = ['changes', 'waves'] as const;
const CAPACITIES = ['spot', 'on-demand'] as const;

export interface LifeOptions {
  readonly lengthMs: number;
  readonly seed: number;
  readonly only: string;
  readonly bootJitter: number;
  readonly workload: (typeof WORKLOADS)[number];
  readonly capacities: readonly (typeof CAPACITIES)[number][];
}

/** @throws Error if an option is unknown or not valid */
export function readLifeOptions(args: readonly string[]): LifeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
      'boot-jitter': { type: 'string', default: '0.2' },
      workload: { type: 'string', default: WORKLOADS[0] },
      capacity: { type: 'string' },
    },
  });
  const [minutes, seed, bootJitter] = [values.minutes, values.seed, values['boot-jitter']].map(Number) as [
    number,
    number,
    number,
  ];
  if (!(minutes >= 1)) throw new Error(`--minutes must be at least 1, not ${JSON.stringify(values.minutes)}`);
  if (!Number.isInteger(seed)) throw new Error(`--seed must be an integer, not ${JSON.stringify(values.seed)}`);
  if (!(bootJitter >= 0 && bootJitter < 1))
    throw new Error(`--boot-jitter must be at least 0 and less than 1, not ${JSON.stringify(values['boot-jitter'])}`);
  const workload = oneOf('workload', WORKLOADS, values.workload);
  const capacities = values.capacity === undefined ? CAPACITIES : [oneOf('capacity', CAPACITIES, values.capacity)];
  return { lengthMs: minutes * MINUTE_MS, seed, only: values.only, bootJitter, workload, capacities };
}

function oneOf<T extends string>(option: string, values: readonly T[], text: string): T {
  const found = values.find((value) => value === text);
  if (found === undefined)
    throw new Error(`--${option} must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`);
  return found;
}

/** Returns the events in the order of their times. The first creates the pods of `mixed-100`, and then the services. */
export function lifeEvents(seed: number, lengthMs: number, zone: string): readonly TimedEvent[] {
  const random = pseudoRandom(seed);
  const integer = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  const oneOf = <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T;
  const requests = (): Record<string, string> => ({ cpu: oneOf(CPUS), memory: oneOf(MEMORIES) });
  const names = Array.from({ length: SERVICES }, (_, at) => `service-${at}`);
  const replicas = new Map(names.map((name) => [name, integer(2, 12)]));
  let version = 0;
  let jobs = 0;

  const services = names.flatMap((name, at): KubeObject[] => {
    const rules = [spread(name, ZONE, at % 4 === 0 ? 'DoNotSchedule' : 'ScheduleAnyway')];
    const pod = at % 2 === 0 ? { topologySpreadConstraints: rules } : {};
    const service = deployment(name, replicas.get(name) ?? 0, { ...pod, terminationGracePeriodSeconds: 5 }, requests());
    return at % 3 === 0 ? [service, budgetFor(name, 1)] : [service];
  });
  const change = (): LifeEvent => {
    const kind = random();
    const name = oneOf(names);
    if (kind < 0.25)
      return { kind: 'create', objects: [job(`job-${++jobs}`, integer(2, 10), integer(30, 240), requests())] };
    if (kind < 0.35) return { kind: 'roll-out', name, version: ++version };
    if (kind < 0.42) return { kind: 'interrupt', pick: random() };
    if (kind < 0.47) return { kind: 'shortage', pick: random() };
    const next = Math.round((replicas.get(name) ?? 0) * (0.4 + 1.4 * random())) + integer(0, 1);
    replicas.set(name, Math.min(MOST_REPLICAS, next));
    return { kind: 'scale', name, replicas: replicas.get(name) ?? 0 };
  };

  const events: TimedEvent[] = [
    { atMs: 0, event: { kind: 'create', objects: mixed(zone).objects } },
    { atMs: FIRST_CHANGE_MS, event: { kind: 'create', objects: services } },
  ];
  // the pods of the burst leave again, a group at a time
  for (const [at, { metadata }] of mixed(zone).objects.entries())
    events.push({ atMs: lengthMs * (0.2 + 0.1 * at), event: { kind: 'scale', name: metadata.name, replicas: 0 } });
  for (let atMs = FIRST_CHANGE_MS; ; ) {
    atMs += random() * LONGEST_GAP_MS;
    if (atMs >= lengthMs) break;
    events.push({ atMs, event: change() });
  }
  return events.sort((a, b) => a.atMs - b.atMs);
}

/** A service of the waves. */
export interface WaveService {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly replicas: number;
}

export interface WaveStep {
  readonly second: number;
  readonly name: string;
  readonly replicas: number;
}

const WAVE_SERVICES = 12;
/** Second and replicas of each service. The last step begins the calm time. */
const WAVES = [
  [120, 10],
  [240, 20],
  [420, 12],
  [540, 18],
  [720, 6],
] as const;
/** Minute in which the last wave ends. */
export const CALM_FROM_MINUTE = 12;

/** Waves of services with pods of 50 to 300 millicores, which end with a third of the pods. */
export function waves(seed: number): {
  readonly services: readonly WaveService[];
  readonly steps: readonly WaveStep[];
} {
  const services = Array.from({ length: WAVE_SERVICES }, (_, at) => {
    const cpuMilli = 50 + ((at * 37 + seed * 61) % 251);
    return { name: `s${at}`, cpuMilli, memoryMib: 2 * cpuMilli, replicas: 4 };
  });
  const steps = WAVES.flatMap(([second, replicas]) =>
    services.map(({ name }, at) => ({ second: second + at, name, replicas: replicas + ((at + seed) % 3) - 1 })),
  );
  return { services, steps };
}

/** Returns the events of {@link waves} in the order of their times. */
export function waveEvents(seed: number): readonly TimedEvent[] {
  const { services, steps } = waves(seed);
  const objects = services.map(({ name, replicas, cpuMilli, memoryMib }) =>
    deployment(name, replicas, { terminationGracePeriodSeconds: 5 }, { cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi` }),
  );
  return [
    { atMs: 0, event: { kind: 'create', objects } },
    ...steps
      .map(
        ({ second, name, replicas }): TimedEvent => ({
          atMs: second * 1_000,
          event: { kind: 'scale', name, replicas },
        }),
      )
      .sort((a, b) => a.atMs - b.atMs),
  ];
}

const job = (name: string, pods: number, seconds: number, requests: Readonly<Record<string, string>>): KubeObject =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default' },
    spec: {
      parallelism: pods,
      completions: pods,
      backoffLimit: 20,
      template: {
        metadata: { labels: { [RUNS_FOR]: String(seconds) } },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'pause', resources: { requests } }] },
      },
    },
  }) as KubeObject;
