/** Dynamic resources in manifests: claims that the claim controller would create, and the devices of new nodes. */
import {
  CONFIG_MAP,
  type ConfigMap,
  type NodePool,
  type Pod,
  RESOURCE_CLAIM,
  type ResourceClaim,
  type ResourceClaimTemplate,
} from '#api/objects';
import { CONSUMABLE_CAPACITY_ANNOTATION, gpuSharing, type StaticDrivers, staticTemplates } from '#aws/node-classes';
import { type ClusterState, DEVICE_TEMPLATES_LABEL, DeviceSources, readDeclarations } from '#state';
import type { NodeClasses } from './node-classes.ts';
import type { Manifest } from './read.ts';

/** DRA drivers of new nodes, as with the chart value `settings.enableDRA`. */
export const DRA_DRIVERS: StaticDrivers = { nvidia: true, efa: true, neuron: false };

interface Created {
  readonly pods: readonly Pod[];
  readonly claims: readonly ResourceClaim[];
}

/** Returns true for a ConfigMap with declared devices. */
export const isDeclaration = ({ object: { kind, metadata } }: Manifest): boolean =>
  kind === CONFIG_MAP.kind && metadata.labels?.[DEVICE_TEMPLATES_LABEL] === 'true';

/** Creates the claims of pods whose claims are not created yet, if the manifests contain the template. */
export function withCreatedClaims(pods: readonly Pod[], manifests: readonly Manifest[]): Created {
  const templates = new Map(
    manifests
      .filter(({ object }) => object.kind === 'ResourceClaimTemplate')
      .map(({ object }) => [keyOf(object.metadata), object as ResourceClaimTemplate]),
  );
  const claims: ResourceClaim[] = [];
  const created = pods.map((pod) => {
    const own = claimsOf(pod, templates);
    if (own.length === 0) return pod;
    claims.push(...own.map(({ claim }) => claim));
    const statuses = own.map(({ name, claim }) => ({ name, resourceClaimName: claim.metadata.name }));
    const known = pod.status?.resourceClaimStatuses ?? [];
    return { ...pod, status: { ...pod.status, resourceClaimStatuses: [...known, ...statuses] } };
  });
  return { pods: created, claims };
}

const keyOf = ({ namespace = 'default', name }: Pod['metadata']): string => `${namespace}/${name}`;

function claimsOf({ metadata, spec, status }: Pod, templates: ReadonlyMap<string, ResourceClaimTemplate>) {
  const { namespace = 'default', name: pod, uid = '' } = metadata;
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimTemplateName }) => {
    const isCreated = status?.resourceClaimStatuses?.some((each) => each.name === name);
    const template = templates.get(`${namespace}/${resourceClaimTemplateName}`);
    if (resourceClaimTemplateName === undefined || isCreated || template === undefined) return [];
    const owner = { apiVersion: 'v1', kind: 'Pod', name: pod, uid, controller: true };
    const claim: ResourceClaim = {
      apiVersion: template.apiVersion,
      kind: RESOURCE_CLAIM.kind,
      metadata: {
        ...template.spec.metadata,
        namespace,
        name: `${pod}-${name}`,
        uid: `${uid}-${name}`,
        ownerReferences: [owner],
      },
      spec: template.spec.spec,
    };
    return [{ name, claim }];
  });
}

interface DeviceParts {
  readonly cluster: ClusterState;
  readonly manifests: readonly Manifest[];
  readonly nodeClasses: Pick<NodeClasses, 'get'>;
  readonly drivers: StaticDrivers;
}

interface Devices {
  readonly sources: DeviceSources;
  readonly notes: readonly string[];
}

/** Returns the sources of the devices of new nodes: ConfigMaps, slices of the manifests, or static tables. */
export function devicesIn({ cluster, manifests, nodeClasses, drivers }: DeviceParts): Devices {
  const declarations = readDeclarations(manifests.filter(isDeclaration).map(({ object }) => object as ConfigMap));
  const sharingOf = ({ spec }: NodePool) =>
    gpuSharing(
      nodeClasses.get(spec.template.spec.nodeClassRef.name)?.metadata.annotations?.[CONSUMABLE_CAPACITY_ANNOTATION],
    );
  const sources = new DeviceSources({
    cluster,
    clock: { now: () => 0 },
    cloud: {
      deviceTemplates: (nodePool, type) =>
        staticTemplates(type, { drivers, sharing: sharingOf(nodePool) ?? 'disabled' }),
    },
    slices: cluster.devices?.slices ?? { list: () => [] },
    declared: { current: async () => declarations },
    stableMs: 0,
  });
  return { sources, notes: declarations.invalid.map(({ configMap, text }) => `ConfigMap ${configMap}: ${text}`) };
}
