/** Topology of a pod's volumes, and limits of attached volumes per node. */
import type { NodeSelectorTerm, PersistentVolumeClaim, Pod } from '#api/objects';
import type { Snapshot, StateNode } from '#engine/model';
import { keyOf, namespaceOf } from './pods.ts';
import { and, intersects, type Requirements, requirementsOf } from './requirements.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const EBS = 'ebs.csi.aws.com';

export class ReferenceVolumes {
  readonly #claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly #snapshot: Snapshot;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#claims = new Map(
      snapshot.persistentVolumeClaims.map((each) => [
        `${each.metadata.namespace ?? 'default'}/${each.metadata.name}`,
        each,
      ]),
    );
  }

  /**
   * Returns alternative requirements, one of which must hold for all volumes. Contradictory combinations remain only if
   * all are contradictory.
   */
  alternatives(pod: Pod): readonly Requirements[] {
    let all: readonly Requirements[] = [];
    for (const [, claim] of this.#claimsOf(pod)) {
      const own = this.#placesOf(claim);
      if (own.length === 0) continue;
      if (all.length === 0) {
        all = own;
        continue;
      }
      const pairs = all.flatMap((a) => own.map((b) => ({ isPossible: intersects(a, b), both: and(a, b) })));
      const possible = pairs.filter(({ isPossible }) => isPossible);
      all = (possible.length > 0 ? possible : pairs).map(({ both }) => both);
    }
    return all.length > 0 ? all : [new Map()];
  }

  /** Returns the claims of the pod with their CSI drivers. */
  attachments(pod: Pod): readonly (readonly [driver: string, claim: string])[] {
    return this.#claimsOf(pod).flatMap(([id, claim]) => {
      const driver = this.#driverOf(claim);
      return driver ? [[driver, id] as const] : [];
    });
  }

  #claimsOf(pod: Pod): readonly (readonly [string, PersistentVolumeClaim])[] {
    return (pod.spec.volumes ?? []).flatMap((volume) => {
      const name = volume.persistentVolumeClaim?.claimName;
      const id = name ? `${namespaceOf(pod)}/${name}` : `${keyOf(pod)}-${volume.name}`;
      const claim = this.#claims.get(id);
      return claim ? [[id, claim] as const] : [];
    });
  }

  #volumeOf({ spec }: PersistentVolumeClaim) {
    return this.#snapshot.persistentVolumes.find(({ metadata }) => metadata.name === spec.volumeName)?.spec;
  }

  #classOf({ spec }: PersistentVolumeClaim) {
    return this.#snapshot.storageClasses.find(({ metadata }) => metadata.name === spec.storageClassName);
  }

  #placesOf(claim: PersistentVolumeClaim): readonly Requirements[] {
    if (!claim.spec.volumeName) {
      return (this.#classOf(claim)?.allowedTopologies ?? []).map(({ matchLabelExpressions = [] }) =>
        requirementsOf(matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In', values }))),
      );
    }
    const volume = this.#volumeOf(claim);
    // the node of a local volume may be deleted, and the pod must be able to start on another node
    const isLocal = Boolean(volume?.local ?? volume?.hostPath);
    return (volume?.nodeAffinity?.required?.nodeSelectorTerms ?? [])
      .filter(({ matchExpressions = [] }: NodeSelectorTerm) => matchExpressions.length > 0)
      .map(({ matchExpressions = [] }) =>
        requirementsOf(matchExpressions.filter(({ key }) => !(isLocal && key === HOSTNAME))),
      );
  }

  #driverOf(claim: PersistentVolumeClaim): string | undefined {
    if (!claim.spec.volumeName) {
      const provisioner = this.#classOf(claim)?.provisioner;
      return provisioner === 'kubernetes.io/aws-ebs' ? EBS : provisioner;
    }
    const volume = this.#volumeOf(claim);
    return volume?.csi?.driver ?? (volume?.awsElasticBlockStore ? EBS : undefined);
  }
}

/** Volumes that are attached to one node. */
export class Attached {
  readonly #claims = new Map<string, Set<string>>();
  readonly #limits: ReadonlyMap<string, number>;

  constructor({ csiNode }: StateNode) {
    const drivers = csiNode?.spec.drivers ?? [];
    this.#limits = new Map(drivers.map(({ name, allocatable }) => [name, allocatable?.count ?? Infinity]));
  }

  takes(attachments: readonly (readonly [string, string])[]): boolean {
    return [...new Set(attachments.map(([driver]) => driver))].every((driver) => {
      const more = attachments.filter(([own]) => own === driver).map(([, claim]) => claim);
      const all = new Set([...(this.#claims.get(driver) ?? []), ...more]);
      return all.size <= (this.#limits.get(driver) ?? Infinity);
    });
  }

  add(attachments: readonly (readonly [string, string])[]): void {
    for (const [driver, claim] of attachments) {
      this.#claims.set(driver, (this.#claims.get(driver) ?? new Set()).add(claim));
    }
  }
}
