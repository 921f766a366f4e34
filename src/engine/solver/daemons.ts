/** Computes the resources that DaemonSets will use on nodes. */
import type { Taint } from '#api/objects';
import { type HostPort, hostPortsOf } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import { requirementsOf } from '../instance-types.ts';
import { type LeftOuts, leftOutName } from '../left-out.ts';
import type { InstanceType, Resources } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { daemonSetOf } from '../pods.ts';
import { LOOSE, type Requirements, requirementsOfPod, STRICT } from '../requirements.ts';
import { addResources } from '../resources.ts';
import { isAdmitted, toleratesAll } from '../taints.ts';
import type { Volumes } from '../volumes.ts';
import type { BitSet } from './bitset.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { relax, toleratePreferences } from './relax.ts';

/** Pod of a DaemonSet, with one set of requirements for each alternative of its node affinity. */
export interface Daemon {
  readonly pod: EnginePod;
  readonly requests: Resources;
  /** Slots of its volumes. */
  readonly slots: Resources;
  readonly ports: readonly HostPort[];
  readonly alternatives: readonly Requirements[];
}

const usesDevices = ({ spec }: EnginePod): boolean => (spec.resourceClaims ?? []).length > 0;

function alternativesOf(pod: EnginePod): readonly Requirements[] {
  const alternatives = [requirementsOfPod(pod)];
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  let at = pod;
  for (let left = terms.length; left > 1; left--) {
    at = relax(at, { preferenceTaints: false }) ?? at; // required terms are dropped before anything else
    alternatives.push(requirementsOfPod(at));
  }
  return alternatives;
}

interface DaemonOptions {
  readonly ignoreDevices: boolean;
  readonly leftOuts: LeftOuts;
  readonly volumes: Pick<Volumes, 'slotsOfTemplate'>;
}

export function daemonsOf(
  pods: readonly EnginePod[],
  { ignoreDevices, leftOuts, volumes }: DaemonOptions,
): readonly Daemon[] {
  const running = pods.filter((pod) => !(ignoreDevices && usesDevices(pod)));
  const named = ({ metadata }: EnginePod) => leftOutName('DaemonSet', { ...metadata, name: daemonSetOf(metadata) });
  return leftOuts.kept(running, named, (pod) => ({
    pod: toleratePreferences(pod) ?? pod,
    requests: placementRequests(pod),
    slots: volumes.slotsOfTemplate(pod),
    ports: hostPortsOf(pod),
    alternatives: alternativesOf(pod),
  }));
}

/** Instance types of a template on which the same daemons run. */
export interface DaemonGroup {
  readonly rows: BitSet;
  readonly overhead: Resources;
  readonly amounts: Amounts;
  readonly ports: readonly HostPort[];
}

/** Input for groups: the instance types of a NodePool, with the properties of its nodes. */
interface DaemonGroupInput {
  readonly taints: readonly Taint[];
  readonly requirements: Requirements;
  readonly catalogue: CompiledTypes;
  readonly rows: BitSet;
}

/** Returns a function that returns the daemons that run on a type. */
export function daemonsByType(
  daemons: readonly Daemon[],
  template: Pick<DaemonGroupInput, 'taints' | 'requirements'>,
): (type: InstanceType) => readonly Daemon[] {
  const candidates = daemons
    .filter(({ pod }) => toleratesAll(pod.spec.tolerations, template.taints))
    .map((daemon) => ({
      daemon,
      alternatives: daemon.alternatives.filter((requirements) => template.requirements.compatible(requirements, LOOSE)),
    }))
    .filter(({ alternatives }) => alternatives.length > 0);
  return (type) =>
    candidates
      .filter(({ alternatives }) => alternatives.some((requirements) => requirementsOf(type).intersects(requirements)))
      .map(({ daemon }) => daemon);
}

/**
 * Groups a template's instance types by the daemons that run on them. A daemon runs on a type if one of its alternatives is
 * compatible with both the type and the template. Groups are sorted by their first type.
 */
export function daemonGroups(
  daemons: readonly Daemon[],
  template: DaemonGroupInput,
  dimensions: Dimensions,
): readonly DaemonGroup[] {
  const { catalogue } = template;
  const runsOn = daemonsByType(daemons, template);
  const groups = new Map<string, { daemons: readonly Daemon[]; types: Set<InstanceType> }>();
  for (const position of catalogue.typesOf(template.rows)) {
    const type = catalogue.types[position];
    if (type === undefined) continue;
    const running = runsOn(type);
    const id = running.map((daemon) => daemons.indexOf(daemon)).join();
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { daemons: running, types: new Set([type]) });
    else group.types.add(type);
  }
  return [...groups.values()].map(({ daemons: running, types }) => {
    const overhead = addResources(...running.map(({ requests }) => requests));
    return {
      rows: catalogue.rowsWhere((type) => types.has(type)),
      overhead,
      amounts: dimensions.amounts(addResources(overhead, knownSlots(running, dimensions))),
      ports: running.flatMap(({ ports }) => ports),
    };
  });
}

/** Returns the slots that some instance type limits. */
const knownSlots = (daemons: readonly Daemon[], dimensions: Dimensions): Resources =>
  Object.fromEntries(
    Object.entries(addResources(...daemons.map(({ slots }) => slots))).filter(
      ([name]) => dimensions.position(name) !== undefined,
    ),
  );

/** Returns all values that determine on which nodes a daemon runs and which resources it uses there. */
export const demandsOnNodes = ({ pod, requests, slots, alternatives }: Daemon): readonly unknown[] => [
  requests,
  slots,
  pod.spec.tolerations,
  alternatives.map(({ identity }) => identity),
];

/** Taints and labels of an existing node. */
interface DaemonHost {
  readonly taints: readonly Taint[];
  readonly requirements: Requirements;
}

/** Returns the daemons that run on an existing node. */
export const daemonsOn = (daemons: readonly Daemon[], node: DaemonHost): readonly Daemon[] =>
  daemons.filter(
    ({ pod, alternatives }) =>
      isAdmitted(pod.spec.tolerations, node.taints) &&
      alternatives.some((requirements) => node.requirements.compatible(requirements, STRICT)),
  );

/** Returns the resources that daemons will use on an existing node. */
export const daemonRequestsOn = (daemons: readonly Daemon[], node: DaemonHost): Resources =>
  addResources(...daemonsOn(daemons, node).map(({ requests }) => requests));
