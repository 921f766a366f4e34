/**
 * If a node is launched for a pod, the node must have labels that match the selectors of the pod. Otherwise
 * kube-scheduler never binds the pod, and nodes are launched for it again and again.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  HOSTNAME_LABEL,
  INSTANCE_TENANCY_LABEL,
  type NodePool,
  type NodeSelectorRequirement,
  PLACEMENT_GROUP_ID_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
  type Pod,
  WELL_KNOWN_LABELS,
  WINDOWS_BUILD_LABEL,
} from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { labelValueErrors } from '#api/values';
import { Requirements, STRICT } from '#engine/model';
import { matchesNodeSelection } from '#local/testing';
import { catalogueOf } from '../../../support/catalogue.ts';
import { Account } from '../support/account.ts';
import { alternatives, type Bought, buy, podThat } from './buying.ts';

/** One type of each kind that has different labels. */
const TYPES = [
  ['m5.large', 'm5.metal', 'm5d.xlarge', 't3.micro', 't4g.small', 'c6g.medium', 'c7i-flex.large', 'm7a.large'],
  ['g5.xlarge', 'g4dn.12xlarge', 'g4ad.xlarge', 'p4d.24xlarge', 'inf1.xlarge', 'inf2.xlarge', 'trn1.2xlarge'],
  ['x2idn.16xlarge', 'u-6tb1.56xlarge', 'i3.large', 'i4i.large', 'd3.xlarge', 'r6i.large', 'hpc6a.48xlarge'],
].flat();

const NAMES = new RegExp(`^(${TYPES.map((type) => type.replace('.', '\\.')).join('|')})$`);

const poolOf = (requirements: readonly NodeClaimRequirement[] = [], labels: Record<string, string> = {}): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool' },
  spec: {
    template: {
      metadata: { labels },
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements },
    },
  },
});

const affinityFor = (...matchExpressions: readonly NodeSelectorRequirement[]): Partial<Pod['spec']> => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  },
});

let serial = 0;
const podWith = (spec: Partial<Pod['spec']>): Pod => podThat(`p${serial++}`, spec);

/** Returns pods that select by a label with every operator, around the possible values of the label. */
function selectingBy(key: string, values: readonly string[]): readonly Pod[] {
  const [first, ...others] = values;
  const numbers = values.filter((value) => /^\d+$/.test(value)).map(Number);
  const some = numbers.length > 0 ? [Math.min(...numbers), Math.max(...numbers)] : [];
  const expressions: readonly NodeSelectorRequirement[][] = [
    [{ key, operator: 'Exists' }],
    [{ key, operator: 'DoesNotExist' }],
    ...(first === undefined ? [] : [[{ key, operator: 'NotIn' as const, values: [first] }]]),
    ...(others.length === 0 ? [] : [[{ key, operator: 'NotIn' as const, values: others }]]),
    ...(values.length === 0 ? [] : [[{ key, operator: 'In' as const, values: [...values] }]]),
    ...some.flatMap((number) => [
      [{ key, operator: 'Gt' as const, values: [String(number)] }],
      [{ key, operator: 'Lt' as const, values: [String(number)] }],
      [
        { key, operator: 'Gt' as const, values: [String(number)] },
        { key, operator: 'NotIn' as const, values: [String(number + 1)] },
      ],
    ]),
  ];
  return [
    ...values.map((value) => podWith({ nodeSelector: { [key]: value } })),
    podWith({ nodeSelector: { [key]: 'nowhere' } }),
    ...expressions.map((expression) => podWith(affinityFor(...expression))),
  ];
}

const shown = (pod: Pod): string => {
  const [term] =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return JSON.stringify(pod.spec.nodeSelector ?? term?.matchExpressions);
};

/** Returns the pods that kube-scheduler would not bind to their node, with the labels of the node. */
function unbindable(bought: readonly Bought[]): readonly string[] {
  const texts = bought
    .filter(({ pod, node }) => !matchesNodeSelection(pod, node))
    .map(({ pod, node }) => {
      const keys = Object.keys(pod.spec.nodeSelector ?? {}).concat(shown(pod).match(/(?<="key":")[^"]+/g) ?? []);
      return `${shown(pod)} on ${JSON.stringify(keys.map((key) => node.metadata.labels?.[key] ?? null))}`;
    });
  return [...new Set(texts)];
}

