/**
 * Generates Deployments and StatefulSets whose replicas follow a load in the same way as with a HorizontalPodAutoscaler.
 * Replicas are set every minute. They increase immediately, but decrease only to the highest number of the last five
 * minutes. Changes of less than a tenth are ignored.
 */
import type { TraceEvent } from '../trace.ts';
import { arrivals, type Curve, curveOf, DAY, highestOf, WORKING_HOURS } from './calendar.ts';
import { deployment, disruptionBudget, type PodShape, statefulSet } from './objects.ts';
import { type GeneratorOptions, type Streams, tenths } from './options.ts';
import { Random } from './random.ts';

export interface ServiceCourse {
  readonly shape: PodShape;
  /** Weight of this service's share of all pods. */
  readonly weight: number;
  readonly curve: Curve;
  readonly least: number;
  /** Standard deviation of the load around its curve, as a fraction. */
  readonly noise: number;
  /** Bursts of load per day. */
  readonly burstsPerDay: number;
  /** New versions per week of seven days. */
  readonly rolloutsPerWeek: number;
  /** Value for the PodDisruptionBudget of this service. Undefined: it has no PodDisruptionBudget. */
  readonly maxUnavailable?: number | string;
  /** Size of the volume of each pod. Undefined: the pods have no volumes, and belong to a Deployment. */
  readonly volumeGi?: number;
}

const LOOK_SECONDS = 60;
const TOLERANCE = 0.1;
/** Number of evaluations whose highest result limits the decrease of replicas. */
const STABLE_LOOKS = 5;
/** Time constant of the noise, in seconds. */
const NOISE_MEMORY = 1_800;
const DAYS_OF_WEEK = 7;
/** Number of corrections of the load towards the wanted number of pods, because minimums and rounding add pods. */
const CORRECTIONS = 3;

interface Step {
  readonly at: number;
  readonly replicas: number;
}

/** Returns the load on one service with noise and bursts, around a mean of 1. */
function loadOf({ shape, curve, noise, burstsPerDay }: ServiceCourse, options: GeneratorOptions): Load {
  const random = new Random(options.seed, `${shape.namespace}/${shape.name}/load`);
  const expected = curveOf(options, curve);
  const kept = Math.exp(-LOOK_SECONDS / NOISE_MEMORY);
  const added = noise * Math.sqrt(1 - kept ** 2);
  let deviation = noise * random.normal();
  let burst = { until: 0, factor: 1 };
  return (at) => {
    deviation = kept * deviation + added * random.normal();
    if (at >= burst.until) {
      const starts = random.chance((burstsPerDay * LOOK_SECONDS) / DAY);
      burst = starts
        ? { until: at + random.between(600, 2_400), factor: random.between(1.4, 2.2) }
        : { until: 0, factor: 1 };
    }
    return expected(at) * Math.max(0.1, 1 + deviation) * burst.factor;
  };
}

/**
 * Maximum number of stored loads of all services together. The corrections of longer traces compute the loads again.
 */
const MOST_REMEMBERED = 4_000_000;

type Load = (at: number) => number;

/** Returns a function that creates the same load for the same moments each time. */
function rememberLoads(load: Load): () => Load {
  const values: number[] = [];
  return () => {
    let look = 0;
    return (at) => {
      if (look === values.length) values.push(load(at));
      look += 1;
      return values[look - 1] ?? 0;
    };
  };
}

function loadsOf(services: readonly ServiceCourse[], options: GeneratorOptions): readonly (() => Load)[] {
  const isShort = (services.length * options.seconds) / LOOK_SECONDS < MOST_REMEMBERED;
  return services.map((service) =>
    isShort ? rememberLoads(loadOf(service, options)) : () => loadOf(service, options),
  );
}

