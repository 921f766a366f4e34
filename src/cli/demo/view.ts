/** Watches the objects of the cluster, the same objects that `kubectl get -w` shows. */
import {
  EC2_NODE_CLASS,
  type EC2NodeClass,
  EVENT,
  isTrue,
  type Kind,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  type NodeClaim,
  POD,
  type Pod,
} from '#api/objects';
import { type Cache, cachesInProcess } from '#local/api-server';
import type { World } from '#local/world';

export interface View {
  readonly pods: Cache<Pod>;
  readonly claims: Cache<NodeClaim>;
  readonly nodeClasses: Cache<EC2NodeClass>;
  /** Returns the pods of the demo's workload that are not being deleted. */
  workload(): readonly Pod[];
  running(): readonly Pod[];
  /** Returns the number of existing nodes that the operator launched. */
  nodeCount(): number;
  isReady(kind: Kind, name: string): boolean;
  /** Returns the text of the latest Warning event, which explains a wait. */
  lastWarning(): string | undefined;
  /**
   * Waits until `done` returns true. Checks at every change of a watched object.
   *
   * @throws Error after `limitMs` of real time
   */
  until(what: string, done: () => boolean, limitMs: number, during?: () => void): Promise<void>;
}

const APP = 'inflate';
/** Interval between checks if no object changes, so that the live progress is updated. */
const TICK_MS = 100;
/** Maximum duration of a tick that counts towards a limit. A longer tick is a pause of the machine. */
const LONGEST_TICK_MS = 2_000;

const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running' && isTrue(pod, 'Ready');

export function watchWorld(world: World, signal: AbortSignal): View {
  const caches = cachesInProcess(world.kube.server);
  const pods = caches.of(POD);
  const nodes = caches.of(NODE);
  const claims = caches.of(NODE_CLAIM);
  const events = caches.of(EVENT);

  const workload = (): readonly Pod[] =>
    pods.list().filter((pod) => pod.metadata.labels?.app === APP && !pod.metadata.deletionTimestamp);

  return {
    pods,
    claims,
    nodeClasses: caches.of(EC2_NODE_CLASS),
    workload,
    running: () => workload().filter(isRunning),
    nodeCount: () => nodes.list().filter((node) => node.metadata.labels?.[NODEPOOL_LABEL]).length,
    isReady: (kind, name) => {
      const object = caches.of(kind).get({ name });
      return object !== undefined && isTrue(object, 'Ready');
    },
    lastWarning: () =>
      events
        .list()
        .filter((event) => event.type === 'Warning')
        .sort((a, b) => (a.lastTimestamp ?? '').localeCompare(b.lastTimestamp ?? ''))
        .at(-1)?.message,
    async until(what, done, limitMs, during) {
      let waitedMs = 0;
      let lastMs = performance.now();
      while (!done()) {
        if (signal.aborted) throw new Error(`interrupted while waiting for ${what}`);
        waitedMs += Math.min(performance.now() - lastMs, LONGEST_TICK_MS);
        lastMs = performance.now();
        if (waitedMs > limitMs)
          throw new Error(
            `timed out after ${limitMs / 1000} s while waiting for ${what}${this.lastWarning() ? `; last warning: ${this.lastWarning()}` : ''}`,
          );
        during?.();
        await new Promise((resolve) => setTimeout(resolve, TICK_MS));
      }
    },
  };
}
