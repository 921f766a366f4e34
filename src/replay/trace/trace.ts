/**
 * A trace: what happened to the workloads of a cluster, in the order of time. Its text form is JSON lines, a header and
 * then one event a line; docs/replay-traces.md is the reference.
 */
import type { KubeObject } from '../../api/kubernetes.ts';

/** What an event is about. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

interface At {
  /** Seconds since the start of the trace; never less than that of the event before. */
  readonly at: number;
}

/**
 * Creates or replaces an object, as `kubectl apply` would: a workload, a pod, or anything else that decides where pods may
 * run (PodDisruptionBudget, PriorityClass, PersistentVolumeClaim, StorageClass, NodePool, EC2NodeClass, NodeOverlay …).
 */
export interface Apply extends At {
  readonly apply: KubeObject;
  /**
   * Seconds for which each pod made of it runs before it succeeds, from the moment that its containers start; absent: until
   * somebody deletes it.
   */
  readonly runsFor?: number;
  /** Of a Pod: how many equal ones are made, named `NAME-0`, `NAME-1` …; absent: one, under its own name. */
  readonly count?: number;
}

export interface Scale extends At {
  readonly scale: ObjectRef;
  readonly replicas: number;
}

/** Deletes an object and what it owns; nothing happens when it is gone already. */
export interface Delete extends At {
  readonly delete: ObjectRef;
}

export type TraceEvent = Apply | Scale | Delete;

export interface TraceHeader {
  /** Version of the form. */
  readonly trace: 'karpenter/v1';
  readonly name: string;
  /** RFC 3339: when the trace begins. */
  readonly start: string;
  /** Seconds from its start to its end, which may be later than its last event. */
  readonly seconds: number;
  /** Where it comes from, for who reads it: `generated web-service seed 7`, `recorded from cluster prod`. */
  readonly source?: string;
}

export interface Trace {
  readonly header: TraceHeader;
  /** In order; may be read again from the start by each run. */
  events(): AsyncIterable<TraceEvent> | Iterable<TraceEvent>;
}
