/** Selectors of pods with the same Services and controller. System default constraints spread such pods. */
import {
  controllerOf,
  type LabelSelector,
  type Pod,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  SERVICE,
  type Service,
  STATEFUL_SET,
} from '#api/objects';
import { selects } from '#engine/model';
import type { Cache, Caches } from '../../cache.ts';

type ControllerSelector = (ref: { readonly namespace: string; readonly name: string }) => LabelSelector | undefined;

/** Kinds whose objects select pods. */
export const SELECTING_KINDS = [SERVICE, REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET] as const;

const byNamespace = ({ metadata }: Service): string | undefined => metadata.namespace;

export class DefaultSelectors {
  readonly #services: Cache<Service>;
  /** Controllers by API version and kind. */
  readonly #controllers: Readonly<Record<string, ControllerSelector>>;

  constructor(caches: Caches) {
    const [replicaSets, statefulSets] = [caches.of(REPLICA_SET), caches.of(STATEFUL_SET)];
    const replicationControllers = caches.of(REPLICATION_CONTROLLER);
    this.#services = caches.of(SERVICE);
    this.#controllers = {
      'apps/v1/ReplicaSet': (ref) => replicaSets.get(ref)?.spec.selector,
      'apps/v1/StatefulSet': (ref) => statefulSets.get(ref)?.spec.selector,
      'v1/ReplicationController': (ref) => {
        const matchLabels = replicationControllers.get(ref)?.spec?.selector;
        return matchLabels && { matchLabels };
      },
    };
  }

  /**
   * Returns the combined labels of the Services and the controller that select the pod, or undefined without any.
   */
  of(pod: Pod): LabelSelector | undefined {
    const { namespace = '', labels } = pod.metadata;
    const owner = controllerOf(pod);
    const selector = owner && this.#controllers[`${owner.apiVersion}/${owner.kind}`]?.({ namespace, name: owner.name });
    const services = this.#services
      .by(byNamespace, namespace)
      .flatMap(({ spec }) =>
        spec?.selector && selects({ matchLabels: spec.selector }, labels) ? [spec.selector] : [],
      );
    if (services.length === 0) return selector;
    return { ...selector, matchLabels: Object.assign({}, ...services, selector?.matchLabels) };
  }
}
