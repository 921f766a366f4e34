/** State of an engine worker between requests: its copy of the cluster. */

import { Simulator } from '#engine/disruption';
import type { EngineNode, EngineSnapshot, PoolInput, SolveOptions } from '#engine/model';
import { sharedFields, shareParts } from '#kube/client';
import { defined, internString, internStrings } from '#lib';
import { type Keeping, type PartAt, ReceivedLists } from './copied-lists.ts';
import { ReceivedTypes } from './instance-type-lists.ts';
import {
  COPIED,
  COPIED_DEVICES,
  type CopiedDevicesName,
  type CopiedName,
  type NumberedPool,
  type SerializedSimulationInput,
  type SerializedSnapshot,
  type StateMessage,
} from './protocol.ts';
import { type NumberedNode, type NumberedPod, restoredPod } from './trimmed.ts';

/** Cluster for simulations. */
export interface Simulated {
  readonly snapshot: EngineSnapshot;
  readonly simulator: Simulator;
}

export class WorkerState {
  readonly #lists = new ReceivedLists(keptOnce, keptPart);
  readonly #types = new ReceivedTypes();
  readonly #working: SolveOptions['working'];
  #simulated: Simulated | undefined;

  /** @param working called with each pod that a simulation places */
  constructor(working: SolveOptions['working']) {
    this.#working = working;
  }

  receive(message: StateMessage): void {
    if (message.kind === 'simulation-input') this.#simulated = this.#simulationOf(message.input);
    else if (message.kind === 'types' || message.kind === 'forget') this.#types.receive(message);
    else this.#lists.receive(message);
  }

  /** @throws Error if a pool's list of instance types was not received or was removed */
  withTypes(pools: readonly NumberedPool[]): readonly PoolInput[] {
    return pools.map(({ types, rest }) => {
      const instanceTypes = this.#types.list(types);
      if (instanceTypes === undefined)
        throw new Error(`NodePool "${rest.nodePool.metadata.name}": its list ${types} of instance types is missing`);
      return { ...rest, instanceTypes };
    });
  }

  /** Builds a snapshot with the current lists. */
  snapshot({ rest, pools, hasDevices }: SerializedSnapshot): EngineSnapshot {
    const names = [...COPIED, ...(hasDevices ? COPIED_DEVICES : [])];
    // each list has the type of its name
    const held = Object.fromEntries(names.map((list) => [list, this.#lists.items(list)])) as object;
    return { ...rest, ...(held as Pick<EngineSnapshot, CopiedName | CopiedDevicesName>), pools: this.withTypes(pools) };
  }

  /** @throws Error if no cluster was sent for simulations */
  get simulated(): Simulated {
    if (this.#simulated === undefined) throw new Error('Cannot simulate: the worker has not received a cluster');
    return this.#simulated;
  }

  #simulationOf({ snapshot: serialized, nodePools, solve: options, untouched }: SerializedSimulationInput): Simulated {
    const snapshot = this.snapshot(serialized);
    const timed = { ...options, elapsedMs: () => performance.now(), ...defined({ working: this.#working }) };
    return { snapshot, simulator: new Simulator(snapshot, { nodePools, untouched, solve: timed }) };
  }
}

const NODES: CopiedName = 'nodes';
const PODS: ReadonlySet<string> = new Set<CopiedName>(['pendingPods', 'daemonPods']);

/** Restores received items. Equal parts of all items are the same object. */
export const keptOnce: Keeping = (list, item, partAt) => {
  // each item has the type of its list
  if (list === NODES) return keptNode(item as NumberedNode, partAt);
  return PODS.has(list) ? restoredPod(item as NumberedPod, partAt) : internStrings(item);
};

const keptNode = ({ pods, ...node }: NumberedNode, partAt: PartAt): EngineNode => ({
  ...sharedFields(internStrings(node), ['capacity', 'allocatable', 'taints']),
  pods: pods.map((pod) => restoredPod(pod, partAt)),
});

/** Returns one value for all equal values that items share. */
export function keptPart(part: unknown): unknown {
  if (typeof part === 'string') return internString(part);
  return typeof part === 'object' && part !== null ? shareParts(part) : part;
}
