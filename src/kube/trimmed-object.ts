/**
 * What objects carry that nobody here looks at: who set which field, the images of a node, and most of what containers
 * are made of. And what the pods of a workload have in common is kept once for all of them. A large cluster takes a
 * third of the memory so. None of these objects is ever written back as a whole, or changed.
 */
import { type Kind, NODE, NODE_CLAIM, POD } from '../api/kinds.ts';
import type {
  Condition,
  Container,
  ContainerStatus,
  KubeObject,
  Pod,
  PodSpec,
  PodStatus,
  PodVolume,
} from '../api/kubernetes.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import { internStrings } from './interned-strings.ts';

/** An object as it came from the API server, without what nobody here looks at. */
export function trimmedObject<T extends KubeObject>(kind: Kind<T>, object: T): T {
  const light =
    'managedFields' in object.metadata ? { ...object, metadata: withoutManagedFields(object.metadata) } : object;
  // kinds and types of objects go together
  if (kind.plural === POD.plural) return lightPod(light as unknown as Pod) as unknown as T;
  if (kind.plural === NODE_CLAIM.plural) return lightClaim(light as unknown as NodeClaim) as unknown as T;
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

/** The claims of a NodePool name the same sixty instance types, and those of a type promise the same amounts. */
function lightClaim(claim: NodeClaim): NodeClaim {
  const { spec, status } = claim;
  const light: NodeClaim = {
    ...claim,
    spec: { ...spec, requirements: shared(spec.requirements) },
    ...(status === undefined ? {} : { status: sharedFields(status, ['capacity', 'allocatable']) }),
  };
  return internStrings(light);
}

/** With the one object for all that are equal in these fields. */
function sharedFields<T extends object>(object: T, names: readonly (keyof T)[]): T {
  const copy = { ...object };
  for (const name of names) {
    const part: unknown = copy[name];
    if (typeof part === 'object' && part !== null) copy[name] = shared(part) as T[keyof T];
  }
  return copy;
}

/** Of the rest of a pod's spec, what is the same for all pods of a workload. */
const SHARED_SPEC = [
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'overhead',
  'resources',
  'resourceClaims',
] as const satisfies readonly (keyof PodSpec)[];
/** What else of it somebody looks at. */
const OWN_SPEC = [
  'nodeName',
  'priority',
  'priorityClassName',
  'preemptionPolicy',
  'schedulerName',
  'schedulingGates',
  'terminationGracePeriodSeconds',
  'hostNetwork',
  'restartPolicy',
  'serviceAccountName',
] as const satisfies readonly (keyof PodSpec)[];
const OWN_STATUS = [
  'phase',
  'nominatedNodeName',
  'resourceClaimStatuses',
  'startTime',
] as const satisfies readonly (keyof PodStatus)[];
/** Those that say whether it has a node, and whether it serves. */
const CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready']);

/** What pods have in common is shared already, but for the texts of their own part. Pods are too many to look through. */
function lightPod({ metadata, ...pod }: Pod): Pod {
  const { containers, initContainers, volumes } = pod.spec;
  return {
    ...pod,
    metadata: {
      ...sharedFields(metadata, ['labels', 'annotations', 'ownerReferences', 'finalizers']),
      ...internStrings(picked(metadata, ['namespace', 'generateName', 'creationTimestamp']), 'flat'),
    },
    spec: {
      ...internStrings(sharedFields(picked(pod.spec, [...OWN_SPEC, ...SHARED_SPEC]), SHARED_SPEC), 'flat'),
      containers: shared(containers.map(lightContainer)),
      ...(initContainers === undefined ? {} : { initContainers: shared(initContainers.map(lightContainer)) }),
      ...(volumes === undefined ? {} : { volumes: shared(volumes.map(lightVolume)) }),
    },
    ...(pod.status === undefined ? {} : { status: lightStatus(pod.status) }),
  };
}

/** These fields alone, those that are there. */
function picked<T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> {
  const found: Partial<T> = {};
  for (const name of names) if (object[name] !== undefined) found[name] = object[name];
  return found as Pick<T, K>;
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

function lightStatus(status: PodStatus): PodStatus {
  const { conditions, containerStatuses, initContainerStatuses } = status;
  return {
    ...internStrings(picked(status, OWN_STATUS), 'flat'),
    ...(conditions === undefined ? {} : { conditions: lightConditions(conditions) }),
    ...(containerStatuses === undefined
      ? {}
      : { containerStatuses: shared(containerStatuses.map(lightContainerStatus)) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: shared(initContainerStatuses.map(lightContainerStatus)) }),
  };
}

const CONDITION = ['type', 'status', 'reason', 'message', 'lastTransitionTime'] as const;

const lightConditions = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions
    .filter(({ type }) => CONDITIONS.has(type))
    .map((condition) => internStrings(picked(condition, CONDITION), 'flat'));

const lightContainerStatus = ({ name, ready, allocatedResources, resources }: ContainerStatus): ContainerStatus => ({
  name,
  ...(ready === undefined ? {} : { ready }),
  ...(allocatedResources === undefined ? {} : { allocatedResources }),
  ...(resources === undefined ? {} : { resources }),
});
