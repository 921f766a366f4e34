/** Random dumps of clusters with nodes, whose objects contain secrets. Equal seeds create equal dumps. */
import { ec2NodeClassHash, nodePoolHash } from '#api/hashes';
import type { KubeObject, NodePool, StringMap } from '#api/objects';
import { validateStored } from '../../../../src/cli/objects/stored.ts';
import { randomCluster } from '../../../operator/differential/clusters.ts';
import { type Dice, dice } from '../../../operator/random.ts';
import { podSpec, SECRET } from './secrets.ts';

type Loose = Record<string, unknown> & { metadata: Record<string, unknown>; spec: Record<string, unknown> };

export interface RandomDump {
  readonly objects: readonly KubeObject[];
  /** Complete manifests of the user that replace objects of the dump. */
  readonly changes: readonly KubeObject[];
}

const fromCluster = (object: KubeObject, annotations: StringMap = {}): Loose => {
  const loose = object as unknown as Loose;
  return {
    ...loose,
    metadata: {
      ...loose.metadata,
      uid: `uid-${object.kind}-${object.metadata.name}`,
      resourceVersion: '5',
      generation: 1,
      creationTimestamp: '2026-06-03T08:00:00Z',
      annotations: { token: SECRET, ...object.metadata.annotations, ...annotations },
    },
  };
};

/** A manifest as users write it, with secrets in fields that are hashed. */
function written(object: KubeObject): KubeObject {
  const loose = JSON.parse(JSON.stringify(object)) as Loose;
  if (object.kind === 'EC2NodeClass') loose.spec.userData = `#!/bin/sh\necho ${SECRET}\n`;
  if (object.kind === 'NodePool') {
    const { template } = loose.spec as { template: { metadata: Record<string, unknown> } };
    template.metadata.annotations = { token: SECRET, team: 'a' };
  }
  return loose as unknown as KubeObject;
}

const defaulted = (pool: KubeObject): NodePool => validateStored<NodePool>({ object: pool, where: 'pool' });

const CLASS_STATUS = {
  conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: '2026-06-03T08:00:00Z' }],
  subnets: ['a', 'b', 'c'].map((letter, at) => ({
    id: `subnet-${at}`,
    zone: `us-west-2${letter}`,
    zoneID: `usw2-az${at}`,
  })),
  amis: ['amd64', 'arm64'].map((arch) => ({
    id: `ami-${arch}`,
    name: arch,
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: [arch] }],
  })),
};

/**
 * A node of a NodePool and its claim, whose hash is that of the NodePool, of another template, or of an older version.
 */
