/**
 * Pods that are alike: of one namespace, with the same demands on a node. Replicas, the pods that a controller makes anew
 * under other names, and those of each run of a CronJob share the fate of the one that was tried before them.
 */
import { createHash } from 'node:crypto';
import type { Pod } from '../api/kubernetes.ts';

/** Specs never change under the same object, and some are large. */
const known = new WeakMap<Pod, string>();

const containersOf = (containers: Pod['spec']['containers'] | undefined): unknown =>
  (containers ?? []).map(({ resources, ports = [], ...rest }) => [
    resources,
    ports.filter(({ hostPort }) => hostPort !== undefined),
    'restartPolicy' in rest ? rest.restartPolicy : undefined,
  ]);

/** Which kinds of volumes a pod has. Their names differ between the replicas of a StatefulSet. */
const volumesOf = ({ spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).map((volume) =>
    Object.keys(volume)
      .filter((key) => key !== 'name')
      .join(),
  );

function demandsOf(pod: Pod): unknown {
  const { spec } = pod;
  return [
    pod.metadata.namespace,
    [containersOf(spec.containers), containersOf(spec.initContainers), spec.overhead],
    [spec.nodeSelector, spec.affinity, spec.tolerations, spec.topologySpreadConstraints, spec.schedulerName],
    [volumesOf(pod), (spec.resourceClaims ?? []).length],
  ];
}

/** The same text for pods that are alike. */
export function likenessOf(pod: Pod): string {
  let likeness = known.get(pod);
  if (likeness === undefined) {
    likeness = createHash('sha256')
      .update(JSON.stringify(demandsOf(pod)))
      .digest('base64');
    known.set(pod, likeness);
  }
  return likeness;
}