/** Checks the invariants of every launched node. */
function check(bought: readonly Bought[], pool: NodePool): void {
  expect(unbindable(bought)).toEqual([]);
  // The node must satisfy the requirements of its NodePool, or it would drift and be replaced again and again.
  const required = Requirements.fromRequirements(pool.spec.template.spec.requirements);
  const claims = new Set(bought.map(({ claim }) => claim));
  const drifted = [...claims].filter(
    ({ metadata }) => !Requirements.fromLabels(metadata.labels).compatible(required, STRICT),
  );
  expect(drifted).toEqual([]);
  const values = new Set(bought.flatMap(({ node }) => Object.values(node.metadata.labels ?? {})));
  expect([...values].filter((value) => labelValueErrors(value).length > 0)).toEqual([]);
}

/** Returns the values of each well-known label in the types and their offerings. */
async function valuesOf(account: Account, pool: NodePool): Promise<ReadonlyMap<string, readonly string[]>> {
  const values = new Map([...WELL_KNOWN_LABELS].map((key) => [key, new Set<string>()]));
  for (const { requirements, offerings } of await account.provider.instanceTypes(pool))
    for (const { key, values: own = [] } of [...requirements, ...offerings.flatMap((each) => each.requirements)])
      for (const value of own) values.get(key)?.add(value);
  return new Map([...values].map(([key, own]) => [key, [...own].sort()]));
}

