/** The judge of simulations must detect invalid results. */
import { describe, expect, it } from '@jest/globals';
import type { SimulatedClaim, SimulationAnswer } from '#cli/testing';
import { problemsOf, type ScenarioObject, type TypeEntry } from './validity.ts';

const ZONE = 'topology.kubernetes.io/zone';
const inSet = (key: string, ...values: string[]) => ({ key, operator: 'In', values });

const pool = {
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: { template: { spec: { requirements: [], containers: [] } } },
} as unknown as ScenarioObject;

const web = (extra: object = {}): ScenarioObject =>
  ({
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ resources: { requests: { cpu: '1' } }, ports: [{ hostPort: 80 }] }], ...extra },
      },
    },
  }) as unknown as ScenarioObject;

const types: readonly TypeEntry[] = [
  {
    name: 'small',
    requirements: [],
    capacity: { cpu: '2', pods: '10' },
    overhead: { kubeReserved: { cpu: '100m' } },
    offerings: ['a', 'b'].map((zone) => ({ requirements: [inSet(ZONE, zone)], price: 1, available: true })),
  },
];

const claim = (...pods: string[]): SimulatedClaim => ({
  nodePool: 'default',
  pods: pods.map((name) => `default/${name}`),
  instanceTypes: ['small'],
  requirements: [],
  requests: {},
  cheapest: 'small',
  price: 1,
  billedPrice: 1,
});

const result = (...nodeClaims: SimulatedClaim[]): SimulationAnswer => ({
  nodeClaims,
  existingNodes: [],
  unschedulable: {},
  totalPrice: 0,
  totalBilledPrice: 0,
});

const spread = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ],
};
const apart = {
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE, labelSelector: { matchLabels: { app: 'web' } } },
      ],
    },
  },
};
const two = [claim('web-0'), claim('web-1')];

describe('problemsOf', () => {
  it('accepts a valid result', () => {
    expect(problemsOf([pool, web()], types, result(...two))).toEqual([]);
  });

  it.each([
    ['a pod that is missing', web(), [claim('web-0')], 'default/web-1 is not in the result'],
    ['a pod placed twice', web(), [claim('web-0'), claim('web-0'), claim('web-1')], 'default/web-0 is placed twice'],
    ['too little room', web(), [claim('web-0', 'web-1')], 'claim 0 as small: cpu 2 over 1.9'],
    ['a host port taken twice', web(), [claim('web-0', 'web-1')], 'claim 0: host port 80 twice'],
    ['a selector that no node meets', web({ nodeSelector: { [ZONE]: 'a' } }), two, `node selector ${ZONE}=a`],
    ['an open zone under spread', web(spread), two, 'claim 0: the zone of spread pods is open'],
    ['pods together that want to be apart', web(apart), two, `default/web-0 is with default/web-1 by ${ZONE}`],
  ])('sees %s', (_, deployment, claims, problem) => {
    expect(problemsOf([pool, deployment], types, result(...claims)).join('\n')).toContain(problem);
  });
});
