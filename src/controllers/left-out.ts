/** Reports the objects that the engine did without. */
import type { KubeObject } from '../api/kubernetes.ts';
import type { LeftOut } from '../engine/model.ts';
import type { Logger } from '../observe/logger.ts';
import type { ClusterState } from '../state/cluster.ts';
import type { Deps } from './deps.ts';

const WINDOW_MS = 10 * 60_000;

/** An event on each of them, and a line in the log. */
export function reportLeftOut(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  objects: readonly LeftOut[],
  log: Logger,
): void {
  for (const object of objects) {
    const { kind, namespace, name, text } = object;
    const named = namespace === undefined ? { name } : { namespace, name };
    log.error('leaving out an object that cannot be read', { [kind]: named, error: text });
    const found = objectOf(cluster, object);
    if (found === undefined) continue;
    const message = `Left out of scheduling, other objects are not affected: ${text}`;
    const dedupe = [found.metadata.uid ?? name, text];
    events.publish({ object: found, type: 'Warning', reason: 'LeftOut', message, dedupe, windowMs: WINDOW_MS });
  }
}

function objectOf({ stores }: ClusterState, { kind, ...ref }: LeftOut): KubeObject | undefined {
  switch (kind) {
    case 'NodePool':
      return stores.nodePools.get(ref);
    case 'Node':
      return stores.nodes.get(ref);
    case 'DaemonSet':
      return stores.daemonSets.get(ref);
    case 'Pod':
      return stores.pods.get(ref);
  }
}