describe('a node that is launched for a pod', () => {
  let account: Account;
  beforeAll(async () => {
    account = await Account.open({ catalogue: catalogueOf(NAMES) });
  });
  afterAll(() => account.close());

  const pool = poolOf([{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand', 'spot'] }]);

  it('carries the selected label for every well-known label, value and possible instance', async () => {
    const values = await valuesOf(account, pool);
    const served = new Set<Pod>();
    for (const [key, own] of values) {
      const possible = await alternatives(account, pool, selectingBy(key, own));
      check(possible, pool);
      for (const { pod } of possible) served.add(pod);
    }
    expect(served.size).toBeGreaterThan(200);
  });

  it('carries every label that it was launched for after a real launch', async () => {
    const values = await valuesOf(account, pool);
    const pods = [...values.keys()].map((key) => podWith(affinityFor({ key, operator: 'Exists' })));
    const tenancy = INSTANCE_TENANCY_LABEL;
    const dedicated = [
      podWith({ nodeSelector: { [tenancy]: 'dedicated' } }),
      podWith(affinityFor({ key: tenancy, operator: 'NotIn', values: ['default'] })),
    ];
    const bought = await buy(account, pool, [...pods, ...dedicated]);
    const without = [...values.keys()].filter((key) => !bought.some(({ pod }) => shown(pod).includes(`"${key}"`)));
    expect(without.sort()).toEqual([
      CAPACITY_RESERVATION_ID_LABEL,
      CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
      CAPACITY_RESERVATION_TYPE_LABEL,
      PLACEMENT_GROUP_ID_LABEL,
      PLACEMENT_GROUP_PARTITION_LABEL,
      WINDOWS_BUILD_LABEL,
    ]);
    check(bought, pool);
  });

  /** Resolves the NodeClass with these settings. */
  async function withClass(more: Partial<EC2NodeClass['spec']>): Promise<void> {
    const { metadata, spec } = account.nodeClass();
    const { placementGroupSelector: _, capacityReservationSelectorTerms: __, ...rest } = spec;
    const amiSelectorTerms = [{ alias: 'al2023@latest' }];
    const generation = (metadata.generation ?? 1) + 1;
    const changed = { ...rest, amiSelectorTerms, ...more };
    account.kube.put(EC2_NODE_CLASS, { ...account.nodeClass(), metadata: { ...metadata, generation }, spec: changed });
    account.clock.forward(10 * 60_000);
    await account.reconcileNodeClass();
  }

  const affinities = (key: string, ...all: readonly (readonly [NodeSelectorRequirement['operator'], ...string[]])[]) =>
    all.map(([operator, ...values]) => podWith(affinityFor({ key, operator, values })));

  it('carries the ID and the partition of its placement group, and no excluded value', async () => {
    const id = account.aws.seed.placementGroup({ name: 'parts', strategy: 'partition', partitions: 4 });
    await withClass({ placementGroupSelector: { id } });
    const partition = PLACEMENT_GROUP_PARTITION_LABEL;
    const pods = [
      ...affinities(
        PLACEMENT_GROUP_ID_LABEL,
        ['In', id],
        ['Exists'],
        ['NotIn', 'pg-other'],
        ['NotIn', id],
        ['DoesNotExist'],
      ),
      ...affinities(
        partition,
        ['In', '3'],
        ['Exists'],
        ['NotIn', '1'],
        ['NotIn', '1', '2', '3'],
        ['Gt', '2'],
        ['Lt', '2'],
      ),
      ...affinities(partition, ['In', '5'], ['Gt', '4'], ['DoesNotExist']),
    ];
    const bought = await buy(account, pool, pods);
    expect(bought).toHaveLength(9);
    check(bought, pool);
  });

  it('is not launched for partitions of a group without partitions', async () => {
    const id = account.aws.seed.placementGroup({ name: 'near', strategy: 'cluster' });
    await withClass({ placementGroupSelector: { id } });
    const pods = affinities(PLACEMENT_GROUP_PARTITION_LABEL, ['In', '1'], ['Exists'], ['DoesNotExist'], ['NotIn', '1']);
    const bought = await buy(account, pool, pods);
    expect(bought).toHaveLength(2);
    check(bought, pool);
  });

  it('carries the labels of its own reservation only', async () => {
    const seed = { instanceType: 'm5.large', total: 10, matchCriteria: 'targeted' } as const;
    const a = account.aws.seed.capacityReservation({ ...seed, zone: 'us-west-2a' });
    const b = account.aws.seed.capacityReservation({ ...seed, zone: 'us-west-2b', interruptible: true });
    await withClass({ capacityReservationSelectorTerms: [{ id: a }, { id: b }] });
    const any = poolOf();
    const ids = [['In', a], ['In', b], ['NotIn', a], ['Exists'], ['DoesNotExist']] as const;
    const pods = [
      ...affinities(CAPACITY_RESERVATION_ID_LABEL, ...ids),
      ...affinities(CAPACITY_RESERVATION_TYPE_LABEL, ['In', 'default'], ['Exists'], ['NotIn', 'default']),
      ...affinities(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL, ['In', 'true'], ['In', 'false'], ['DoesNotExist']),
    ];
    const bought = await buy(account, any, pods);
    expect(bought.length).toBeGreaterThanOrEqual(8);
    check(bought, any);
  });

  it('carries the build of Windows', async () => {
    await withClass({ amiSelectorTerms: [{ alias: 'windows2022@latest' }] });
    const pods = [...selectingBy(WINDOWS_BUILD_LABEL, ['10.0.20348']), ...selectingBy('kubernetes.io/os', ['windows'])];
    const bought = await buy(account, pool, pods);
    expect(bought.length).toBeGreaterThan(4);
    check(bought, pool);
    await withClass({});
  });

  it('carries the labels that its NodePool leaves open, with a value that matches the pod', async () => {
    const open = poolOf(
      [
        { key: 'team', operator: 'In', values: ['a', 'b', 'c'] },
        { key: 'anything', operator: 'Exists' },
        { key: 'but', operator: 'NotIn', values: ['x'] },
        { key: 'above', operator: 'Gt', values: ['4'] },
        { key: 'between', operator: 'Gte', values: ['2'] },
        { key: 'between', operator: 'Lte', values: ['4'] },
      ],
      { fixed: 'value' },
    );
    const pods = [
      ...selectingBy('team', ['a', 'b', 'c']),
      ...selectingBy('anything', ['x', '7']),
      ...selectingBy('but', ['x', 'y']),
      ...selectingBy('above', ['3', '5', '9']),
      ...selectingBy('between', ['2', '3', '4']),
      ...selectingBy('fixed', ['value']),
      ...selectingBy('unknown', ['x']),
      ...selectingBy(HOSTNAME_LABEL, ['node-1']),
    ];
    const bought = await buy(account, open, pods);
    expect(bought.length).toBeGreaterThan(25);
    check(bought, open);
  });

  it('carries the aliases that not all kubelets and cloud controllers set', async () => {
    const aliases = {
      'failure-domain.beta.kubernetes.io/zone': 'us-west-2b',
      'failure-domain.beta.kubernetes.io/region': 'us-west-2',
      'beta.kubernetes.io/arch': 'arm64',
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/instance-type': 'm5.large',
    };
    const bought = await buy(
      account,
      pool,
      Object.entries(aliases).map(([key, value]) => podWith({ nodeSelector: { [key]: value } })),
    );
    expect(bought).toHaveLength(5);
    check(bought, pool);
  });
});
