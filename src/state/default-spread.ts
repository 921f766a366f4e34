/** Collects the Services and workloads that default topology spread constraints need. */
import {
  type Kind,
  type KubeObject,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  type ReplicationController,
  SERVICE,
  STATEFUL_SET,
  type TopologySpreadConstraint,
  type Workload,
} from '#api/objects';
import type { DefaultSpread, SpreadWorkload } from '#engine/model';
import type { Informers, Store } from '#kube/client';

/** The operator's default role cannot read Services. Without Services, selectors are derived only from workloads. */
const OPTIONAL = { optional: true } as const;

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

/**
 * Returns a function for the constraints and the objects from which their selectors are derived. The function returns the same
 * object until a change. If there are no constraints, nothing is watched.
 * @param changed called if the result changes
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
      // changes of only the status do not matter; Services have no generation
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
