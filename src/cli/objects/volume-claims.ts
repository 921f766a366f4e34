/** Claims of volumes that controllers of the cluster would create for new pods: of StatefulSets and of ephemeral volumes. */
import {
  DEFAULT_STORAGE_CLASS_ANNOTATION,
  type ObjectMeta,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  type Pod,
  type PodVolume,
  type StorageClass,
  type Workload,
} from '#api/objects';
import { EBS_DRIVER } from '#api/values';
import type { Manifest } from './read.ts';

interface Created {
  readonly claims: readonly PersistentVolumeClaim[];
  /** Storage classes in place of those that are missing, or that bind claims before the pod is scheduled. */
  readonly classes: readonly StorageClass[];
  readonly notes: readonly string[];
}

/** Returns a pod with the volumes of its StatefulSet. As in a cluster, they replace volumes with the same name. */
export function withClaimTemplates(pod: Pod, { spec: { volumeClaimTemplates = [] } }: Workload): Pod {
  if (volumeClaimTemplates.length === 0) return pod;
  const volumes = volumeClaimTemplates.map(
    ({ metadata: { name } }): PodVolume => ({
      name,
      persistentVolumeClaim: { claimName: `${name}-${pod.metadata.name}` },
    }),
  );
  const names = new Set(volumes.map(({ name }) => name));
  const others = (pod.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  return { ...pod, spec: { ...pod.spec, volumes: [...others, ...volumes] } };
}

/** Creates the claims of pods that are not from a cluster, unless the manifests contain a claim with this name. */
export function createClaims(pods: readonly Pod[], manifests: readonly Manifest[]): Created {
  const existing = new Set(
    manifests
      .filter(({ object }) => object.kind === 'PersistentVolumeClaim')
      .map(({ object }) => keyOf(object.metadata)),
  );
  const templates = templatesIn(manifests);
  const classes = new Classes(manifests);
  const claims = new Map<string, PersistentVolumeClaim>();
  for (const pod of pods) {
    if (pod.metadata.resourceVersion !== undefined) continue;
    const { namespace = 'default' } = pod.metadata;
    for (const { name, spec } of claimsFor(pod, templates)) {
      const metadata = { name, namespace };
      const key = keyOf(metadata);
      if (existing.has(key) || claims.has(key)) continue;
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: classes.chosenFor(spec) };
      claims.set(key, { ...claim, status: { phase: 'Pending' } });
    }
  }
  return { claims: [...claims.values()], classes: classes.substitutes, notes: classes.notes };
}

const keyOf = ({ namespace = 'default', name }: ObjectMeta): string => `${namespace}/${name}`;

/** Returns the specs of claim templates by StatefulSet and name of the volume. */
function templatesIn(manifests: readonly Manifest[]): ReadonlyMap<string, PersistentVolumeClaimSpec> {
  return new Map(
    manifests.flatMap(({ object }) => {
      if (object.kind !== 'StatefulSet') return [];
      const { metadata, spec } = object as Workload;
      return (spec.volumeClaimTemplates ?? []).map(
        (template) => [`${keyOf(metadata)} ${template.metadata.name}`, template.spec] as const,
      );
    }),
  );
}

interface WantedClaim {
  readonly name: string;
  readonly spec: PersistentVolumeClaimSpec;
}

function claimsFor(
  { metadata, spec }: Pod,
  templates: ReadonlyMap<string, PersistentVolumeClaimSpec>,
): readonly WantedClaim[] {
  const { namespace = 'default', ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ kind }) => kind === 'StatefulSet')?.name;
  return (spec.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim }): readonly WantedClaim[] => {
    const own = ephemeral?.volumeClaimTemplate?.spec;
    if (own !== undefined) return [{ name: `${metadata.name}-${name}`, spec: own }];
    const template = owner === undefined ? undefined : templates.get(`${namespace}/${owner} ${name}`);
    return template === undefined || persistentVolumeClaim === undefined
      ? []
      : [{ name: persistentVolumeClaim.claimName, spec: template }];
  });
}

/** Storage classes of the manifests. */
class Classes {
  readonly #known: ReadonlyMap<string, StorageClass>;
  readonly #substitutes = new Map<string, StorageClass>();
  readonly notes: string[] = [];

  constructor(manifests: readonly Manifest[]) {
    this.#known = new Map(
      manifests
        .filter(({ object }) => object.kind === 'StorageClass')
        .map(({ object }) => [object.metadata.name, object as StorageClass]),
    );
  }

  get substitutes(): readonly StorageClass[] {
    return [...this.#substitutes.values()];
  }

  /** Returns the spec with the class that binds the claim when its pod is scheduled. */
  chosenFor(spec: PersistentVolumeClaimSpec): PersistentVolumeClaimSpec {
    const name = spec.storageClassName ?? this.#default;
    const known = this.#known.get(name);
    if (known?.volumeBindingMode === 'WaitForFirstConsumer') return { ...spec, storageClassName: name };
    const substitute = this.#substitutes.get(name) ?? this.#substituteFor(name, known);
    this.#substitutes.set(name, substitute);
    return { ...spec, storageClassName: substitute.metadata.name };
  }

  get #default(): string {
    const isDefault = ({ metadata }: StorageClass): boolean =>
      metadata.annotations?.[DEFAULT_STORAGE_CLASS_ANNOTATION] === 'true';
    return [...this.#known.values()].find(isDefault)?.metadata.name ?? '';
  }

  #substituteFor(name: string, known: StorageClass | undefined): StorageClass {
    const what = name === '' ? 'a default StorageClass is' : `StorageClass ${name} is`;
    this.notes.push(
      known === undefined
        ? `${what} not in the manifests; volumes of ${EBS_DRIVER} without topologies are assumed`
        : `StorageClass ${name} binds volumes before their pods are scheduled; all zones of the class are assumed`,
    );
    const substitute = known ?? { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: EBS_DRIVER };
    // no object in the manifests can have a name with spaces
    const metadata = { name: `substitute for ${name}` };
    return { ...substitute, metadata, volumeBindingMode: 'WaitForFirstConsumer' };
  }
}