function machine(
  roll: Dice,
  at: number,
  { pool, classHash }: { readonly pool: NodePool; readonly classHash: string },
): Loose[] {
  const arch = roll.pick(['amd64', 'arm64']);
  const labels = {
    'karpenter.sh/nodepool': pool.metadata.name,
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
    'karpenter.sh/capacity-type': roll.pick(['spot', 'on-demand']),
    'karpenter.k8s.aws/instance-cpu': '4',
    'kubernetes.io/arch': arch,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/hostname': `node-${at}`,
    'node.kubernetes.io/instance-type': arch === 'arm64' ? 'm7g.xlarge' : 'm6i.xlarge',
    'topology.kubernetes.io/zone': roll.pick(['us-west-2a', 'us-west-2b']),
    ...pool.spec.template.metadata?.labels,
  };
  const annotations = {
    ...pool.spec.template.metadata?.annotations,
    'karpenter.sh/nodepool-hash': roll.pick([nodePoolHash(pool), nodePoolHash(pool), '42']),
    'karpenter.sh/nodepool-hash-version': roll.pick(['v3', 'v3', 'v2']),
    'karpenter.k8s.aws/ec2nodeclass-hash': roll.pick([classHash, classHash, '42']),
    'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
  };
  const providerID = `aws:///us-west-2a/i-${at}`;
  const since = '2026-06-03T08:05:00Z';
  const resources = { cpu: '4', memory: '16Gi', pods: '58', 'ephemeral-storage': '20Gi' };
  const claim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: `claim-${at}`, labels, annotations },
    spec: { nodeClassRef: pool.spec.template.spec.nodeClassRef, requirements: [], expireAfter: 'Never' },
    status: {
      providerID,
      imageID: roll.pick([`ami-${arch}`, `ami-${arch}`, 'ami-old']),
      nodeName: `node-${at}`,
      conditions: ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        message: SECRET,
        lastTransitionTime: since,
      })),
    },
  };
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${at}`, labels, annotations },
    spec: { providerID },
    status: {
      capacity: resources,
      allocatable: { ...resources, cpu: '3920m' },
      conditions: [{ type: 'Ready', status: 'True', message: SECRET }],
    },
  };
  return [claim, node].map((object) => fromCluster(object as unknown as KubeObject));
}

function podIn(roll: Dice, pod: KubeObject, nodes: readonly string[]): Loose {
  const given = pod as unknown as Loose & { spec: { containers: readonly object[] } };
  const bound = nodes.length > 0 && roll.upTo(2) > 0 ? { nodeName: roll.pick(nodes) } : {};
  const { containers, initContainers: _, ...secrets } = podSpec;
  // The claim of the ephemeral volume has no StorageClass here.
  const volumes = secrets.volumes.filter(({ ephemeral }) => ephemeral === undefined);
  const status = {
    message: SECRET,
    phase: 'nodeName' in bound ? 'Running' : 'Pending',
    conditions:
      'nodeName' in bound
        ? [{ type: 'Ready', status: 'True', message: SECRET }]
        : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: SECRET }],
  };
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'uid-web', controller: true };
  const deletionCost = roll.upTo(3) === 0 ? { 'controller.kubernetes.io/pod-deletion-cost': '100' } : {};
  const spec = {
    ...secrets,
    volumes,
    ...given.spec,
    ...bound,
    containers: given.spec.containers.map((each) => ({ ...containers[0], ...each, env: containers[0]?.env })),
  };
  const made = fromCluster({ ...pod, spec, status } as unknown as KubeObject, deletionCost);
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
}

export function randomDump(seed: number): RandomDump {
  const roll = dice(seed * 31 + 7);
  const cluster = randomCluster(seed);
  const own = cluster.objects.map(written);
  const classes = new Map<string, string>();
  const objects: Loose[] = [];
  for (const object of own) {
    if (object.kind === 'EC2NodeClass') {
      const hash = ec2NodeClassHash(validateStored({ object, where: 'class' }), 'CA');
      classes.set(object.metadata.name, hash);
      const annotations = {
        'karpenter.k8s.aws/ec2nodeclass-hash': hash,
        'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
      };
      objects.push({ ...fromCluster(object, annotations), status: CLASS_STATUS });
    } else if (object.kind === 'NodePool') {
      const pool = defaulted(object);
      const annotations = {
        'karpenter.sh/nodepool-hash': nodePoolHash(pool),
        'karpenter.sh/nodepool-hash-version': 'v3',
      };
      objects.push(fromCluster(pool, annotations));
    } else objects.push(fromCluster(object));
  }
  const pools = own.filter(({ kind }) => kind === 'NodePool').map(defaulted);
  const machines = pools.flatMap((pool, at) => {
    const classHash = classes.get(pool.spec.template.spec.nodeClassRef.name);
    if (classHash === undefined) return [];
    return Array.from({ length: roll.upTo(2) }, (_, index) =>
      machine(roll, at * 10 + index, { pool, classHash }),
    ).flat();
  });
  const nodes = machines.filter(({ kind }) => kind === 'Node').map(({ metadata }) => String(metadata.name));
  const pods = cluster.pods.map((object) => (object.kind === 'Pod' ? podIn(roll, object, nodes) : fromCluster(object)));
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b', namespace: 'default' },
    spec: { selector: { matchLabels: { app: `s${seed}-a0` } }, maxUnavailable: 0 },
    status: { disruptionsAllowed: 0 },
  };
  return {
    objects: [
      ...objects,
      ...machines,
      fromCluster(budget as unknown as KubeObject),
      ...pods,
    ] as unknown as KubeObject[],
    // Some are unchanged, some are edited.
    changes: [
      ...own.filter(({ kind }) => kind === 'NodePool' || kind === 'EC2NodeClass').filter(() => roll.upTo(1) === 0),
      ...cluster.changes.filter(() => roll.upTo(2) === 0),
    ].filter(
      ({ kind, metadata }, at, all) =>
        all.findIndex((each) => each.kind === kind && each.metadata.name === metadata.name) === at,
    ),
  };
}
