/** Adds pending pods to a workload by copying its existing pods. */
import type { PersistentVolumeClaim, Pod, PodVolume } from '#api/objects';
import { timeOf } from '#lib';
import { ordinalOf } from './removal-order.ts';

interface Copies {
  readonly kind: string;
  readonly name: string;
  readonly count: number;
  /** Volume claims of the pods. */
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[];
}

/**
 * Copies the youngest pod. This pod has the latest template. Also copies the volume claims that a StatefulSet creates.
 */
export function copiesOf(pods: readonly Pod[], copies: Copies): readonly (Pod | PersistentVolumeClaim)[] {
  const [youngest] = pods.toSorted(
    (a, b) => (timeOf(b.metadata.creationTimestamp) || 0) - (timeOf(a.metadata.creationTimestamp) || 0),
  );
  if (youngest === undefined) return [];
  const first = Math.max(...pods.map(ordinalOf)) + 1;
  return Array.from({ length: copies.count }, (_, at) => {
    const name = copies.kind === 'StatefulSet' ? `${copies.name}-${first + at}` : `${copies.name}-what-if-${at}`;
    return copyOf(youngest, name, copies);
  }).flat();
}

function copyOf(pod: Pod, name: string, copies: Copies): readonly (Pod | PersistentVolumeClaim)[] {
  const { nodeName: _, volumes = [], ...spec } = pod.spec;
  const { namespace, labels, annotations, ownerReferences } = pod.metadata;
  const claims: PersistentVolumeClaim[] = [];
  const own = volumes.flatMap((volume): readonly PodVolume[] => {
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName === undefined || !claimName.endsWith(`-${pod.metadata.name}`)) return [volume];
    const renamed = `${claimName.slice(0, -pod.metadata.name.length)}${name}`;
    const claim = copyOfClaim(claimName, renamed, pod, copies);
    // the requests of a volume claim are unknown if the dump does not contain it
    if (claim === undefined) return [];
    claims.push(claim);
    return [{ ...volume, persistentVolumeClaim: { ...volume.persistentVolumeClaim, claimName: renamed } }];
  });
  const copy: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(ownerReferences && { ownerReferences }),
    },
    spec: { ...spec, ...(own.length > 0 && { volumes: own }) },
  };
  return [copy, ...claims];
}

/** Copies an unbound volume claim for a new pod. */
function copyOfClaim(
  name: string,
  renamed: string,
  pod: Pod,
  { persistentVolumeClaims }: Pick<Copies, 'persistentVolumeClaims'>,
): PersistentVolumeClaim | undefined {
  const found = persistentVolumeClaims.find(
    ({ metadata }) =>
      metadata.name === name && (metadata.namespace ?? 'default') === (pod.metadata.namespace ?? 'default'),
  );
  if (found === undefined) return undefined;
  const { volumeName: _, ...spec } = found.spec;
  const { namespace, labels } = found.metadata;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: renamed, ...(namespace !== undefined && { namespace }), ...(labels && { labels }) },
    spec,
  };
}
