/** Plans with gangs: each gang is placed with at least its minimum number of pods, or takes no part in the plan. */
import { HOSTNAME_LABEL } from '#api/objects';
import { defined } from '#lib';
import { type GangShortage, shortageText } from '../causes/cause.ts';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, Plan, PodRefusal } from '../model.ts';
import { podKey } from '../pods.ts';
import { type Gang, gangsAmong, keysOf, missingPods } from './gang.ts';

/** Result of the trial of one gang. */
export interface GangTrial {
  readonly gang: Gang;
  /** Pods with the domain that the trial chose, if the gang has a topology key. Undefined if the gang found no room. */
  readonly pods?: readonly EnginePod[];
  /** True if the gang found room only with the smallest instance types. */
  readonly isSmall?: boolean;
  /** Refusal of the pods. Undefined for a gang that was not tried in time, or that found room. */
  readonly refusal?: PodRefusal;
}

interface GangSolve {
  readonly pods: readonly EnginePod[];
  readonly gangs: readonly Gang[];
  /** True if the plan only shows the effect of a removal, so that a gang may be placed in part. */
  readonly isSimulation: boolean;
  /** Tries gangs one after the other, after all other pods. */
  readonly tryGangs: (pods: readonly EnginePod[], gangs: readonly Gang[]) => readonly GangTrial[];
  /** Solves pods, with the pods of gangs after all other pods. */
  readonly solve: (pods: readonly EnginePod[], gangs: readonly Gang[]) => Plan;
}

/** Number of solves after which all incomplete gangs are dropped together, and number after which all gangs are. */
const ONE_BY_ONE = 4;
const MOST_SOLVES = 8;

/** Returns a plan that is the same as if the pods of gangs without room did not exist, with the refusals of these pods. */
export function planWithGangs({ pods, gangs, isSimulation, tryGangs, solve }: GangSolve): Plan {
  const outcome = new Outcome(pods);
  const open = gangs.filter((gang) => {
    const refusal = refusalBeforeTrial(gang);
    if (refusal !== undefined) outcome.refuse(gang, refusal);
    return refusal === undefined;
  });
  const trials = open.some((gang) => missingPods(gang) > 0 || gang.topologyKey !== undefined)
    ? tryGangs(outcome.pods, open)
    : open.map((gang): GangTrial => ({ gang, pods: gang.pods }));
  let chosen: readonly Gang[] = trials.flatMap(({ gang, pods: placed, isSmall, refusal }) => {
    if (placed !== undefined) return [outcome.replace({ ...gang, pods: placed, ...defined({ isSmall }) })];
    outcome.drop(gang, refusal);
    return [];
  });
  for (let solves = 1; ; solves++) {
    const plan = solve(outcome.pods, chosen);
    const incomplete = isSimulation ? [] : chosen.filter((gang) => !isComplete(gang, plan));
    if (incomplete.length === 0) return outcome.addedTo(plan);
    const dropped = new Set(solves < ONE_BY_ONE ? incomplete.slice(0, 1) : solves < MOST_SOLVES ? incomplete : chosen);
    for (const gang of dropped) outcome.drop(gang, refusalIn(plan, gang));
    chosen = chosen.filter((gang) => !dropped.has(gang));
  }
}

/** Returns the results of the gangs of a snapshot, by id of the gang. */
export function trialsById(snapshot: EngineSnapshot, tryGangs: GangSolve['tryGangs']): ReadonlyMap<string, GangTrial> {
  const gangs = gangsAmong(snapshot.pendingPods, snapshot).filter((gang) => refusalBeforeTrial(gang) === undefined);
  if (gangs.length === 0) return new Map();
  return new Map(tryGangs(snapshot.pendingPods, gangs).map((trial) => [trial.gang.id, trial]));
}

