/** Keeps together what default topology spread constraints need to know of Services and workloads. */
import { type Kind, REPLICA_SET, REPLICATION_CONTROLLER, SERVICE, STATEFUL_SET } from '../api/kinds.ts';
import type { KubeObject, ReplicationController, TopologySpreadConstraint, Workload } from '../api/kubernetes.ts';
import type { DefaultSpread, SpreadWorkload } from '../engine/default-spread.ts';
import type { Informers, Store } from '../kube/client.ts';

/** The operator's default role cannot read Services: without them, selectors are deduced from workloads alone. */
const OPTIONAL = { optional: true } as const;

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

/**
 * Answers the constraints with what there is now to deduce selectors from; the same object until something changes.
 * Nothing is watched when there are no constraints.
 * @param changed is called if the result changes
 */
export function watchDefaultSpread(
  informers: Informers,
  constraints: readonly TopologySpreadConstraint[],
  changed: () => void,
): () => DefaultSpread | undefined {
  if (constraints.length === 0) return () => undefined;
  let known: DefaultSpread | undefined;
  const open = <T extends KubeObject>(kind: Kind<T>): Store<T> => {
    const store = informers.store(kind, {}, OPTIONAL);
    store.subscribe((event, object, before) => {
      // a change of status is none of ours; Services have no generation
      const { generation } = object.metadata;
      const isStatus = event === 'updated' && generation !== undefined && generation === before?.metadata.generation;
      if (isStatus) return;
      known = undefined;
      changed();
    });
    return store;
  };
  const services = open(SERVICE);
  const controllers = open(REPLICATION_CONTROLLER);
  const replicaSets = open(REPLICA_SET);
  const statefulSets = open(STATEFUL_SET);
  return () => {
    known ??= {
      constraints,
      services: services
        .list()
        .flatMap((service) =>
          service.spec?.selector ? [{ namespace: namespaceOf(service), selector: service.spec.selector }] : [],
        ),
      workloads: [
        ...controllers.list().flatMap(fromController),
        ...replicaSets.list().flatMap((workload) => fromWorkload('ReplicaSet', workload)),
        ...statefulSets.list().flatMap((workload) => fromWorkload('StatefulSet', workload)),
      ],
    };
    return known;
  };
}

function fromController(controller: ReplicationController): readonly SpreadWorkload[] {
  const matchLabels = controller.spec?.selector;
  if (matchLabels === undefined) return [];
  const { name } = controller.metadata;
  const namespace = namespaceOf(controller);
  return [{ apiVersion: 'v1', kind: 'ReplicationController', namespace, name, selector: { matchLabels } }];
}

function fromWorkload(kind: 'ReplicaSet' | 'StatefulSet', workload: Workload): readonly SpreadWorkload[] {
  const { selector } = workload.spec;
  if (selector === undefined) return [];
  return [{ apiVersion: 'apps/v1', kind, namespace: namespaceOf(workload), name: workload.metadata.name, selector }];
}
