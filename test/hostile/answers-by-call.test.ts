/** Corrupted AWS responses, a different corruption for each call, with all features of the operator enabled. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type EC2NodeClass, isTrue, NODE_CLAIM, POD } from '#api/objects';
import { healthyNodeClass, smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { removeOne } from './objects-away.ts';
import { type RewritingProxy, startRewritingProxy } from './rewriting-proxy.ts';
import { isFor, isHarmful, isStuck, KINDS, operationOf, type Spoiling } from './spoilt-answers.ts';

/** Time on the world's clock, including all retries of a call. */
const FAILED_MS = 240_000;
/** A throttled call is retried within 16 s, and a controller that failed several times within some more seconds. */
const RECOVERED_MS = 90_000;

/** Calls whose responses are corrupted together. No call of a group depends on another one. */
const GROUPS: readonly { readonly certain: readonly string[]; readonly others: readonly string[] }[] = [
  {
    certain: ['DescribeImages', 'DescribeSubnets', 'CreateLaunchTemplate'],
    others: ['DescribeInstances', 'DescribeInstanceStatus', 'ReceiveMessage', 'GetQueueUrl', 'ListInstanceProfiles'],
  },
  {
    certain: [
      'GetParameter',
      'DescribeSecurityGroups',
      'DescribeCapacityReservations',
      'DescribePlacementGroups',
      'DescribeLaunchTemplates',
    ],
    others: ['TerminateInstances'],
  },
  {
    certain: ['CreateFleet'],
    others: [
      'RunInstances',
      'CreateTags',
      'DeleteLaunchTemplate',
      'DeleteMessage',
      'GetInstanceProfile',
      'CreateInstanceProfile',
      'AddRoleToInstanceProfile',
      'RemoveRoleFromInstanceProfile',
      'DeleteInstanceProfile',
      'DescribeCluster',
    ],
  },
];

const NAMES = Object.keys(KINDS);

interface Input {
  readonly number: number;
  /** Kinds of corruption by call. */
  readonly kinds: ReadonlyMap<string, string>;
  readonly certain: readonly string[];
  readonly name: string;
  /** Launches another node afterwards: once for each kind of corruption, because each input has a pod as well. */
  readonly isProbed: boolean;
}

/** Inputs in which every call has every kind of corruption once. */
const INPUTS: readonly Input[] = NAMES.flatMap((_, round) =>
  GROUPS.map(({ certain, others }, group): Input => {
    const kinds = new Map([...certain, ...others].map((call, at) => [call, NAMES[(round + at) % NAMES.length] ?? '']));
    const name = [...kinds].map(([call, kind]) => `${call}: ${kind}`).join(', ');
    return { number: round * GROUPS.length + group, kinds, certain, name, isProbed: group === GROUPS.length - 1 };
  }),
);

let proxy: RewritingProxy;
let hostile: HostileWorld;
const bought = new Set<string>();
let pods = 0;
beforeAll(async () => {
  hostile = await startHostileWorld({
    via: async ({ aws }) => {
      aws.instances.subscribe(({ id }) => void bought.add(id));
      proxy = await startRewritingProxy(aws.url);
      return { env: { AWS_ENDPOINT_URL: proxy.url } };
    },
  });
});
afterAll(async () => {
  await hostile?.stop();
  await proxy?.close();
});

/** Returns a NodeClass whose selectors require every lookup, without cached results. */
function nodeClassOf(number: number): EC2NodeClass {
  const name = `spoilt-${number}`;
  const { seed } = hostile.world.aws;
  seed.parameter(`/${name}`, seed.image({ name }));
  seed.placementGroup({ name, strategy: 'spread' });
  seed.capacityReservation({ instanceType: 'm5.large', zone: 'us-west-2a', total: 1, tags: { name } });
  const { spec, ...rest } = healthyNodeClass();
  return {
    ...rest,
    metadata: { name },
    spec: {
      ...spec,
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ ssmParameter: `/${name}` }],
      placementGroupSelector: { name },
      capacityReservationSelectorTerms: [{ tags: { name } }],
      tags: { name },
    },
  };
}

