/** Reports objects that the engine left out because they are invalid. */
import type { KubeObject } from '../api/kubernetes.ts';
import type { LeftOut } from '../engine/model.ts';
import { eventOf } from '../observe/events/declaration.ts';
import { LEFT_OUT } from '../observe/events/pods.ts';
import type { Logger } from '../observe/logger.ts';
import type { ClusterState } from '../state/cluster.ts';
import type { Deps } from './deps.ts';

/** Publishes an event on each object and logs it. */
export function reportLeftOut(
  { cluster, events }: Pick<Deps, 'cluster' | 'events'>,
  objects: readonly LeftOut[],
  log: Logger,
): void {
  for (const object of objects) {
    const { kind, namespace, name, text } = object;
    const named = namespace === undefined ? { name } : { namespace, name };
    log.error('ignoring an invalid object', { [kind]: named, error: text });
    const found = objectOf(cluster, object);
    if (found === undefined) continue;
    const dedupe = [found.metadata.uid ?? name, text];
    events.publish(eventOf(LEFT_OUT, found, { message: LEFT_OUT.message(text), dedupe }));
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
