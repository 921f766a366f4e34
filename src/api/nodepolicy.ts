/** NodePolicy: settings for NodePools that the kinds of Karpenter have no field for, in sections. */
import { KARPENTER_TS_GROUP } from './labels.ts';
import { repairErrors, repairSection } from './policy-repair.ts';
import { rolloutErrors, rolloutSection } from './policy-rollout.ts';
import { spotErrors, spotSection } from './policy-spot.ts';
import {
  choice,
  type Declared,
  list,
  number,
  object,
  optional,
  patternLike,
  rule,
  stringMap,
  text,
} from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions } from './shapes.ts';
import { SHARE_PATTERN } from './shares.ts';
import { timeZoneError } from './time-zones.ts';

/** NodePools for which the sections hold. All NodePools if absent. */
const nodePools = object(
  {
    names: optional(
      list(text({ minLength: 1, maxLength: 253 }), {
        description: 'Names of the NodePools.',
        merge: 'set',
        minItems: 1,
        maxItems: 100,
      }),
    ),
    matchLabels: optional(
      stringMap({ description: 'Labels in the metadata of the NodePools. All of them must match.', maxProperties: 20 }),
    ),
  },
  {
    description: 'NodePools for which the policy holds. Default: all NodePools.',
    rules: [
      rule('has(self.names) != has(self.matchLabels)', "exactly one of 'names' and 'matchLabels' must be set"),
      rule('!has(self.matchLabels) || self.matchLabels.size() > 0', "'matchLabels' must have a label"),
    ],
  },
);

export const POLICY_MODES = ['Act', 'Observe'] as const;

const mode = choice(POLICY_MODES, {
  description:
    'With `Observe`, decisions on nodes of these NodePools are made and reported, and are not carried out. Default: Act.',
});

export const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
/** Reasons that a window can name. `Expired` is the end of `expireAfter`, which windows of all reasons do not hold back. */
export const WINDOW_REASONS = ['Empty', 'Drifted', 'Underutilized', 'Expired'] as const;

const timeOfDay = (description: string) =>
  text({ description, pattern: patternLike('^([01][0-9]|2[0-3]):[0-5][0-9]$', '22:30') });

const windows = object(
  {
    timeZone: optional(
      text({
        description: 'IANA time zone of the times, such as `Europe/Berlin`. Default: UTC.',
        minLength: 1,
        maxLength: 64,
      }),
    ),
    allowed: list(
      object({
        reasons: optional(
          list(choice(WINDOW_REASONS), {
            description:
              'Reasons that the window is for. Default: Empty, Drifted and Underutilized. Expired also holds back the end of `expireAfter`.',
            merge: 'set',
            minItems: 1,
          }),
        ),
        days: optional(
          list(choice(WEEKDAYS), {
            description: 'Days on which the window starts. Default: all days.',
            merge: 'set',
            minItems: 1,
          }),
        ),
        start: optional(timeOfDay('Time of day at which the window starts. Default: 00:00.')),
        end: optional(
          timeOfDay(
            'Time of day at which the window ends, on the next day unless it is after `start`. Default: 00:00.',
          ),
        ),
      }),
      {
        description: 'Windows of allowed times. A reason that no window is for is allowed at all times.',
        merge: 'atomic',
        minItems: 1,
        maxItems: 50,
      },
    ),
  },
  { description: 'Times at which nodes may be disrupted, in addition to the budgets of the NodePool.' },
);

const zones = object(
  {
    balance: text({
      description:
        'Share of the price of a node that the balance of zones may add, such as `3%`. With `0%`, EC2 chooses among zones.',
      pattern: patternLike('^(100|[0-9]{1,2}(\\.[0-9]{1,2})?)%$', '3%'),
    }),
  },
  { description: 'Distribution of new nodes over zones. Default: `balance: 3%`.' },
);

const preferences = object(
  {
    worth: text({
      description:
        'Worth of a preference with weight 100, as a share of the price of the resources of its pod, such as `10%`. Spread constraints with `ScheduleAnyway` have weight 100. With `0%`, only preferences without a price are satisfied.',
      pattern: patternLike(SHARE_PATTERN, '10%'),
    }),
    maxWorth: optional(
      text({
        description: 'Maximum worth in the annotation `karpenter-ts.sh/preference-worth` of pods. Default: 100%.',
        pattern: patternLike(SHARE_PATTERN, '10%'),
      }),
    ),
  },
  {
    description:
      'Preferences of pods: preferred node affinity, preferred pod affinity and anti-affinity, and spread constraints with `ScheduleAnyway`. Default: `worth: 10%`.',
  },
);

const ceilings = object(
  {
    usdPerHour: number({
      description: 'Maximum sum of the billed prices of all NodeClaims of the NodePools together, in USD per hour.',
      minimum: 0,
      maximum: 1_000_000,
    }),
  },
  { description: 'Amounts that the NodePools must not exceed together. The ceilings of all policies hold.' },
);

/** Sections of a policy. A section that two policies set for a NodePool comes from one of them as a whole. */
const sections = {
  mode: optional(mode),
  repair: optional(repairSection),
  rollout: optional(rolloutSection),
  windows: optional(windows),
  zones: optional(zones),
  preferences: optional(preferences),
  spot: optional(spotSection),
  ceilings: optional(ceilings),
};

const nodePolicySpec = object(
  { nodePools: optional(nodePools), ...sections },
  { description: 'NodePools, and the settings for them.' },
);

const nodePolicyStatus = object({ conditions: optional(conditions()) }, { description: 'Observed state.' });

export type NodePolicySpec = Declared<typeof nodePolicySpec>;
export type NodePolicy = Resource<typeof nodePolicySpec, typeof nodePolicyStatus>;

export type PolicySection = keyof typeof sections;
export const POLICY_SECTIONS = Object.keys(sections) as readonly PolicySection[];
/** Sections of which the values of all policies apply to a NodePool together. */
export const JOINT_SECTIONS: ReadonlySet<PolicySection> = new Set(['ceilings']);

export const NODE_POLICY_DECLARATION: ResourceDeclaration = {
  group: KARPENTER_TS_GROUP,
  version: 'v1alpha1',
  kind: 'NodePolicy',
  plural: 'nodepolicies',
  singular: 'nodepolicy',
  scope: 'Cluster',
  category: 'karpenter',
  description: 'NodePolicy sets how the nodes of NodePools are launched and disrupted.',
  columns: [columns.ready, { name: 'Mode', type: 'string', jsonPath: '.spec.mode' }, columns.age],
  spec: nodePolicySpec,
  status: nodePolicyStatus,
};

/** Checks of sections beyond the schema. */
const SECTION_ERRORS: {
  readonly [Section in PolicySection]?: (section: NonNullable<NodePolicySpec[Section]>) => readonly string[];
} = {
  windows: ({ timeZone }) => {
    const error = timeZone === undefined ? undefined : timeZoneError(timeZone);
    return error === undefined ? [] : [`timeZone: ${error}`];
  },
  repair: repairErrors,
  rollout: rolloutErrors,
  spot: spotErrors,
};

/** Returns the errors of the sections that the API server cannot detect, with the path of the field. */
export function nodePolicyErrors({ spec }: NodePolicy): readonly string[] {
  const errorsOf = <Section extends PolicySection>(section: Section): readonly string[] => {
    const value = spec[section];
    return value === undefined ? [] : (SECTION_ERRORS[section]?.(value) ?? []);
  };
  return POLICY_SECTIONS.flatMap((section) => errorsOf(section).map((error) => `spec.${section}.${error}`));
}
