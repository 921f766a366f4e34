/** Code paths that read one large object or text of a user. */
import { ec2NodeClassHash } from '#api/hashes';
import {
  type EC2NodeClass,
  NODE,
  NODE_CLAIM,
  type NodePool,
  POD,
  type Pod,
  type PodDisruptionBudget,
} from '#api/objects';
import { nodePoolErrors } from '#api/validation';
import { familyOf } from '#aws/node-classes';
import {
  compileFailure,
  parseMessage,
  renderUserData,
  resolveReserved,
  restrictedTags,
  staticFailure,
} from '#aws/testing';
import { budgetsOf } from '#engine/disruption';
import { withHash } from '#engine/model';
import { allowedDisruptions } from '#engine/testing';
import { trimmedObject } from '#kube/client';
import { jsonIn, listIn } from '#kube/testing';
import { silent } from '#observe/logger';
import { partial } from '../../test/support/partial.ts';
import { claimAt, NODE_POOL, nodeAt } from '../largecluster.ts';
import type { TurnPath } from './measured.ts';

export const many = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const dictionary = (count: number, value: (at: number) => string): Record<string, string> =>
  Object.fromEntries(many(count, (at) => [`example.com/k${at}`, value(at)]));

const podOf = (name: string, spec: object, metadata: object = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-06-01T00:00:00Z', ...metadata },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }], ...spec },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
    },
  }) as unknown as Pod;

const expressions = (count: number, values: number) =>
  many(count, (at) => ({ key: `example.com/k${at}`, operator: 'In', values: many(values, (n) => `v${n}`) }));

/** Pods of up to a megabyte. */
export const GIANT_PODS: Readonly<Record<string, Pod>> = {
  '10,000 tolerations': podOf('tolerations', {
    tolerations: many(10_000, (at) => ({
      key: `example.com/k${at}`,
      operator: 'Equal',
      value: 'x',
      effect: 'NoSchedule',
    })),
  }),
  '10,000 node selector terms': podOf('terms', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: many(10_000, (at) => ({ matchExpressions: expressions(1, 1 + (at % 2)) })),
        },
      },
    },
  }),
  '10,000 preferred terms': podOf('preferred', {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: many(10_000, (at) => ({
          weight: 1 + (at % 100),
          preference: { matchExpressions: expressions(1, 1) },
        })),
      },
    },
  }),
  '5,000 anti-affinity terms': podOf('anti', {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: many(5_000, (at) => ({
          topologyKey: `example.com/t${at}`,
          labelSelector: { matchLabels: { app: `a${at}` } },
        })),
      },
    },
  }),
  '10,000 labels': podOf('labels', {}, { labels: dictionary(10_000, (at) => `v${at}`) }),
  'a node selector of 20,000 keys': podOf('selector', { nodeSelector: dictionary(20_000, () => 'x') }),
  '5,000 containers': podOf('containers', {
    containers: many(5_000, (at) => ({
      name: `c${at}`,
      resources: { requests: { cpu: '1m', [`example.com/r${at}`]: '1' } },
    })),
  }),
};

/** Largest NodePool that the CRD accepts, near the size limit of etcd. */
export const LARGE_POOL: NodePool = {
  ...NODE_POOL,
  metadata: { ...NODE_POOL.metadata, name: 'large', uid: 'large' },
  spec: {
    template: {
      metadata: {
        labels: dictionary(2_000, (at) => `v${at}`),
        annotations: dictionary(50, () => 'x'.repeat(4_000)),
      },
      spec: {
        ...NODE_POOL.spec.template.spec,
        taints: many(2_000, (at) => ({ key: `example.com/t${at}`, effect: 'NoSchedule' })),
        startupTaints: many(2_000, (at) => ({ key: `example.com/s${at}`, effect: 'NoSchedule' })),
        requirements: expressions(100, 600) as never,
      },
    },
    disruption: {
      consolidateAfter: '0s',
      budgets: many(50, (at) => ({
        nodes: '10%',
        schedule: `${many(60, (n) => n).join()} ${at % 24} 29 2 *`,
        duration: '100h',
      })),
    },
    limits: dictionary(1_000, () => '1'),
  },
};