/** Yields the numbers of replicas that the autoscaler sets, beginning at time 0. @param pods at a load of 1 */
function* stepsOf(
  service: ServiceCourse,
  options: GeneratorOptions,
  pods: number,
  load = loadOf(service, options),
): Generator<Step> {
  // autoscalers do not evaluate all services at the same time
  const phase = new Random(options.seed, `${service.shape.name}/phase`).between(0, LOOK_SECONDS);
  const wishes: number[] = [];
  const wishAt = (at: number): number => Math.max(service.least, Math.ceil(pods * load(at) - 0.5));
  let replicas = wishAt(0);
  yield { at: 0, replicas };
  for (let at = phase; at < options.seconds; at += LOOK_SECONDS) {
    const wish = wishAt(at);
    wishes.push(wish);
    if (wishes.length > STABLE_LOOKS) wishes.shift();
    const next = wish > replicas ? wish : Math.max(...wishes);
    if (next === replicas || Math.abs(next / replicas - 1) <= TOLERANCE) continue;
    replicas = next;
    yield { at: tenths(at), replicas };
  }
}

function averageOf(service: ServiceCourse, options: GeneratorOptions, pods: number, load: Load): number {
  let sum = 0;
  let last: Step = { at: 0, replicas: 0 };
  for (const step of stepsOf(service, options, pods, load)) {
    sum += last.replicas * (step.at - last.at);
    last = step;
  }
  return (sum + last.replicas * (options.seconds - last.at)) / options.seconds;
}

/** Returns the pods of each service at a load of 1, so that their total matches the options. */
function podsOf(services: readonly ServiceCourse[], options: GeneratorOptions): readonly number[] {
  const weights = services.reduce((sum, { weight }) => sum + weight, 0);
  const loads = loadsOf(services, options);
  let total = options.pods;
  const share = ({ weight }: ServiceCourse): number => (total * weight) / weights;
  for (let round = 0; round < CORRECTIONS; round++) {
    const averages = services.map((service, index) =>
      averageOf(service, options, share(service), loads[index]?.() ?? loadOf(service, options)),
    );
    const average = averages.reduce((sum, each) => sum + each, 0);
    total *= options.pods / average;
  }
  return services.map(share);
}

function rolloutsOf({ shape, rolloutsPerWeek }: ServiceCourse, options: GeneratorOptions): readonly number[] {
  if (rolloutsPerWeek === 0) return [];
  const load = curveOf(options, WORKING_HOURS);
  const times = arrivals(options, load, {
    meanGap: (DAYS_OF_WEEK * DAY) / rolloutsPerWeek,
    most: highestOf(options, load),
    next: new Random(options.seed, `${shape.namespace}/${shape.name}/rollouts`),
  });
  return [...times].map(tenths);
}

function* eventsOf(service: ServiceCourse, options: GeneratorOptions, pods: number): Generator<TraceEvent> {
  const { shape, maxUnavailable, volumeGi } = service;
  const kind = volumeGi === undefined ? 'Deployment' : 'StatefulSet';
  const scale = { apiVersion: 'apps/v1', kind, namespace: shape.namespace, name: shape.name };
  const workload = (version: number, replicas: number) =>
    volumeGi === undefined
      ? deployment({ ...shape, version }, replicas)
      : statefulSet({ ...shape, version }, replicas, volumeGi);
  const rollouts = [...rolloutsOf(service, options)];
  let version = 1;
  let replicas = 0;
  for (const step of stepsOf(service, options, pods)) {
    for (let [at] = rollouts; at !== undefined && at <= step.at; [at] = rollouts) {
      rollouts.shift();
      version += 1;
      yield { at, apply: workload(version, replicas) };
    }
    replicas = step.replicas;
    if (step.at > 0) {
      yield { at: step.at, scale, replicas };
      continue;
    }
    if (maxUnavailable !== undefined) yield { at: 0, apply: disruptionBudget(shape, maxUnavailable) };
    yield { at: 0, apply: workload(version, replicas) };
  }
  for (const at of rollouts) {
    version += 1;
    yield { at, apply: workload(version, replicas) };
  }
}

export function serviceStreams(services: readonly ServiceCourse[], options: GeneratorOptions): Streams {
  const pods = podsOf(services, options);
  return services.map((service, index) => ({
    [Symbol.iterator]: () => eventsOf(service, options, pods[index] ?? 0),
  }));
}