/** Returns the earlier result of a gang. A gang without one is placed like other pods. */
export function knownTrial(gang: Gang, trials: ReadonlyMap<string, GangTrial> = new Map()): GangTrial {
  const { pods = gang.pods, refusal, isSmall } = trials.get(gang.id) ?? {};
  return refusal === undefined ? { gang, pods, ...defined({ isSmall }) } : { gang, refusal };
}

/** Pods that take part in the plan, and the results of the remaining pods. */
class Outcome {
  readonly #pods: Map<string, EnginePod>;
  readonly #refusals = new Map<string, PodRefusal>();
  readonly #notEvaluated: string[] = [];

  constructor(pods: readonly EnginePod[]) {
    this.#pods = new Map(pods.map((pod) => [podKey(pod), pod]));
  }

  get pods(): readonly EnginePod[] {
    return [...this.#pods.values()];
  }

  replace(gang: Gang): Gang {
    for (const pod of gang.pods) this.#pods.set(podKey(pod), pod);
    return gang;
  }

  refuse(gang: Gang, refusal: PodRefusal): void {
    for (const key of keysOf(gang)) {
      this.#pods.delete(key);
      this.#refusals.set(key, refusal);
    }
  }

  drop(gang: Gang, refusal: PodRefusal | undefined): void {
    if (refusal !== undefined) {
      this.refuse(gang, refusal);
      return;
    }
    for (const key of keysOf(gang)) {
      this.#pods.delete(key);
      this.#notEvaluated.push(key);
    }
  }

  addedTo(plan: Plan): Plan {
    return {
      ...plan,
      refusals: new Map([...plan.refusals, ...this.#refusals]),
      notEvaluated: [...plan.notEvaluated, ...this.#notEvaluated],
    };
  }
}

/** Returns the refusal of a gang that needs no trial. */
function refusalBeforeTrial(gang: Gang): PodRefusal | undefined {
  const { name, pods, bound, minimum, problem, topologyKey } = gang;
  if (problem !== undefined) return { code: 'gang', text: `gang ${name}: ${problem}` };
  if (topologyKey === HOSTNAME_LABEL) {
    const remedy = 'use a required pod affinity for pods that must share a node';
    return { code: 'gang', text: `gang ${name}: the topology key ${topologyKey} is not supported; ${remedy}` };
  }
  const existing = pods.length + bound;
  if (existing >= minimum) return undefined;
  const text = `gang ${name} needs ${minimum} pods together, but only ${existing} wait or run; nodes are launched when the others exist`;
  return { code: 'gang', text };
}

function placedPods({ pods }: Gang, { claims, placements }: Plan): number {
  const own = new Set(pods.map(podKey));
  return [...claims, ...placements].reduce(
    (sum, placed) => sum + placed.pods.reduce((count, key) => count + Number(own.has(key)), 0),
    0,
  );
}

const isComplete = (gang: Gang, plan: Plan): boolean => placedPods(gang, plan) >= missingPods(gang);

function refusalIn(plan: Plan, gang: Gang): PodRefusal | undefined {
  const refusal = keysOf(gang)
    .map((key) => plan.refusals.get(key))
    .find((each) => each !== undefined);
  return refusal && gangRefusal(refusal, shortageOf(gang, placedPods(gang, plan)));
}

export const shortageOf = ({ name, minimum, bound }: Gang, placed: number): GangShortage => ({
  name,
  minimum,
  room: bound + placed,
});

/** Returns the refusal of one pod of a gang as the refusal of all its pods. */
export function gangRefusal(refusal: PodRefusal, gang: GangShortage): PodRefusal {
  const text = `${shortageText(gang)}: ${refusal.text}`;
  if (refusal.code !== 'no-fit') return { ...refusal, text };
  const { cause, limits, candidates } = refusal;
  return {
    ...refusal,
    text,
    gang,
    ...(cause && { cause: { ...cause, gang } }),
    ...(limits && { limits: limits.map((each) => ({ ...each, gang })) }),
    ...(candidates && {
      candidates: { ...candidates, causes: candidates.causes.map((each) => ({ ...each, gang })) },
    }),
  };
}
