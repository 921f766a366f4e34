/** Causes of unproductive launches. */
import type { Taint } from '#api/objects';
import type { LAUNCH_CAUSES } from './reason-codes.ts';

/** Codes are public: a metric label and part of the NodePool's condition. */
export type LaunchCause =
  /** The node has a taint that the pod does not tolerate. */
  | { readonly code: 'taint'; readonly taint: Taint }
  /** Labels that pods select, with the node's values; `undefined` for a label that the node does not have. */
  | { readonly code: 'label'; readonly labels: ReadonlyMap<string, string | undefined> }
  /** The node has at most `over` for pods. Pods that request up to `upTo` are expected on such a node. */
  | { readonly code: 'resource'; readonly resource: string; readonly over: number; readonly upTo: number }
  /** A daemon pod uses the host port. */
  | { readonly code: 'host-port'; readonly port: number }
  /** The pod's volumes cannot be attached to the node. Affects pods of the same likeness. */
  | { readonly code: 'volume'; readonly likeness: string }
  /** The node suited the pods and was disrupted before a pod was bound. Affects pods of the same likeness. */
  | { readonly code: 'not-used'; readonly likeness: string }
  /** The instance did not register as a node in time. */
  | { readonly code: 'never-joined' }
  /** The node ended before it was initialized. */
  | { readonly code: 'terminated'; readonly by: string };

export type LaunchCauseCode = (typeof LAUNCH_CAUSES)[number];

/** Launches from a NodePool that wait because earlier launches were unproductive. */
export interface WithheldLaunch {
  readonly nodePool: string;
  readonly cause: LaunchCause;
  /** For events and `karpenter explain`. */
  readonly text: string;
  /** Namespaces of the affected pods. Absent for all namespaces. */
  readonly namespaces?: ReadonlySet<string>;
  /** Namespaced names of the affected pods, for causes that only the controllers can compare with pods. */
  readonly pods?: ReadonlySet<string>;
  /** Namespaced name of the pod that may be tried again with one node. */
  readonly trial?: string;
}
