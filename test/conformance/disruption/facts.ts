/** Facts about disruption that are derived from a scenario's objects, without the engine's code. */
import type { KubeObject, Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '#api/objects';
import {
  type Amounts,
  addTo,
  amountOf,
  type Labels,
  objection,
  type PodSpec,
  requestsOf,
  type Selector,
  selected,
  type Taint,
} from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { capacityTypeOf, zoneOf } from './catalogues.ts';
import { possible, withValues } from './purchases.ts';
import type { Scenario } from './scenario.ts';
import { NOW } from './time.ts';

const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';
const MINUTE = 60_000;

export type Class = 'graceful' | 'eventual';

/** A node: a Node object, a NodeClaim, or both. */
export interface Machine {
  readonly name: string;
  readonly node?: Node;
  readonly claim?: NodeClaim;
  readonly labels: Labels;
  readonly pods: readonly Pod[];
  /** Undefined if the NodePool does not exist. */
  readonly pool?: NodePool;
  /** USD per hour; 0 if it is unknown. */
  readonly price: number;
  /** Disruption cost of the pods that would have to move, plus 1 for the node itself. */
  readonly cost: number;
  readonly movable: readonly Pod[];
  readonly leaving: boolean;
  readonly initialized: boolean;
}

const isTrue = (object: { status?: { conditions?: readonly { type: string; status: string }[] } }, type: string) =>
  (object.status?.conditions ?? []).some((each) => each.type === type && each.status === 'True');

export const claimIs = ({ claim }: Machine, condition: string): boolean =>
  claim !== undefined && isTrue(claim, condition);

const ownedBy = ({ metadata }: Pod, ...kinds: readonly string[]): boolean =>
  (metadata.ownerReferences ?? []).some(({ kind }) => kinds.includes(kind));

const finished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const going = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
export const active = (pod: Pod): boolean => !finished(pod) && !going(pod);

/** Reports whether the pod needs another node if its node is removed. */
const moves = (pod: Pod): boolean =>
  (active(pod) || (going(pod) && ownedBy(pod, 'StatefulSet'))) && !ownedBy(pod, 'DaemonSet', 'Node');

/** Returns the eviction cost: 1 plus the adjustments by annotation and priority, between -10 and 10. */
export function evictionCost({ metadata, spec }: Pod): number {
  const declared = Number(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  return Math.max(-10, Math.min(10, 1 + declared / 134_217_728 + (spec.priority ?? 0) / 33_554_432));
}

const costOf = (pods: readonly Pod[]): number => pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 1);

const HOURS_AND_MINUTES = /^(-)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/** Returns the duration in milliseconds. */
export function durationOf(text: string): number {
  const [whole, minus, hours = 0, minutes = 0, seconds = 0] = HOURS_AND_MINUTES.exec(text) ?? [];
  if (!whole) return Number.NaN;
  return (minus ? -1 : 1) * (60 * MINUTE * Number(hours) + MINUTE * Number(minutes) + 1000 * Number(seconds));
}

function protects({ metadata, status }: Pod, nowMs: number): boolean {
  const value = metadata.annotations?.[DO_NOT_DISRUPT];
  if (value === undefined || value === 'true') return value === 'true';
  const duration = durationOf(value);
  if (!(duration > 0)) return false;
  return status?.startTime === undefined || nowMs - Date.parse(status.startTime) < duration;
}

const toleratesDisruption = ({ spec }: Pod): boolean =>
  (spec.tolerations ?? []).some(
    ({ key, operator, value, effect }) =>
      (!effect || effect === 'NoSchedule') &&
      (operator === 'Exists' ? !key || key === 'karpenter.sh/disrupted' : key === 'karpenter.sh/disrupted' && !value),
  );

export function totalOf(pods: readonly Pod[]): Amounts {
  const total: Amounts = {};
  for (const { spec } of pods) addTo(total, requestsOf(spec as unknown as PodSpec));
  return total;
}

/** Facts about the nodes of one scenario. */
export class Facts {
  readonly nowMs: number;
  readonly types: ReadonlyMap<string, TypeEntry>;
  readonly pools: ReadonlyMap<string, NodePool>;
  readonly machines: readonly Machine[];
  readonly daemonPods: readonly Pod[];
  readonly #pdbs: readonly PodDisruptionBudget[];

  constructor({ objects, types }: Scenario) {
    const ofKind = <T extends KubeObject>(kind: string): readonly T[] =>
      objects.filter((object) => object.kind === kind) as unknown as readonly T[];
    this.nowMs = Date.parse(NOW);
    this.types = new Map(types.map((type) => [type.name, type]));
    this.pools = new Map(ofKind<NodePool>('NodePool').map((pool) => [pool.metadata.name, pool]));
    this.#pdbs = ofKind<PodDisruptionBudget>('PodDisruptionBudget');
    this.daemonPods = ofKind<KubeObject & { spec: { template: Pod } }>('DaemonSet').map(({ spec }) => spec.template);
    const claims = new Map(ofKind<NodeClaim>('NodeClaim').map((claim) => [claim.status?.providerID, claim]));
    const pods = Map.groupBy(ofKind<Pod>('Pod'), ({ spec }) => spec.nodeName);
    this.machines = ofKind<Node>('Node').map((node) =>
      this.#machine(node, claims.get(node.spec?.providerID), pods.get(node.metadata.name) ?? []),
    );
  }

  #machine(node: Node, claim: NodeClaim | undefined, pods: readonly Pod[]): Machine {
    const labels = node.metadata.labels ?? {};
    const pool = this.pools.get(labels['karpenter.sh/nodepool'] ?? '');
    const movable = pods.filter(moves);
    const offering = this.types
      .get(labels['node.kubernetes.io/instance-type'] ?? '')
      ?.offerings.find(
        (each) =>
          zoneOf(each) === labels['topology.kubernetes.io/zone'] &&
          capacityTypeOf(each) === labels['karpenter.sh/capacity-type'],
      );
    return {
      name: node.metadata.name,
      node,
      ...(claim === undefined ? {} : { claim }),
      labels,
      pods,
      ...(pool === undefined ? {} : { pool }),
      price: offering?.price ?? 0,
      movable,
      cost: costOf(movable),
      leaving:
        claim === undefined
          ? node.metadata.deletionTimestamp !== undefined
          : claim.metadata.deletionTimestamp !== undefined || isTrue(claim, 'InstanceTerminating'),
      initialized: claim === undefined || labels['karpenter.sh/initialized'] === 'true',
    };
  }

  machine(name: string): Machine {
    const found = this.machines.find((each) => each.name === name);
    if (found === undefined) throw new Error(`There is no node ${name}`);
    return found;
  }

  protects(pod: Pod): boolean {
    return active(pod) && protects(pod, this.nowMs);
  }

  /** Reports whether PodDisruptionBudgets block the pod's eviction, either now or by their specs. */
  isHeld(pod: Pod, test: 'now' | 'ever'): boolean {
    if (!active(pod) || toleratesDisruption(pod) || ownedBy(pod, 'Node') || protects(pod, this.nowMs)) return false;
    const own = this.#pdbs.filter(
      ({ metadata, spec }) =>
        metadata.namespace === pod.metadata.namespace &&
        spec.selector !== undefined &&
        selected(spec.selector as Selector, pod.metadata.labels ?? {}),
    );
    const [only] = own;
    if (only === undefined || own.length > 1) return own.length > 1;
    const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    if (only.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' && ready === 'False') return false;
    if (test === 'now') return !only.status?.disruptionsAllowed;
    const { maxUnavailable, minAvailable } = only.spec;
    return maxUnavailable === 0 || maxUnavailable === '0%' || minAvailable === '100%';
  }

  /** Reports whether the pod would be rescheduled if its node were removed now. */
  movesNow(pod: Pod): boolean {
    return moves(pod) && !this.protects(pod) && !this.isHeld(pod, 'ever');
  }

  /**
   * Reports whether all the pods certainly find a place if their node is removed, because each could have a new node.
   * The result is uncertain if pods have constraints on each other, or if there are limits. Pods of deleted nodes and
   * uninitialized nodes make it uncertain, too: such nodes look like a place, but must not be used.
   */
  isHousable(pods: readonly Pod[]): boolean {
    if (this.machines.some(({ initialized, leaving }) => !initialized && !leaving)) return false;
    const going = this.machines.filter(({ leaving }) => leaving).flatMap(({ movable }) => movable);
    return [...pods, ...going].filter((pod) => this.movesNow(pod)).every((pod) => this.#isBuyable(pod));
  }

  #isBuyable(pod: Pod): boolean {
    const { affinity, topologySpreadConstraints, volumes, nodeSelector = {} } = pod.spec;
    if (affinity || topologySpreadConstraints || volumes) return false;
    const selector = Object.entries(nodeSelector).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
    const requests = totalOf([pod, ...this.daemonPods]);
    return [...this.pools.values()].some(({ spec: { replicas, limits, template } }) => {
      const wanted = template.spec.requirements.map(withValues);
      const isSimple =
        replicas === undefined &&
        limits === undefined &&
        !template.spec.requirements.some(({ minValues }) => minValues);
      const taints = (template.spec.taints ?? []) as readonly Taint[];
      const isTolerated =
        objection({ ...(pod.spec as unknown as PodSpec), nodeSelector: {} }, {}, taints) === undefined;
      const isKnown = selector.every(({ key }) => key === 'topology.kubernetes.io/zone');
      return (
        isSimple &&
        isTolerated &&
        isKnown &&
        possible(this.types.values(), [...wanted, ...selector], requests).length > 0
      );
    });
  }

  /** Returns the total requests of the pods, including every possible daemon on their node. */
  requestsOf(keys: readonly string[], waiting: readonly Pod[]): Amounts {
    const known = [...waiting, ...this.machines.flatMap(({ pods }) => pods)];
    const own = known.filter(({ metadata }) => keys.includes(`${metadata.namespace}/${metadata.name}`));
    return totalOf([...own, ...this.daemonPods]);
  }

  /** Reports whether all the pods certainly fit on one existing node. */
  isRoomFor(machine: Machine): boolean {
    const pods = machine.movable.filter((pod) => this.movesNow(pod));
    const isSimple = pods.every(({ spec }) => !(spec.affinity || spec.topologySpreadConstraints));
    return isSimple && this.machines.some((other) => other !== machine && this.#takes(other, pods));
  }

  #takes({ initialized, leaving, labels, node, pods, pool }: Machine, arriving: readonly Pod[]): boolean {
    if (!initialized || leaving || !['0s', undefined].includes(pool?.spec.disruption?.consolidateAfter)) return false;
    const taints = (node?.spec?.taints ?? []) as readonly Taint[];
    const isSuited = ({ spec }: Pod): boolean =>
      objection(spec as unknown as PodSpec, labels, taints) === undefined && spec.volumes === undefined;
    const used = totalOf([...pods.filter((pod) => !finished(pod)), ...arriving, ...this.daemonPods]);
    const fits = Object.entries(used).every(
      ([name, amount]) => amount <= amountOf(node?.status?.allocatable?.[name] ?? 0),
    );
    return arriving.every(isSuited) && fits;
  }

  /** Returns the reason why no method of the class may disrupt the node, or undefined if one may. */
  block({ node, claim, labels, pods, pool, leaving }: Machine, disruptionClass: Class): string | undefined {
    if (claim === undefined) return 'unmanaged';
    if (node === undefined) return 'no node';
    if (labels['karpenter.sh/initialized'] !== 'true') return 'not initialised';
    if (leaving) return 'deleting';
    if (node.metadata.annotations?.[DO_NOT_DISRUPT] === 'true') return 'node is protected';
    if (pool === undefined || this.types.size === 0) return 'no pool';
    if (disruptionClass === 'eventual' && claim.spec.terminationGracePeriod !== undefined) return undefined;
    if (pods.some((pod) => this.protects(pod))) return 'pod is protected';
    if (pods.some((pod) => this.isHeld(pod, 'now'))) return 'pod is held by its budget';
    return undefined;
  }

  /** Returns the candidates of the method. */
  candidates(method: string): readonly Machine[] {
    const disruptionClass = method.endsWith('drift') ? 'eventual' : 'graceful';
    const takes = FILTERS[method] ?? FILTERS.consolidation;
    return this.machines.filter(
      (machine) => this.block(machine, disruptionClass) === undefined && takes?.(machine, this) === true,
    );
  }
}

const isStatic = ({ pool }: Machine): boolean => pool?.spec.replicas !== undefined;
const isNever = ({ pool }: Machine): boolean => pool?.spec.disruption?.consolidateAfter === 'Never';
export const isEmpty = ({ cost }: Machine): boolean => cost <= 1;

const FILTERS: Readonly<Record<string, (machine: Machine, facts: Facts) => boolean>> = {
  emptiness: (machine) =>
    !isStatic(machine) && !isNever(machine) && isEmpty(machine) && claimIs(machine, 'Consolidatable'),
  'static-drift': (machine) => isStatic(machine) && claimIs(machine, 'Drifted'),
  drift: (machine) => !isStatic(machine) && claimIs(machine, 'Drifted'),
  consolidation: (machine, { types }) =>
    !isStatic(machine) &&
    types.has(machine.labels['node.kubernetes.io/instance-type'] ?? '') &&
    Boolean(machine.labels['karpenter.sh/capacity-type'] && machine.labels['topology.kubernetes.io/zone']) &&
    !isNever(machine) &&
    !isEmpty(machine) &&
    machine.pool?.spec.disruption?.consolidationPolicy !== 'WhenEmpty' &&
    claimIs(machine, 'Consolidatable'),
};
