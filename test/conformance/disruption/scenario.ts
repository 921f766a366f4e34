/** Random clusters at one moment, in the format of the conformance cases. */
import type { Container, KubeObject, NodePool, Pod, PodDisruptionBudget, PodSpec } from '#api/objects';
import { amountOf, holds, objection } from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { catalogue, type OfferingEntry } from './catalogues.ts';
import { Draw } from './draw.ts';
import { KINDS, type Traits, traitsOf } from './kinds.ts';
import { labelsOf, Machine, nodeClassRef } from './machines.ts';
import { ago } from './time.ts';
import { claimed, daemonSet, ownedBy, topologyOf, volumeIn, type Workload } from './workloads.ts';

export interface Scenario {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  readonly types: readonly TypeEntry[];
  readonly spotToSpot: boolean;
}

const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

/** Returns a scenario. The seed also determines its kind. */
export function scenarioOf(seed: number): Scenario {
  const kinds = Object.keys(KINDS);
  const kind = kinds[seed % kinds.length] ?? 'mix';
  return new Maker(kind, seed).scenario();
}

const KEEPS = ['true', '3h', '1h', 'false', '-5m', '90m'];
const PRIORITIES = [1000, 10_000_000, -1_000_000, 1_000_000_000, -40_000_000];

class Maker {
  readonly #draw: Draw;
  readonly #traits: Traits;
  readonly #name: string;
  readonly #types: readonly TypeEntry[];
  readonly #pools: readonly NodePool[];
  readonly #workloads: readonly Workload[];
  readonly #daemons: readonly Workload[];
  #pods = 0;

  constructor(kind: string, seed: number) {
    this.#name = `${seed}-${kind}`;
    this.#draw = new Draw(seed);
    this.#traits = traitsOf(kind);
    this.#types = catalogue(this.#draw, this.#traits);
    this.#pools = Array.from({ length: this.#draw.pick(this.#traits.pools) }, (_, at) => this.#pool(at));
    this.#daemons = Array.from({ length: this.#traits.daemons }, (_, at) => this.#daemon(at));
    this.#workloads = Array.from({ length: this.#draw.int(3, 6) }, (_, at) => this.#workload(at));
  }

