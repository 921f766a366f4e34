/** What default topology spread constraints need to know of the Services and workloads among manifests. */

import type {
  KubeObject,
  ReplicationController,
  Service,
  TopologySpreadConstraint,
  Workload,
} from '../../api/kubernetes.ts';
import type { DefaultSpread, SpreadWorkload } from '../../engine/default-spread.ts';
import { own } from '../../lib/own.ts';
import type { Manifest } from './read.ts';

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

/** Undefined without constraints. */
export function defaultSpreadOf(
  manifests: readonly Manifest[],
  constraints: readonly TopologySpreadConstraint[] = [],
): DefaultSpread | undefined {
  if (constraints.length === 0) return undefined;
  const objects = manifests.map(({ object }) => object);
  return {
    constraints,
    services: objects.flatMap((object) => {
      const selector = object.kind === 'Service' ? (object as Service).spec?.selector : undefined;
      return selector === undefined ? [] : [{ namespace: namespaceOf(object), selector }];
    }),
    workloads: objects.flatMap(spreadWorkload),
  };
}

function spreadWorkload(object: KubeObject): readonly SpreadWorkload[] {
  const named = { namespace: namespaceOf(object), name: object.metadata.name };
  if (object.kind === 'ReplicationController') {
    const matchLabels = (object as ReplicationController).spec?.selector;
    return matchLabels === undefined
      ? []
      : [{ apiVersion: 'v1', kind: 'ReplicationController', ...named, selector: { matchLabels } }];
  }
  const kind = own(SPREADING, object.kind);
  const selector = kind && (object as Workload).spec.selector;
  return kind && selector ? [{ apiVersion: 'apps/v1', kind, ...named, selector }] : [];
}

/** The pods that a Deployment among manifests stands for belong to a ReplicaSet of its name. */
const SPREADING: Readonly<Record<string, 'ReplicaSet' | 'StatefulSet'>> = {
  Deployment: 'ReplicaSet',
  ReplicaSet: 'ReplicaSet',
  StatefulSet: 'StatefulSet',
};