const nodeClassOf = (spec: object): EC2NodeClass =>
  ({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default', uid: 'default' },
    spec: {
      role: 'x',
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: many(30, () => ({ tags: dictionary(20, () => 'x') })),
      securityGroupSelectorTerms: many(30, () => ({ tags: dictionary(20, () => 'x') })),
      ...spec,
    },
    status: {},
  }) as unknown as EC2NodeClass;

const LARGE_CLASS = nodeClassOf({
  tags: dictionary(10_000, () => 'x'.repeat(50)),
  kubelet: {
    ...Object.fromEntries(many(5_000, (at) => [`unknown${at}`, 'x'])),
    evictionHard: dictionary(5_000, () => '10%'),
    evictionSoft: dictionary(5_000, () => '10%'),
    kubeReserved: dictionary(5_000, () => '1Gi'),
  },
});

/** Expressions near the limits. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  'a kubelet expression of splits and joins': `instance_type${".split('').join('aaaaaaaaaaaaaaaaaaa')".repeat(6)}.size()`,
  'a kubelet expression of lists in lists': `[${many(90, String)}].map(a, [${many(90, String)}].filter(b, a > b).size()).size()`,
  'a kubelet expression with a large pattern': `instance_type.matches('a{900}') ? 1 : 2`,
  'a kubelet expression of 1,000 characters': `1${'+vcpus*1'.repeat(110)}`,
};

const facts = { vcpus: 2, memoryMib: 8192, defaultEnis: 3, ipsPerEni: 10, instanceType: 'm5.large', maxPods: 29 };

const evaluate = (memory: string): void => {
  const kubelet = { kubeReserved: { memory } };
  if (compileFailure(kubelet) === undefined)
    for (let type = 0; type < 10; type++) resolveReserved(kubelet, { ...facts, maxPods: type });
};

const bootstrap = (custom: string) => ({
  cluster: { name: 'test', endpoint: 'https://x', caBundle: 'YQ==', dnsIp: '10.100.0.10' },
  cidr: '10.100.0.0/16',
  kubelet: { maxPods: 10 },
  rawKubelet: { maxPods: 10 },
  taints: many(100, (at) => ({ key: `example.com/t${at}`, value: 'x', effect: 'NoSchedule' })),
  labels: dictionary(200, (at) => `v${at}`),
  custom,
  raid0: false,
});

/** Characters of user data that are parsed. */
const LONGEST = 65_000;
/** Characters of YAML that are parsed. */
const LONGEST_YAML = 16_000;
const filled = (text: string, longest = LONGEST): string => text.repeat(Math.floor(longest / text.length));
const USER_DATA: Readonly<Record<string, readonly ['AL2023' | 'Bottlerocket' | 'AL2' | 'Windows2022', string]>> = {
  'YAML of short lines': ['AL2023', filled('a: x\n', LONGEST_YAML)],
  'YAML nested deeply': ['AL2023', `a: ${filled('[', LONGEST_YAML)}`],
  'YAML maps in maps': ['AL2023', `a: ${filled('{a: ', LONGEST_YAML)}`],
  'YAML of documents': ['AL2023', filled('---\na: b\n', LONGEST_YAML)],
  'MIME of many parts': [
    'AL2023',
    `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n${filled('--b\nContent-Type: text/plain\n\nx\n')}--b--\n`,
  ],
  'MIME of many headers': [
    'AL2023',
    `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n${filled('a: b\n ')}\n\n--b\n`,
  ],
  'TOML of short lines': [
    'Bottlerocket',
    `[settings.host-containers]\n${many(9_000, (at) => `a${at} = 1\n`)
      .join('')
      .slice(0, LONGEST)}`,
  ],
  'TOML of tables': [
    'Bottlerocket',
    many(2_500, (at) => `[settings.a.b${at}]\nc = 1\n`)
      .join('')
      .slice(0, LONGEST),
  ],
  'TOML nested deeply': ['Bottlerocket', `[settings]\na = ${filled('[')}`],
  'TOML of dotted keys': ['Bottlerocket', `[settings]\n${filled('a.')}b = 1\n`],
};

