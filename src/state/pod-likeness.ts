/**
 * Likeness of pods: pods of one namespace with the same demands on a node. It covers replicas, pods that a controller recreates
 * under other names, and the pods of each run of a CronJob. If placing one of them fails, placing the next would fail too.
 */
import { createHash } from 'node:crypto';
import type { Pod } from '#api/objects';
import { internString } from '#lib';

/** Likeness by pod object. Specs never change within an object, and some specs are large. */
const known = new WeakMap<Pod, string>();

const containersOf = (containers: Pod['spec']['containers'] | undefined): unknown =>
  (containers ?? []).map(({ resources, ports = [], ...rest }) => [
    resources,
    ports.filter(({ hostPort }) => hostPort !== undefined),
    'restartPolicy' in rest ? rest.restartPolicy : undefined,
  ]);

/** Returns the kinds of a pod's volumes. Volume names are ignored, because they differ between the replicas of a StatefulSet. */
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
    [containersOf(spec.containers), containersOf(spec.initContainers), spec.overhead, spec.resources],
    [spec.nodeSelector, spec.affinity, spec.tolerations, spec.topologySpreadConstraints, spec.schedulerName],
    [volumesOf(pod), (spec.resourceClaims ?? []).length],
  ];
}

/** Returns a text that is equal for similar pods. */
export function likenessOf(pod: Pod): string {
  let likeness = known.get(pod);
  if (likeness === undefined) {
    const digest = createHash('sha256').update(JSON.stringify(demandsOf(pod)));
    likeness = internString(digest.digest('base64'));
    known.set(pod, likeness);
  }
  return likeness;
}
