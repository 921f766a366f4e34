/**
 * Launches a node for each pod in the same way as the operator, and returns the Nodes in the state in which pods are
 * bound.
 */
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TENANCY_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodeClaim,
  type NodePool,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import type { Deps } from '#controllers';
import { nodeClaimOf, OwnWrites, registration } from '#controllers/testing';
import {
  compatibleOfferings,
  type PlannedClaim,
  podKey,
  Requirements,
  requirementsOf,
  type Snapshot,
} from '#engine/model';
import { solve } from '#engine/solve';
import { decodeUserData } from '#local/machines';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { instanceLabels } from '../../../../src/aws/instances/claim.ts';
import type { Instance } from '../../../../src/aws/instances/instance.ts';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { present } from '../../../support/present.ts';
import type { Account } from '../support/account.ts';

export interface Bought {
  readonly pod: Pod;
  readonly claim: NodeClaim;
  readonly node: Node;
}

/** Returns a pod that cannot share a node with another such pod. */
export const podThat = (name: string, spec: Partial<Pod['spec']>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: name },
  spec: {
    containers: [
      { name: 'main', resources: { requests: { cpu: '10m' } }, ports: [{ containerPort: 80, hostPort: 80 }] },
    ],
    tolerations: [{ operator: 'Exists' }],
    ...spec,
  },
});

async function planFor(account: Account, pool: NodePool, pods: readonly Pod[]): Promise<readonly PlannedClaim[]> {
  const snapshot: Snapshot = {
    nowMs: account.clock.now(),
    pools: [{ nodePool: pool, instanceTypes: await account.provider.instanceTypes(pool) }],
    nodes: [],
    pendingPods: pods,
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
  return solve(snapshot, {
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
    reservedMode: 'strict',
    ignoreDraRequests: true,
    packing: 'compatible',
  }).claims;
}

/** Returns the Node with the labels of the kubelet, without the labels of a cloud controller. */
function joined(account: Account, claim: NodeClaim): Node {
  const { name } = claim.metadata;
  const instance = account.aws.instances.get(present(instanceIdOfClaim(claim)));
  if (instance === undefined) throw new Error(`no instance for ${claim.metadata.name}`);
  const { labels, taints } = decodeUserData(instance.userData);
  const own = kubeletLabels(name, instance.architecture === 'arm64' ? 'arm64' : 'amd64', instance.platform);
  return account.kube.put(NODE, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { ...labels, ...own } },
    spec: { providerID: present(claim.status?.providerID), taints },
  });
}

async function registered(account: Account, claim: NodeClaim, node: Node): Promise<Node> {
  const step = registration(
    {
      client: account.kube.client(),
      clock: account.clock,
      cloud: account.provider,
      cluster: { nodesOfClaim: () => [node], stores: { nodePools: { get: () => undefined } } },
      events: { publish: () => undefined },
      metrics: createMetrics(),
    } as unknown as Deps,
    new OwnWrites(),
  );
  const { error, claim: after } = await step(claim, { log: silent, signal: new AbortController().signal });
  const known = (after.status?.conditions ?? []).find(({ type }) => type === 'Registered');
  if (error !== undefined || known?.status !== 'True')
    throw new Error(`node ${node.metadata.name} is not registered: ${error ?? JSON.stringify(known)}`);
  const found = account.kube.find(NODE, node.metadata);
  if (found === undefined) throw new Error('no node');
  return found;
}

const claimFor = (plan: PlannedClaim, pool: NodePool): NodeClaim => {
  const { metadata, ...rest } = nodeClaimOf(plan, pool);
  return { ...rest, metadata: { ...metadata, name: `claim-${plan.pods[0]?.split('/')[1]}` } };
};

/** Labels that a kubelet sets on its node. */
const kubeletLabels = (name: string, arch: string, os: string): Record<string, string> => ({
  'kubernetes.io/hostname': name,
  'kubernetes.io/arch': arch,
  'kubernetes.io/os': os,
  'beta.kubernetes.io/arch': arch,
  'beta.kubernetes.io/os': os,
});

/** Returns the Node of every instance that a launch could return for each of the pods. Launches no instances. */
export async function alternatives(account: Account, pool: NodePool, pods: readonly Pod[]): Promise<readonly Bought[]> {
  const types = new Map((await account.provider.instanceTypes(pool)).map((type) => [type.name, type]));
  const byKey = new Map(pods.map((pod) => [podKey(pod), pod]));
  const zoneIds = new Map((account.nodeClass().status?.subnets ?? []).map(({ zone, zoneID }) => [zone, zoneID]));
  return (await planFor(account, pool, pods)).flatMap((plan) => {
    const wanted = claimFor(plan, pool);
    const requirements = Requirements.fromRequirements(plan.requirements);
    return plan.instanceTypes.flatMap((typeName) => {
      const type = types.get(typeName);
      if (type === undefined) throw new Error(`no type ${typeName}`);
      return compatibleOfferings(type, requirements).flatMap((offering) => {
        const of = (key: string): string => requirementsOf(offering).get(key).any();
        const instance = { type: typeName, zone: of(ZONE_LABEL), capacityType: of(CAPACITY_TYPE_LABEL), tags: {} };
        const tenancies = requirements.get(INSTANCE_TENANCY_LABEL);
        const tenancy = tenancies.has('default') ? 'default' : 'dedicated';
        const given = instanceLabels({ ...instance, tenancy } as Instance, {
          type,
          zoneId: zoneIds.get(instance.zone),
          nowMs: 0,
        });
        const claim = { ...wanted, metadata: { ...wanted.metadata, labels: { ...given, ...wanted.metadata.labels } } };
        const { name, labels } = claim.metadata;
        const own = kubeletLabels(name, given['kubernetes.io/arch'] ?? '', given['kubernetes.io/os'] ?? '');
        const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { ...own, ...labels } } };
        return plan.pods.map((key) => ({ pod: byKey.get(key) as Pod, claim, node }));
      });
    });
  });
}

/** Launches a node for each pod, and skips pods without a possible node. */
export async function buy(account: Account, pool: NodePool, pods: readonly Pod[]): Promise<readonly Bought[]> {
  account.kube.put(NODE_POOL, pool);
  const byKey = new Map(pods.map((pod) => [podKey(pod), pod]));
  const planned = await planFor(account, pool, pods);
  const bought = planned.map(async (plan): Promise<readonly Bought[]> => {
    const wanted = account.kube.put(NODE_CLAIM, claimFor(plan, pool));
    const claim = await account.provider.create(wanted).catch((cause: unknown) => {
      throw new Error(`nothing can be launched for ${JSON.stringify(plan.requirements)}`, { cause });
    });
    const node = await registered(account, claim, joined(account, claim));
    return plan.pods.flatMap((key) => {
      const pod = byKey.get(key);
      return pod === undefined ? [] : [{ pod, claim, node }];
    });
  });
  return (await Promise.all(bought)).flat();
}
