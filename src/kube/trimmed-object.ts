/**
 * What objects carry that nobody here looks at: who set which field, the images of a node, and most of what containers
 * are made of. And what the pods of a workload have in common is kept once for all of them. A large cluster takes a
 * third of the memory so. None of these objects is ever written back as a whole, or changed.
 */
import { type Kind, NODE, POD } from '../api/kinds.ts';
import type { Container, ContainerStatus, KubeObject, Pod, PodVolume } from '../api/kubernetes.ts';
import { internStrings } from './interned-strings.ts';

/** An object as it came from the API server, without what nobody here looks at. */
export function trimmedObject<T extends KubeObject>(kind: Kind<T>, object: T): T {
  const light =
    'managedFields' in object.metadata ? { ...object, metadata: withoutManagedFields(object.metadata) } : object;
  // kinds and types of objects go together
  if (kind.plural === POD.plural) return lightPod(light as unknown as Pod) as unknown as T;
  if (kind.plural === NODE.plural) return internStrings(withoutImages(light as unknown as WithImages)) as unknown as T;
  return internStrings(light);
}

/** Without who set which field. */
export function withoutManagedFields<M extends KubeObject['metadata']>(metadata: M & { managedFields?: unknown }): M {
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

/** Parts of pods by their text. Started anew when it has grown: workloads come and go. */
const parts = new Map<string, unknown>();
/** Characters of their texts. Pods may be megabytes each, and what is remembered of them outlives them. */
const MAX_CHARACTERS = 4_000_000;
/** Longer texts are hardly ever equal by workload. */
const LONGEST_SHARED = 20_000;
let characters = 0;

/** One object for all equal parts. */
function shared<T extends object | undefined>(part: T): T {
  if (part === undefined) return part;
  const text = JSON.stringify(part);
  const known = parts.get(text);
  if (known !== undefined) return known as T;
  if (text.length > LONGEST_SHARED) return part;
  if (characters > MAX_CHARACTERS) {
    parts.clear();
    characters = 0;
  }
  characters += text.length;
  parts.set(text, part);
  return part;
}

/** What pods have in common is shared already, but for the texts of their own part. Pods are too many to look through. */
function lightPod({ metadata, ...pod }: Pod): Pod {
  const { labels, ownerReferences, ...ownMetadata } = metadata;
  const { containers, initContainers, volumes, tolerations, affinity, topologySpreadConstraints, ...spec } = pod.spec;
  return {
    ...pod,
    metadata: {
      ...ownMetadata,
      ...(labels === undefined ? {} : { labels: shared(labels) }),
      ...(ownerReferences === undefined ? {} : { ownerReferences: shared(ownerReferences) }),
    },
    spec: {
      ...internStrings(spec, 'flat'),
      containers: shared(containers.map(lightContainer)),
      ...(initContainers === undefined ? {} : { initContainers: shared(initContainers.map(lightContainer)) }),
      ...(volumes === undefined ? {} : { volumes: shared(volumes.map(lightVolume)) }),
      ...(tolerations === undefined ? {} : { tolerations: shared(tolerations) }),
      ...(affinity === undefined ? {} : { affinity: shared(affinity) }),
      ...(topologySpreadConstraints === undefined
        ? {}
        : { topologySpreadConstraints: shared(topologySpreadConstraints) }),
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
  for (const condition of rest.conditions ?? []) internStrings(condition, 'flat');
  return {
    ...rest,
    ...(containerStatuses === undefined
      ? {}
      : { containerStatuses: shared(containerStatuses.map(lightContainerStatus)) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: shared(initContainerStatuses.map(lightContainerStatus)) }),
  };
}

const lightContainerStatus = ({ name, ready, allocatedResources, resources }: ContainerStatus): ContainerStatus => ({
  name,
  ...(ready === undefined ? {} : { ready }),
  ...(allocatedResources === undefined ? {} : { allocatedResources }),
  ...(resources === undefined ? {} : { resources }),
});