const event = (detail: object, detailType: string, source = 'aws.ec2'): string =>
  JSON.stringify({ version: '0', source, 'detail-type': detailType, time: '2026-06-01T00:00:00Z', detail });
const MESSAGES: Readonly<Record<string, string>> = {
  'a message of 256 KiB in brackets': '['.repeat(256 * 1024),
  'a message of 256 KiB of entities': event(
    {
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: many(6_000, (at) => ({ entityValue: `i-${String(at).padStart(17, '0')}` })),
    },
    'AWS Health Event',
    'aws.health',
  ),
  'a message of 256 KiB of text': event(
    { 'instance-id': 'x'.repeat(256 * 1024) },
    'EC2 Spot Instance Interruption Warning',
  ),
};

const budgetOf = (at: number): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: `budget-${at}`, namespace: 'default', uid: `budget-${at}` },
  spec: {
    minAvailable: 1,
    selector: {
      matchExpressions: many(2_000, (n) => ({ key: `example.com/k${n}`, operator: 'NotIn', values: [`v${at}`] })),
    },
  },
});
const PODS_OF_NODE = many(30, (at) => podOf(`p${at}`, {}, { labels: { app: `a${at}` } }));

const PAGE_TEXT = JSON.stringify({
  apiVersion: 'v1',
  kind: 'NodeList',
  metadata: { resourceVersion: '1' },
  items: many(1_640, nodeAt),
});

const pathsOf = <T>(
  path: string,
  inputs: Readonly<Record<string, T>>,
  run: (value: T) => unknown,
): readonly TurnPath[] => Object.entries(inputs).map(([input, value]) => ({ path, input, run: () => run(value) }));

export const OBJECT_PATHS: readonly TurnPath[] = [
  ...pathsOf('trim a pod', GIANT_PODS, (pod) => trimmedObject(POD, structuredClone(pod))),
  ...pathsOf('trim an object', { 'a page of 500 nodes': NODE }, () =>
    many(500, (at) => trimmedObject(NODE, partial(nodeAt(at)))),
  ),
  ...pathsOf('trim an object', { 'a page of 500 NodeClaims': NODE_CLAIM }, () =>
    many(500, (at) => trimmedObject(NODE_CLAIM, structuredClone(claimAt(at)))),
  ),
  ...pathsOf('validate a NodePool', { 'the largest': LARGE_POOL }, nodePoolErrors),
  ...pathsOf('hash a NodePool', { 'the largest': LARGE_POOL }, withHash),
  ...pathsOf('validate an EC2NodeClass', { 'the largest': LARGE_CLASS }, (nodeClass) => [
    staticFailure(nodeClass, true),
    restrictedTags(nodeClass.spec.tags),
  ]),
  ...pathsOf('hash an EC2NodeClass', { 'the largest': LARGE_CLASS }, (nodeClass) => ec2NodeClassHash(nodeClass, 'x')),
  ...pathsOf('evaluate for 10 types', EXPRESSIONS, evaluate),
  ...pathsOf('render user data', USER_DATA, ([family, custom]) =>
    renderUserData(familyOf(nodeClassOf({ amiFamily: family })), bootstrap(custom) as never, silent),
  ),
  ...pathsOf('read a message', MESSAGES, parseMessage),
  ...pathsOf('allowed disruptions of a NodePool', { '50 budgets with rare schedules': LARGE_POOL }, (pool) =>
    allowedDisruptions(pool, { reason: 'Drifted', total: 100, nowMs: Date.parse('2026-06-01T00:00:00Z') }),
  ),
  ...pathsOf(
    'budgets of the pods of a node',
    { '500 budgets of 2,000 rules, 30 pods': many(500, budgetOf) },
    (budgets) => PODS_OF_NODE.map((pod) => budgetsOf(pod, budgets)),
  ),
  ...pathsOf('read a page of a list', { '8 MiB': PAGE_TEXT }, (text) => listIn(NODE, jsonIn(text))),
];