const isNamed = (operation: string): boolean =>
  hostile.since().some((line) => line.level === 'ERROR' && JSON.stringify(line).includes(operation));

async function play({ number, kinds, certain, isProbed }: Input): Promise<void> {
  const { kube } = hostile;
  const met = new Set<string>();
  const unchanged = new Set<string>();
  const spoilings = new Map<string, Spoiling>(
    [...kinds].map(([call, kind]) => [call, KINDS[kind]?.() ?? (() => undefined)]),
  );
  hostile.mark();
  proxy.spoil((request) => {
    const operation = operationOf(request);
    const spoiled = spoilings.get(operation)?.(request);
    if (spoiled?.kind !== 'changed') {
      if (spoiled !== undefined) met.add(operation);
      return spoiled;
    }
    const change = (text: string): string => {
      const after = spoiled.change(text);
      (after === text ? unchanged : met).add(operation);
      return after;
    };
    return { kind: 'changed', change };
  });
  const nodeClass = nodeClassOf(number);
  const pod = smallPod(`spoilt-${number}`, { 'karpenter.sh/nodepool': 'healthy', 'example.com/node': `s${number}` });
  pods += isProbed ? 2 : 1;
  const kindOf = (call: string): string => kinds.get(call) ?? '';
  const fitting = certain.filter((call) => isFor(kindOf(call), call));
  // while a call is stuck, later calls are not made, and earlier failures are not reported
  const stuck = fitting.filter((call) => isStuck(kindOf(call)));
  const expected = stuck.length > 0 ? stuck : fitting;
  const harmful = expected.filter((call) => isHarmful(kindOf(call)));
  try {
    hostile.world.aws.queue.send({});
    await kube.create(EC2_NODE_CLASS, nodeClass);
    await kube.create(POD, pod);
    for (const call of expected)
      await hostile.until(`call of ${call}`, () => met.has(call) || unchanged.has(call), FAILED_MS);
    for (const call of harmful)
      await hostile.until(`word about ${call}`, () => !met.has(call) || isNamed(call), FAILED_MS);
  } finally {
    proxy.mend();
  }
  const mendedMs = hostile.clock.now();
  await hostile.until('node for the pod', async () => (await nodeOf(pod.metadata.name)) !== undefined, RECOVERED_MS);
  const boundMs = hostile.clock.now() - mendedMs;
  await (isProbed ? hostile.expectHealthy() : hostile.expectLeading());
  await hostile.until('ready NodeClass', () => isReady(nodeClass.metadata.name), RECOVERED_MS);
  if (process.env.HOSTILE_TIMES) console.log({ number, boundMs, readyMs: hostile.clock.now() - mendedMs, met });
  // the objects are removed while the next responses are corrupted
  await removeOne(kube, POD, pod);
  await removeOne(kube, EC2_NODE_CLASS, nodeClass);
}

const nodeOf = async (name: string): Promise<string | undefined> =>
  (await hostile.kube.find(POD, { name, namespace: 'default' }))?.spec.nodeName;

async function isReady(name: string): Promise<boolean> {
  const nodeClass = await hostile.kube.find(EC2_NODE_CLASS, { name });
  return nodeClass !== undefined && isTrue(nodeClass, 'Ready');
}

describe('a corrupted response of AWS', () => {
  it.each(INPUTS)('is handled in each call: $name', play);

  it('causes no unnecessary launches, and all test instances are terminated', async () => {
    await hostile.until(
      'end of all nodes and NodeClasses',
      async () =>
        (await hostile.kube.list(NODE_CLAIM)).items.length === 0 &&
        (await hostile.kube.list(EC2_NODE_CLASS)).items.length === 1 &&
        hostile.world.aws.instances.list().every(({ state }) => state === 'terminated'),
      FAILED_MS,
    );
    // one for each pod of an input, one for each healthy pod, and one for the start
    expect(bought.size).toBeLessThanOrEqual(pods + 1);
    await expectBounded(hostile);
  });
});
