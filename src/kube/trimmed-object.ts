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
import { internStrings } from '../lib/interned-strings.ts';
import { shared, sharedFields, withSharedParts } from './shared-parts.ts';

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

/** What somebody looks at of a pod's spec as it is. */
const SPEC = [
  'nodeName',
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'overhead',
  'resources',
  'priority',
  'priorityClassName',
  'preemptionPolicy',
  'schedulerName',
  'schedulingGates',
  'terminationGracePeriodSeconds',
  'hostNetwork',
  'restartPolicy',
  'serviceAccountName',
  'resourceClaims',
] as const satisfies readonly (keyof PodSpec)[];
const STATUS = [
  'phase',
  'nominatedNodeName',
  'resourceClaimStatuses',
  'startTime',
] as const satisfies readonly (keyof PodStatus)[];

function lightPod({ spec, status, ...pod }: Pod): Pod {
  const { containers, initContainers, volumes } = spec;
  return withSharedParts({
    ...pod,
    spec: {
      ...picked(spec, SPEC),
      containers: containers.map(lightContainer),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(lightContainer) }),
      ...(volumes === undefined ? {} : { volumes: volumes.map(lightVolume) }),
    },
    ...(status === undefined ? {} : { status: lightStatus(status) }),
  });
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

/** Those that say whether it has a node, and whether it serves. */
const CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready']);
const CONDITION = ['type', 'status', 'reason', 'message', 'lastTransitionTime'] as const;

function lightStatus(status: PodStatus): PodStatus {
  const { conditions, containerStatuses, initContainerStatuses } = status;
  return {
    ...picked(status, STATUS),
    ...(conditions === undefined ? {} : { conditions: lightConditions(conditions) }),
    ...(containerStatuses === undefined ? {} : { containerStatuses: containerStatuses.map(lightContainerStatus) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(lightContainerStatus) }),
  };
}

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
