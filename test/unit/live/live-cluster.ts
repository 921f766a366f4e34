/** A cluster of any size for the live page, in which tests create the objects. */
import {
  type EC2NodeClass,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodeClaim,
  type NodePool,
  POD,
  type Pod,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import type { PodUse } from '#engine/costs';
import type { Verdict } from '#engine/disruption';
import type { PodVerdict } from '#engine/explanations';
import { timestamp } from '#lib';
import { UseSamples, type WhatIfResponse } from '#live/view';
import { newHistory, type OperatorHistory } from '#observe/history';
import { silent } from '#observe/logger';
import { ClusterState } from '#state';
import type { ObjectSources } from '../../../src/live/pools.ts';
import type { LiveSources } from '../../../src/live/view.ts';
import { partial } from '../../support/partial.ts';
import { handFed } from '../kube/fakes.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';

export const NOW_MS = Date.UTC(2026, 10, 22, 12);
const HOUR_MS = 3_600_000;
const POOLS = ['default', 'gpu'];
const TYPES = ['m7i.2xlarge', 'c7g.2xlarge', 'g5.xlarge'];

export class LiveCluster {
  readonly clock: SettableClock = settableClock(NOW_MS);
  readonly stores = handFed();
  readonly cluster: ClusterState;
  readonly history = newHistory();
  readonly sources: LiveSources & {
    readonly nodeClasses: ObjectSources['nodeClasses'];
    readonly selectionsOf: ObjectSources['selectionsOf'];
    readonly history: OperatorHistory;
    readonly whatIf: (change: string) => Promise<WhatIfResponse | undefined>;
  };
  /** Computes the effect of a change. */
  whatIf: (change: string) => Promise<WhatIfResponse | undefined> = async () => undefined;
  nodeClasses: EC2NodeClass[] = [];
  verdicts: Verdict[] = [];
  podVerdicts: unknown[] = [];
  /** If true, requests for verdicts fail. */
  failing = false;
  /** Number of summaries, which equals the number of reads of the cluster. */
  leadershipReads = 0;
  /** USD per hour of every node. Undefined if unknown. */
  price: number | undefined = 0.25;
  /** Part of the price for surplus CPU credits. */
  surplus = 0;
  /** Use of the pods, by name. Undefined without a metrics API. */
  uses: ReadonlyMap<string, PodUse> | undefined;
  /** Error of price requests. */
  lookupError: Error | undefined;
  #version = 0;

  constructor() {
    this.cluster = new ClusterState({
      informers: this.stores.informers,
      clock: this.clock,
      manages: ({ kind }) => kind === NODE_CLASS_KIND.kind,
    });
    for (const kind of [NODE, NODE_CLAIM, NODE_POOL, POD]) this.stores.store<KubeObject>(kind).replace([]);
    for (const name of POOLS) this.stores.store(NODE_POOL).put(this.versioned(poolNamed(name)));
    this.sources = {
      clusterName: 'test',
      cluster: this.cluster,
      nodeClasses: () => this.nodeClasses,
      selectionsOf: NODE_CLASS_KIND.selectionsOf,
      history: this.history,
      whatIf: (change) => this.whatIf(change),
      clock: this.clock,
      log: silent,
      pricesOf: async (_, claims) => {
        if (this.lookupError !== undefined) throw this.lookupError;
        const { price: usdPerHour, surplus: surplusCreditsUsdPerHour } = this;
        return claims.map(() => (usdPerHour === undefined ? undefined : { usdPerHour, surplusCreditsUsdPerHour }));
      },
      use: new UseSamples(async () => {
        if (this.uses === undefined) throw new Error('no metrics API; install metrics-server');
        return { uses: this.uses, source: 'one sample' };
      }, this.clock),
      verdicts: () => {
        if (this.failing) throw new Error('no verdicts');
        return this.verdicts;
      },
      podVerdicts: () => this.podVerdicts as PodVerdict[],
      isLeading: () => {
        this.leadershipReads += 1;
        return true;
      },
    };
  }

  versioned<T extends KubeObject>(object: T): T {
    this.#version += 1;
    const uid = `uid-${object.kind}-${object.metadata.name}`;
    return { ...object, metadata: { uid, ...object.metadata, resourceVersion: String(this.#version) } };
  }

  claim(index: number, launched = true): NodeClaim {
    const claim = this.versioned<NodeClaim>({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: `claim-${index}`, labels: labelsOf(index), creationTimestamp: timestamp(NOW_MS - HOUR_MS) },
      spec: { nodeClassRef: CLASS, requirements: [] },
      ...(launched ? { status: { providerID: idOf(index), capacity: AMOUNTS, allocatable: AMOUNTS } } : {}),
    });
    this.stores.store(NODE_CLAIM).put(claim);
    return claim;
  }

  node(index: number, more: Partial<Node['metadata']> = {}): Node {
    const ready = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };
    const node = this.versioned<Node>({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}.internal`, labels: { ...labelsOf(index), ...ready }, ...more },
      spec: { providerID: idOf(index) },
      status: {
        capacity: AMOUNTS,
        allocatable: AMOUNTS,
        conditions: [
          { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
        ],
      },
    });
    this.stores.store(NODE).put(node);
    return node;
  }

  pod(name: string, nodeName?: string, more: Partial<Pod['status']> = {}): Pod {
    const waits = {
      type: 'PodScheduled',
      status: 'False' as const,
      reason: 'Unschedulable',
      lastTransitionTime: timestamp(NOW_MS - 60_000),
    };
    const pod = this.versioned<Pod>({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        ...(nodeName === undefined ? {} : { nodeName }),
        containers: [
          partial({
            name: 'main',
            resources: { requests: { cpu: '250m', memory: '512Mi' } },
            env: [{ name: 'PASSWORD', value: 'hunter2-in-env' }],
          }),
        ],
      },
      status:
        nodeName === undefined ? { phase: 'Pending', conditions: [waits], ...more } : { phase: 'Running', ...more },
    });
    this.stores.store(POD).put(pod);
    return pod;
  }

  /** Creates a pending pod of a controller. */
  ownedPod(
    name: string,
    owner: {
      readonly namespace: string;
      readonly kind: string;
      readonly name: string;
      readonly hash?: string;
    },
  ): void {
    const { namespace, hash, ...controller } = owner;
    const { spec, status } = this.pod(name);
    this.stores.store(POD).remove(this.pod(name));
    const labels = hash === undefined ? {} : { 'pod-template-hash': hash };
    const ownerReferences = [{ ...controller, apiVersion: 'apps/v1', uid: 'uid', controller: true }];
    const metadata = { name, namespace, labels, ownerReferences };
    this.stores
      .store(POD)
      .put(this.versioned<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata, spec, ...{ status } } as Pod));
  }

  /** Creates a NodePool with limits, a budget and a reason why it is not ready. */
  limitedPool(name: string): void {
    this.stores.store(NODE_POOL).put(
      this.versioned({
        ...poolNamed(name),
        spec: {
          weight: 10,
          limits: { cpu: '40', 'example.com/gpu': '4' },
          disruption: {
            consolidateAfter: '30s',
            budgets: [{ nodes: '10%', schedule: '@daily', duration: '8h', reasons: ['Drifted'] }],
          },
          template: {
            spec: {
              nodeClassRef: CLASS,
              requirements: [
                { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'], minValues: 2 },
              ],
            },
          },
        },
        status: {
          conditions: [
            condition('Ready', 'False', 'UnhealthyDependents'),
            condition('NodeClassReady', 'False', 'is not ready'),
          ],
        },
      }),
    );
  }

  /** Creates a NodeClass that is not ready, with user data that must not be shown. */
  brokenClass(): void {
    const message = 'SecurityGroupSelector did not match any SecurityGroups';
    this.nodeClasses = [
      {
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name: 'default' },
        spec: { userData: 'hunter2-in-user-data' },
        status: {
          subnets: [{ id: 'subnet-1', zone: 'us-west-2a' }],
          amis: [{ id: 'ami-1', name: 'al2023', requirements: [] }],
          conditions: [
            condition('Ready', 'False', 'SecurityGroupsReady=False'),
            condition('SecurityGroupsReady', 'False', message),
          ],
        },
      } as unknown as EC2NodeClass,
    ];
  }

  /** Creates nodes with a number of pods each, and pending pods. */
  fill(nodes: number, podsEach: number, pending = 0): void {
    for (let index = 0; index < nodes; index += 1) {
      this.claim(index);
      const { metadata } = this.node(index);
      for (let pod = 0; pod < podsEach; pod += 1) this.pod(`pod-${index}-${pod}`, metadata.name);
    }
    for (let pod = 0; pod < pending; pod += 1) this.pod(`waits-${pod}`);
  }
}

const condition = (type: string, status: 'True' | 'False', message: string) => ({
  ...{ type, status, message, reason: type },
  lastTransitionTime: timestamp(NOW_MS - HOUR_MS),
});

const CLASS = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const AMOUNTS = { cpu: '8', memory: '32Gi', pods: '58' };
const idOf = (index: number): string => `aws:///us-west-2a/i-${index}`;

const labelsOf = (index: number): Readonly<Record<string, string>> => ({
  'karpenter.sh/nodepool': POOLS[index % POOLS.length] ?? '',
  'node.kubernetes.io/instance-type': TYPES[index % TYPES.length] ?? '',
  'topology.kubernetes.io/zone': 'us-west-2a',
  'karpenter.sh/capacity-type': index % 2 === 0 ? 'spot' : 'on-demand',
});

const poolNamed = (name: string): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: { template: { spec: { nodeClassRef: CLASS, requirements: [] } } },
});
