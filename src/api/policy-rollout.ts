/** Section `rollout` of a NodePolicy: stages of the replacement of drifted nodes. */
import { parseDuration, readDurationOrNever } from './duration.ts';
import { durationErrors } from './nodepool-validation.ts';
import { type Declared, object, optional, patternLike, text } from './schema/declare.ts';
import { duration } from './shapes.ts';

/** Defaults of the durations, in their text form. */
export const ROLLOUT_DEFAULTS = { soak: '10m', initializedWithin: '10m', podsReadyWithin: '5m' } as const;

export const rolloutSection = object(
  {
    canaries: text({
      description:
        'Number of nodes to replace first: a number such as `2`, or a percentage of the nodes of the NodePool such as `5%`, rounded down to at least one. It is counted once, when the rollout starts.',
      pattern: patternLike('^([1-9][0-9]{0,4}|([1-9][0-9]?|100)%)$', '10%'),
    }),
    soak: optional(
      duration(
        'Time for which the canaries must be in order after they are initialized, before further nodes are replaced. Default: 10m.',
      ),
    ),
    initializedWithin: optional(
      duration(
        'Time from the creation of a NodeClaim within which its node must be initialized. Otherwise, the rollout halts. Default: 10m.',
      ),
    ),
    podsReadyWithin: optional(
      duration(
        'Time within which the pods on new nodes must be ready. Otherwise, the rollout halts. It must not be longer than `soak`. Default: 5m, or `soak` if that is shorter.',
      ),
    ),
  },
  {
    description:
      'Stages of the replacement of drifted nodes: canaries, their soak, then waves within the budgets of the NodePool. Default: budgets only.',
  },
);

export type RolloutSection = Declared<typeof rolloutSection>;

/** Returns the errors of the section that the API server cannot detect. */
export function rolloutErrors({ soak, initializedWithin, podsReadyWithin }: RolloutSection): readonly string[] {
  const errors = durationErrors({ soak, initializedWithin, podsReadyWithin });
  if (errors.length > 0 || podsReadyWithin === undefined) return errors;
  const longest = parseDuration(soak ?? ROLLOUT_DEFAULTS.soak);
  return parseDuration(podsReadyWithin) <= longest
    ? []
    : [`podsReadyWithin: ${podsReadyWithin} must not be longer than soak, ${soak ?? ROLLOUT_DEFAULTS.soak}`];
}

/** Durations of the section in milliseconds. */
export interface RolloutTimes {
  readonly soakMs: number;
  readonly initializedWithinMs: number;
  readonly podsReadyWithinMs: number;
}

/** Returns the durations, or undefined if one of them is not valid. */
export function rolloutTimes({
  soak = ROLLOUT_DEFAULTS.soak,
  initializedWithin = ROLLOUT_DEFAULTS.initializedWithin,
  podsReadyWithin = ROLLOUT_DEFAULTS.podsReadyWithin,
}: RolloutSection): RolloutTimes | undefined {
  const times = [soak, initializedWithin, podsReadyWithin].map(readDurationOrNever);
  if (times.some((ms) => ms === undefined || !Number.isFinite(ms))) return undefined;
  const [soakMs = 0, initializedWithinMs = 0, readyMs = 0] = times.map(Number);
  return { soakMs, initializedWithinMs, podsReadyWithinMs: Math.min(readyMs, soakMs) };
}
