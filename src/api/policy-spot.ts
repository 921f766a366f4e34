/** Section `spot` of a NodePolicy: use of spot capacity. */
import { parseDuration, readDurationOrNever } from './duration.ts';
import { durationErrors } from './nodepool-validation.ts';
import { type Declared, int32, object, optional, patternLike, rule, text } from './schema/declare.ts';
import { duration } from './shapes.ts';

/** A share of at most 100 %. */
const PART = patternLike('^(100|[0-9]{1,2}(\\.[0-9]{1,2})?)%$', '70%');

export const spotSection = object(
  {
    maxPrice: optional(
      text({
        description:
          'Maximum price of spot offerings as a share of the on-demand price of their instance type, such as `60%`. Nodes are not launched with more expensive offerings. Nodes that exist are kept.',
        pattern: PART,
      }),
    ),
    consolidationTypes: optional(
      int32({
        description:
          'Number of cheaper instance types that the replacement of a spot node by a spot node must have, and with which it is launched. Default: 15.',
        minimum: 1,
        maximum: 60,
      }),
    ),
    share: optional(
      text({
        description:
          'Maximum share of the replicas of a workload on spot nodes of these NodePools together, such as `70%`, rounded down. Replicas are pods with the same ReplicaSet, StatefulSet, Job or other controller.',
        pattern: PART,
      }),
    ),
    onDemandAfter: optional(
      duration(
        'Time after the creation of a pod for which on-demand capacity is not launched for the pod if it may use spot. At most 1h. Default: 0s.',
      ),
    ),
  },
  {
    description: 'Use of spot capacity.',
    rules: [
      rule(
        'has(self.maxPrice) || has(self.consolidationTypes) || has(self.share) || has(self.onDemandAfter)',
        'at least one field must be set',
      ),
    ],
  },
);

export type SpotSection = Declared<typeof spotSection>;

/** Longest time for which pods wait for spot capacity. */
const MOST_WAIT_MS = 3_600_000;

/** Returns the errors of the section that the API server cannot detect. */
export function spotErrors({ onDemandAfter }: SpotSection): readonly string[] {
  const errors = durationErrors({ onDemandAfter });
  if (errors.length > 0 || onDemandAfter === undefined) return errors;
  return parseDuration(onDemandAfter) <= MOST_WAIT_MS
    ? []
    : [`onDemandAfter: ${onDemandAfter} must not be longer than 1h`];
}

/** Returns the waiting time in milliseconds, at most the longest. Returns undefined if the time is invalid. */
export function spotWaitMs({ onDemandAfter }: SpotSection): number | undefined {
  const ms = onDemandAfter === undefined ? undefined : readDurationOrNever(onDemandAfter);
  return ms === undefined || !(ms > 0) ? undefined : Math.min(ms, MOST_WAIT_MS);
}
