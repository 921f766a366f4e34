/**
 * Trace: changes to the workloads of a cluster in order of time. Its text form is JSON lines with a header and one
 * event per line. The reference is docs/reference/formats/replay.md.
 */
import type { KubeObject } from '#api/objects';

/** Object of an event. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

interface At {
  /** Seconds since the start of the trace, in ascending order. */
  readonly at: number;
}

/**
 * Creates or replaces an object, like `kubectl apply`. The object is a workload, a pod, or an object that affects where
 * pods may run: PodDisruptionBudget, PriorityClass, PersistentVolumeClaim, StorageClass, NodePool, EC2NodeClass,
 * NodeOverlay and others.
 */
export interface Apply extends At {
  readonly apply: KubeObject;
  /**
   * Seconds that each pod of this object runs before it succeeds, from the start of its containers. Without it, the
   * pods run until they are deleted.
   */
  readonly runsFor?: number;
  /**
   * Number of equal Pods to create, named `NAME-0`, `NAME-1` and so on. Without it, one Pod is created under its own
   * name.
   */
  readonly count?: number;
}

export interface Scale extends At {
  readonly scale: ObjectRef;
  readonly replicas: number;
}

/** Deletes an object and its dependents. An object that no longer exists is ignored. */
export interface Delete extends At {
  readonly delete: ObjectRef;
}

export type TraceEvent = Apply | Scale | Delete;

export interface TraceHeader {
  /** Version of the format. */
  readonly trace: 'karpenter/v1';
  readonly name: string;
  /** Start of this trace, in RFC 3339 format. */
  readonly start: string;
  /** Duration of this trace in seconds. It may end later than its last event. */
  readonly seconds: number;
  /** Origin of this trace for the reader: `generated web-service seed 7`, `recorded from cluster prod`. */
  readonly source?: string;
}

export interface Trace {
  readonly header: TraceHeader;
  /** Events in order of time. Each run may read them again from the start. */
  events(): AsyncIterable<TraceEvent> | Iterable<TraceEvent>;
}
