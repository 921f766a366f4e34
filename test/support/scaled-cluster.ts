/** The same cluster with other units of size, of money and of time. */

import type { PodSpec } from '#api/objects';
import { formatDuration, readDurationOrNever } from '#api/values';
import {
  amountOf,
  type InstanceType,
  type InstanceTypeOverhead,
  quantityList,
  quantityOf,
  type Resources,
  type StateNode,
} from '#engine/model';
import type { Cluster } from './clusters.ts';

interface Factors {
  /** Factor for CPU and memory of pods, nodes and instance types. */
  readonly size: number;
  /** Factor for the prices of offerings. */
  readonly price: number;
  /** Factor for ages, start-up times, `consolidateAfter` and `expireAfter`. Default: 1. */
  readonly time?: number;
}

const isSize = (name: string): boolean => name === 'cpu' || name === 'memory';

const largerBy = (size: number, resources: Resources): Resources =>
  Object.fromEntries(Object.entries(resources).map(([name, amount]) => [name, isSize(name) ? size * amount : amount]));

function larger<P extends { readonly spec: PodSpec }>(size: number, pod: P): P {
  const containers = pod.spec.containers.map((container) => {
    const requests = Object.entries(container.resources?.requests ?? {}).map(([name, quantity]) => {
      const amount = amountOf(name, quantity);
      return [name, quantityOf(name, isSize(name) ? size * amount : amount)] as const;
    });
    return { ...container, resources: { ...container.resources, requests: Object.fromEntries(requests) } };
  });
  return { ...pod, spec: { ...pod.spec, containers } };
}

function typeScaled({ size, price }: Factors, type: InstanceType): InstanceType {
  const { kubeReserved, systemReserved, evictionThreshold } = type.overhead;
  const overhead: InstanceTypeOverhead = {
    kubeReserved: largerBy(size, kubeReserved),
    systemReserved: largerBy(size, systemReserved),
    evictionThreshold: largerBy(size, evictionThreshold),
  };
  const offerings = type.offerings.map((offering) => ({ ...offering, usdPerHour: price * offering.usdPerHour }));
  return { ...type, capacity: largerBy(size, type.capacity), overhead, offerings };
}

function nodeScaled(size: number, { node, ...state }: StateNode): StateNode {
  const [capacity, allocatable] = [largerBy(size, state.capacity), largerBy(size, state.allocatable)];
  const status = { ...node?.status, capacity: quantityList(capacity), allocatable: quantityList(allocatable) };
  const pods = state.pods.map((pod) => larger(size, pod));
  return { ...state, capacity, allocatable, pods, ...(node !== undefined && { node: { ...node, status } }) };
}

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const DURATIONS: ReadonlySet<string> = new Set(['consolidateAfter', 'expireAfter']);

/** Returns the value with all durations, and the time from each timestamp until now, multiplied by the factor. */
function slower<T>(time: number, value: T, nowMs: number): T {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (typeof part !== 'string') return part;
    if (DURATIONS.has(key)) return formatDuration(time * (readDurationOrNever(part) ?? 0));
    return TIMESTAMP.test(part) ? new Date(nowMs - time * (nowMs - Date.parse(part))).toISOString() : part;
  });
  return JSON.parse(text) as T;
}

/** Returns the cluster with all sizes, prices and times multiplied by these factors. Counts and names stay the same. */
export function scaledCluster({ snapshot, pools }: Cluster, { time = 1, ...factors }: Factors): Cluster {
  const typed = new Map<readonly InstanceType[], readonly InstanceType[]>();
  const typesOf = (types: readonly InstanceType[]): readonly InstanceType[] => {
    const known = typed.get(types) ?? types.map((type) => typeScaled(factors, type));
    typed.set(types, known);
    return known;
  };
  const inputs = [...pools.values()].map((pool) => {
    return {
      ...pool,
      nodePool: slower(time, pool.nodePool, snapshot.nowMs),
      instanceTypes: typesOf(pool.instanceTypes),
    };
  });
  return {
    pools: new Map(inputs.map((pool) => [pool.nodePool.metadata.name, pool])),
    snapshot: {
      ...snapshot,
      pools: inputs,
      nodes: snapshot.nodes.map((node) => nodeScaled(factors.size, slower(time, node, snapshot.nowMs))),
      daemonPods: snapshot.daemonPods.map((pod) => larger(factors.size, pod)),
    },
  };
}
