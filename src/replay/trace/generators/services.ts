/**
 * Deployments whose replicas follow a load, as a HorizontalPodAutoscaler would set them: every minute, up at once and down
 * only to the highest number wanted in the last five minutes, and not at all for less than a tenth.
 */
import type { TraceEvent } from '../trace.ts';
import { arrivals, type Curve, curveOf, DAY, highestOf, WORKING_HOURS } from './calendar.ts';
import { deployment, disruptionBudget, type PodShape } from './objects.ts';
import { type GeneratorOptions, type Streams, tenths } from './options.ts';
import { Random } from './random.ts';

export interface Service {
  readonly shape: PodShape;
  /** Share of all services' pods, as a weight. */
  readonly weight: number;
  readonly curve: Curve;
  readonly least: number;
  /** Standard deviation of the load around its curve, as a fraction. */
  readonly noise: number;
  /** Bursts of load a day. */
  readonly burstsPerDay: number;
  /** New versions in a week of seven days. */
  readonly rolloutsPerWeek: number;
  /** Of its PodDisruptionBudget, when it has one. */
  readonly maxUnavailable?: number | string;
}

const LOOK_SECONDS = 60;
const TOLERANCE = 0.1;
/** Looks over which the highest wish counts before replicas go. */
const STABLE_LOOKS = 5;
/** Seconds in which the noise forgets what it was. */
const NOISE_MEMORY = 1_800;
const DAYS_OF_WEEK = 7;
/** Times that the load is corrected until replicas are as many as wanted: floors and rounding add some. */
const CORRECTIONS = 3;

interface Step {
  readonly at: number;
  readonly replicas: number;
}

/** Load on one service around 1, with noise and bursts. */
function loadOf({ shape, curve, noise, burstsPerDay }: Service, options: GeneratorOptions): Load {
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

/** Loads that are remembered for all services together: corrections of longer traces work them out each time. */
const MOST_REMEMBERED = 4_000_000;

type Load = (at: number) => number;

/** Makes a load that is the same each time that it is asked for the same moments. */
function remembered(load: Load): () => Load {
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

function loadsOf(services: readonly Service[], options: GeneratorOptions): readonly (() => Load)[] {
  const isShort = (services.length * options.seconds) / LOOK_SECONDS < MOST_REMEMBERED;
  return services.map((service) => (isShort ? remembered(loadOf(service, options)) : () => loadOf(service, options)));
}

/** What the autoscaler sets, the first number at 0. @param pods at a load of 1 */
function* stepsOf(
  service: Service,
  options: GeneratorOptions,
  pods: number,
  load = loadOf(service, options),
): Generator<Step> {
  // autoscalers do not look at all services at the same time
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
    if (Math.abs(next / replicas - 1) <= TOLERANCE) continue;
    replicas = next;
    yield { at: tenths(at), replicas };
  }
}

function averageOf(service: Service, options: GeneratorOptions, pods: number, load: Load): number {
  let sum = 0;
  let last: Step = { at: 0, replicas: 0 };
  for (const step of stepsOf(service, options, pods, load)) {
    sum += last.replicas * (step.at - last.at);
    last = step;
  }
  return (sum + last.replicas * (options.seconds - last.at)) / options.seconds;
}

/** Pods of each service at a load of 1, such that all together are as many as asked for. */
function podsOf(services: readonly Service[], options: GeneratorOptions): readonly number[] {
  const weights = services.reduce((sum, { weight }) => sum + weight, 0);
  const loads = loadsOf(services, options);
  let total = options.pods;
  const share = ({ weight }: Service): number => (total * weight) / weights;
  for (let round = 0; round < CORRECTIONS; round++) {
    const averages = services.map((service, index) =>
      averageOf(service, options, share(service), loads[index]?.() ?? loadOf(service, options)),
    );
    const average = averages.reduce((sum, each) => sum + each, 0);
    total *= options.pods / average;
  }
  return services.map(share);
}

function rolloutsOf({ shape, rolloutsPerWeek }: Service, options: GeneratorOptions): readonly number[] {
  if (rolloutsPerWeek === 0) return [];
  const load = curveOf(options, WORKING_HOURS);
  const times = arrivals(options, load, {
    meanGap: (DAYS_OF_WEEK * DAY) / rolloutsPerWeek,
    most: highestOf(options, load),
    next: new Random(options.seed, `${shape.namespace}/${shape.name}/rollouts`),
  });
  return [...times].map(tenths);
}

function* eventsOf(service: Service, options: GeneratorOptions, pods: number): Generator<TraceEvent> {
  const { shape, maxUnavailable } = service;
  const scale = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: shape.namespace, name: shape.name };
  const rollouts = [...rolloutsOf(service, options)];
  let version = 1;
  let replicas = 0;
  for (const step of stepsOf(service, options, pods)) {
    for (let [at] = rollouts; at !== undefined && at <= step.at; [at] = rollouts) {
      rollouts.shift();
      version += 1;
      yield { at, apply: deployment({ ...shape, version }, replicas) };
    }
    replicas = step.replicas;
    if (step.at > 0) {
      yield { at: step.at, scale, replicas };
      continue;
    }
    if (maxUnavailable !== undefined) yield { at: 0, apply: disruptionBudget(shape, maxUnavailable) };
    yield { at: 0, apply: deployment({ ...shape, version }, replicas) };
  }
  for (const at of rollouts) {
    version += 1;
    yield { at, apply: deployment({ ...shape, version }, replicas) };
  }
}

export function serviceStreams(services: readonly Service[], options: GeneratorOptions): Streams {
  const pods = podsOf(services, options);
  return services.map((service, index) => ({
    [Symbol.iterator]: () => eventsOf(service, options, pods[index] ?? 0),
  }));
}