  scenario(): Scenario {
    const count = this.#draw.int(...this.#traits.nodes);
    const nodes = Array.from({ length: count }, (_, at) => this.#node(at)).flat();
    const pending = Array.from({ length: this.#draw.int(0, this.#traits.pending) }, () => this.#pendingPod());
    const first = [...this.#classes(), ...this.#pools, ...this.#daemons.map(daemonSet), ...this.#budgets()];
    const objects = [...first, ...nodes, ...pending];
    return { name: this.#name, objects, types: this.#types, spotToSpot: this.#draw.pick(this.#traits.spotToSpot) };
  }

  #classes(): readonly KubeObject[] {
    const volumes = this.#traits.volumes > 0 ? ZONES.flatMap(volumeIn) : [];
    const spec = {
      role: 'node',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { a: 'b' } }],
      securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
    };
    const nodeClass = { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name: 'default' }, spec };
    return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }, nodeClass, ...volumes];
  }

  #pool(at: number): NodePool {
    const draw = this.#draw;
    const traits = this.#traits;
    const isStatic = draw.chance(traits.staticPools);
    const family = { key: 'karpenter.k8s.aws/instance-family', operator: 'Exists' as const, minValues: draw.int(2, 5) };
    const requirements = [
      { key: 'kubernetes.io/os', operator: 'In' as const, values: ['linux'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: [...draw.pick(traits.capacityTypes)] },
      ...(draw.chance(0.7) ? [{ key: 'kubernetes.io/arch', operator: 'In' as const, values: ['amd64'] }] : []),
      ...(draw.chance(0.25)
        ? [{ key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: draw.shuffled(ZONES).slice(1) }]
        : []),
      ...(draw.chance(0.2)
        ? [{ key: 'karpenter.k8s.aws/instance-category', operator: 'NotIn' as const, values: ['r'] }]
        : []),
      ...(draw.chance(traits.minValues) ? [family] : []),
    ];
    const limits = isStatic
      ? draw.pick([{ nodes: '6' }, { nodes: '8' }, undefined])
      : draw.chance(traits.limits)
        ? draw.pick([{ cpu: '20' }, { cpu: '60' }, { nodes: '5' }])
        : undefined;
    const budgets = draw.pick(traits.budgets);
    const name = `pool-${at}`;
    return {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name, creationTimestamp: ago(86_400) },
      spec: {
        ...(limits === undefined ? {} : { limits }),
        ...(isStatic ? { replicas: draw.int(2, 5) } : {}),
        ...(!isStatic && draw.chance(0.3) ? { weight: draw.pick([10, 50, 90]) } : {}),
        template: {
          metadata: { labels: { team: name } },
          spec: {
            nodeClassRef,
            requirements,
            expireAfter: draw.pick(['720h', '720h', 'Never']),
            ...(draw.chance(traits.gracePeriod) ? { terminationGracePeriod: '1h' } : {}),
            ...(draw.chance(traits.taints)
              ? { taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' as const }] }
              : {}),
          },
        },
        disruption: {
          consolidationPolicy: draw.pick(traits.policies),
          consolidateAfter: draw.pick(traits.consolidateAfter),
          ...(budgets === undefined ? {} : { budgets: [...budgets] }),
        },
      },
    };
  }

  #daemon(at: number): Workload {
    const spec: Partial<PodSpec> = {
      tolerations: [{ operator: 'Exists' }],
      ...(this.#draw.chance(0.3) ? { nodeSelector: { 'kubernetes.io/arch': 'amd64' } } : {}),
    };
    const [cpu, memory] = [this.#draw.pick([50, 100, 200]), this.#draw.pick([64, 128, 256])];
    return { name: `ds-${at}`, owner: 'DaemonSet', cpu, memory, spec, annotations: {}, alone: false };
  }

  #workload(at: number): Workload {
    const draw = this.#draw;
    const traits = this.#traits;
    const name = `a${at}`;
    const rules = draw.chance(traits.topology) ? draw.pick(['zones', 'hosts', 'apart', 'wish', 'near']) : 'none';
    const isTolerant = this.#pools.some(({ spec }) => spec.template.spec.taints) && draw.chance(0.5);
    const cost = draw.int(-6, 8) * 2 ** 20 * draw.pick([1, 1, 64]);
    return {
      name,
      owner: draw.chance(traits.oddPods) ? draw.pick(['StatefulSet', 'Job', 'None']) : 'ReplicaSet',
      cpu: draw.pick([100, 250, 400, 500, 750, 1000, 1700]),
      memory: draw.pick([128, 256, 512, 1024, 1536, 3000]),
      spec: {
        ...topologyOf(rules, name),
        ...(isTolerant ? { tolerations: [{ key: 'dedicated', operator: 'Exists' as const }] } : {}),
        ...(draw.chance(0.05) ? { tolerations: [{ operator: 'Exists' as const }] } : {}),
        ...(draw.chance(traits.topology / 4)
          ? { nodeSelector: { 'topology.kubernetes.io/zone': draw.pick(ZONES) } }
          : {}),
        ...(draw.chance(traits.costs) ? { priority: draw.pick(PRIORITIES) } : {}),
        ...(draw.chance(traits.volumes) ? { volumes: [claimed(draw.pick(ZONES))] } : {}),
      },
      annotations: draw.chance(traits.costs) ? { 'controller.kubernetes.io/pod-deletion-cost': `${cost}` } : {},
      alone: rules === 'apart' || draw.chance(traits.topology / 6),
    };
  }

  #budgets(): readonly PodDisruptionBudget[] {
    const draw = this.#draw;
    return this.#workloads.flatMap(({ name }) => {
      if (!draw.chance(this.#traits.budgeted)) return [];
      const specs: readonly PodDisruptionBudget['spec'][] = [
        { maxUnavailable: 1 },
        { minAvailable: 3 },
        { maxUnavailable: 0 },
        { maxUnavailable: '0%' },
        { minAvailable: '100%' },
        { maxUnavailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      ];
      const count = draw.pick([1, 1, 1, 2]);
      const selector = draw.chance(0.8)
        ? { matchLabels: { app: name } }
        : { matchExpressions: [{ key: 'app', operator: 'In' as const, values: [name, 'other'] }] };
      return Array.from({ length: count }, (_, at) => ({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: `${name}-${at}`, namespace: draw.pick(['default', 'default', 'default', 'elsewhere']) },
        spec: { ...draw.pick(specs), selector },
        status: { disruptionsAllowed: draw.pick([0, 1, 2]), currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 },
      }));
    });
  }

  /** Returns the allowed types of a NodePool, each with its allowed offerings. */
  #choices({ spec }: NodePool): readonly (readonly [TypeEntry, OfferingEntry])[] {
    const wanted = spec.template.spec.requirements;
    return this.#types.flatMap((type) =>
      type.offerings
        .filter((offering) => {
          const labels = { ...labelsOf(type), ...labelsOf(offering) };
          return offering.available && wanted.every((each) => holds({ ...each, values: each.values ?? [] }, labels));
        })
        .map((offering) => [type, offering] as const),
    );
  }

  #node(at: number): readonly KubeObject[] {
    const draw = this.#draw;
    const pool = draw.pick(this.#pools);
    const choices = this.#choices(pool).filter(([type]) => amountOf(type.capacity.cpu ?? 0) <= 16);
    if (choices.length === 0) return [];
    const drawn = Array.from({ length: this.#traits.draws }, () => draw.pick(choices));
    const [type, offering] = drawn.reduce((best, each) => (each[1].price > best[1].price ? each : best));
    const state = draw.chance(this.#traits.odd)
      ? draw.pick(['deleting', 'unready', 'uninitialised', 'unregistered', 'terminating', 'unknown', 'lone', 'bare'])
      : 'fine';
    const id = String(at).padStart(2, '0');
    const isKept = draw.chance(this.#traits.protectedNodes);
    const made = new Machine({ draw, traits: this.#traits, pool, type, offering, id, state, isKept });
    const pods = ['unregistered', 'lone', 'uninitialised'].includes(state) ? [] : this.#podsFor(made);
    return [...made.objects(), ...pods];
  }

  #podsFor({ node, room }: Machine): readonly Pod[] {
    const draw = this.#draw;
    const labels = node.metadata.labels ?? {};
    const taints = (node.spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value: value ?? '', effect }));
    const fits = ({ cpu, memory, spec }: Workload): boolean =>
      cpu <= room.cpu && memory <= room.memory && room.pods > 0 && mayRun(spec, labels, taints);
    const take = ({ cpu, memory }: Workload): void => {
      room.cpu -= cpu;
      room.memory -= memory;
      room.pods -= 1;
    };
    const daemons = this.#daemons.filter(fits);
    for (const daemon of daemons) take(daemon);
    const chosen: Workload[] = [];
    for (let misses = 0; misses < 4 && chosen.length < 24; ) {
      const workload = draw.pick(this.#workloads);
      if (!fits(workload) || (workload.alone && chosen.includes(workload))) misses++;
      else {
        take(workload);
        chosen.push(workload);
      }
    }
    const [least, most] = this.#traits.kept;
    const part = draw.chance(this.#traits.emptyNodes) ? 0 : least + draw.next() * (most - least);
    const kept = draw.shuffled(chosen).slice(0, Math.ceil(part * chosen.length));
    return [...daemons, ...kept].map((workload) => this.#pod(workload, node.metadata.name));
  }

  #pod(workload: Workload, nodeName?: string): Pod {
    const draw = this.#draw;
    const { name, owner, spec, cpu, memory } = workload;
    const index = this.#pods++;
    const isOdd = owner !== 'DaemonSet' && nodeName !== undefined && draw.chance(this.#traits.oddPods);
    const oddity = isOdd ? draw.pick(['Succeeded', 'Failed', 'Pending', 'going']) : '';
    const keep = draw.chance(this.#traits.protectedPods) ? { 'karpenter.sh/do-not-disrupt': draw.pick(KEEPS) } : {};
    const annotations = { ...workload.annotations, ...keep };
    const container: Container = { name: 'c', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } };
    const waits = [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }];
    const ready = [{ type: 'Ready', status: draw.chance(0.9) ? ('True' as const) : ('False' as const) }];
    const startTime = draw.chance(0.9) ? { startTime: ago(120) } : {};
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-${index}`,
        namespace: 'default',
        uid: `p${String(index).padStart(5, '0')}`,
        creationTimestamp: ago(120),
        labels: owner === 'DaemonSet' ? { ds: name } : { app: name },
        annotations,
        ...(oddity === 'going' ? { deletionTimestamp: ago(0.2) } : {}),
        ...ownedBy(owner, name),
      },
      spec: { ...spec, ...(nodeName === undefined ? {} : { nodeName }), containers: [container] },
      status:
        nodeName === undefined
          ? { phase: 'Pending', conditions: waits }
          : { phase: isPhase(oddity) ? oddity : 'Running', ...startTime, conditions: ready },
    };
  }

  #pendingPod(): Pod {
    const draw = this.#draw;
    const workload = draw.pick(this.#workloads);
    if (draw.chance(0.3)) return this.#pod({ ...workload, spec: { nodeSelector: { team: 'nobody' } } });
    return this.#pod(workload);
  }
}

const isPhase = (text: string): text is 'Succeeded' | 'Failed' | 'Pending' =>
  ['Succeeded', 'Failed', 'Pending'].includes(text);

const mayRun = (
  { nodeSelector = {}, tolerations = [], volumes = [] }: Partial<PodSpec>,
  labels: Readonly<Record<string, string>>,
  taints: readonly { readonly key: string; readonly value: string; readonly effect: string }[],
): boolean =>
  objection({ nodeSelector, tolerations, containers: [] }, labels, taints) === undefined &&
  volumes.every(({ persistentVolumeClaim }) =>
    persistentVolumeClaim?.claimName?.endsWith(labels['topology.kubernetes.io/zone'] ?? ''),
  );
