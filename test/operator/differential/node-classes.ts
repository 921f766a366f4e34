/** EC2NodeClasses of random clusters, valid and invalid. */
import type { KubeObject } from '#api/objects';

export const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];
const DISCOVERY = [{ tags: { 'karpenter.sh/discovery': 'test' } }];

/**
 * Differences of a NodeClass from a valid one; the valid one is most frequent. Fields that only change instance types are absent,
 * because the command line gets the types from the operator.
 */
const CLASS_STATES = {
  ready: {},
  'other-image': { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] },
  'no-subnets': { subnetSelectorTerms: [{ tags: { none: 'such' } }] },
  'no-images': { amiSelectorTerms: [{ tags: { none: 'such' } }], amiFamily: 'AL2023' },
  'no-profile': { role: undefined, instanceProfile: 'nobody-made-it' },
  'no-groups': { securityGroupSelectorTerms: [{ tags: { none: 'such' } }] },
} as const;
export type ClassState = keyof typeof CLASS_STATES | 'missing';
export const STATES: readonly ClassState[] = [
  'no-subnets',
  'no-images',
  'no-profile',
  'no-groups',
  'missing',
  'other-image',
];

export interface ClassParts {
  readonly name: string;
  readonly state: ClassState;
  /** Fields that override the fields of the state. */
  readonly spec: object;
}

/** Returns the objects, except for classes in the state "missing". */
export function nodeClasses(parts: readonly ClassParts[]): readonly KubeObject[] {
  return parts.flatMap(({ name, state, spec: more }) => {
    if (state === 'missing') return [];
    const spec = {
      role: 'KarpenterNodeRole-test',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: DISCOVERY,
      securityGroupSelectorTerms: DISCOVERY,
      ...CLASS_STATES[state],
      ...more,
    };
    return [{ apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name }, spec } as KubeObject];
  });
}
