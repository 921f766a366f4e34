/**
 * What objects carry that nobody here looks at: who set which field, the images of a node, and most of what containers
 * are made of. Without it a large cluster takes less than half the memory. None of these objects is ever written back as
 * a whole.
 */
import { type Kind, NODE, POD } from '../api/kinds.ts';
import type { Container, ContainerStatus, KubeObject, Pod, PodVolume } from '../api/kubernetes.ts';

/** An object as it came from the API server, without its ballast. */
export function withoutBallast<T extends KubeObject>(kind: Kind<T>, object: T): T {
  const light = 'managedFields' in object.metadata ? { ...object, metadata: withoutNotes(object.metadata) } : object;
  // kinds and types of objects go together
  if (kind.plural === POD.plural) return lightPod(light as unknown as Pod) as unknown as T;
  if (kind.plural === NODE.plural) return withoutImages(light as unknown as WithImages) as unknown as T;
  return light;
}

function withoutNotes<M extends KubeObject['metadata']>(metadata: M & { managedFields?: unknown }): M {
  const { managedFields: _, ...rest } = metadata;
  return rest as unknown as M;
}

interface WithImages {
  readonly status?: { readonly images?: unknown };
}

function withoutImages(node: WithImages): WithImages {
  if (node.status?.images === undefined) return node;
  const { images: _, ...status } = node.status;
  return { ...node, status };
}

function lightPod(pod: Pod): Pod {
  const { containers, initContainers, volumes, ...spec } = pod.spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: containers.map(lightContainer),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(lightContainer) }),
      ...(volumes === undefined ? {} : { volumes: volumes.map(lightVolume) }),
    },
    ...(pod.status === undefined ? {} : { status: lightStatus(pod.status) }),
  };
}

const lightContainer = ({ name, resources, ports, restartPolicy }: Container): Container => ({
  name,
  ...(resources === undefined ? {} : { resources }),
  ...(ports === undefined ? {} : { ports }),
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

const lightVolume = ({ name, persistentVolumeClaim, ephemeral }: PodVolume): PodVolume => ({
  name,
  ...(persistentVolumeClaim === undefined ? {} : { persistentVolumeClaim }),
  ...(ephemeral === undefined ? {} : { ephemeral }),
});

function lightStatus(status: NonNullable<Pod['status']>): NonNullable<Pod['status']> {
  const { containerStatuses, initContainerStatuses, ...rest } = status;
  return {
    ...rest,
    ...(containerStatuses === undefined ? {} : { containerStatuses: containerStatuses.map(lightContainerStatus) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(lightContainerStatus) }),
  };
}

const lightContainerStatus = ({ name, ready, allocatedResources, resources }: ContainerStatus): ContainerStatus => ({
  name,
  ...(ready === undefined ? {} : { ready }),
  ...(allocatedResources === undefined ? {} : { allocatedResources }),
  ...(resources === undefined ? {} : { resources }),
});
