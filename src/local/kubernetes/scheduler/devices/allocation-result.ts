/** Allocations as kube-scheduler writes them to the status of claims. */
import type {
  AllocatedDevice,
  AllocationResult,
  Device,
  DeviceClass,
  NodeSelection,
  NodeSelector,
  NodeSelectorTerm,
  ResourceClaim,
  ResourceSlice,
} from '#api/objects';
import { printQuantity } from '#api/values';
import type { SearchGrant } from '#engine/devices';
import { canonicalJson } from '#lib';
import { requestsOf } from './claims-of-pod.ts';

/** Objects that describe the allocated devices. */
export interface AllocationSources {
  readonly slices: readonly ResourceSlice[];
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly nodeName: string;
  /** Returns a new id for a share of a device. */
  newShareId(): string;
}

/** Configuration of a driver, which the allocation contains for the driver. */
interface Configured {
  readonly config?: readonly { readonly requests?: readonly string[]; readonly opaque?: unknown }[];
}

export function allocationOf(
  claim: ResourceClaim,
  grants: readonly SearchGrant[],
  sources: AllocationSources,
): AllocationResult {
  const chosen = [...new Set(grants.map(({ request }) => request))];
  const config = configOf(claim, chosen, sources.classes);
  const nodeSelector = nodeSelectorOf(grants, sources);
  return {
    devices: { results: grants.map((grant) => resultOf(claim, grant, sources)), ...(config.length > 0 && { config }) },
    ...(nodeSelector && { nodeSelector }),
  };
}

function resultOf(
  claim: ResourceClaim,
  { request, device, consumed, isAdmin }: SearchGrant,
  { slices, newShareId }: AllocationSources,
): AllocatedDevice {
  const { driver, pool, name } = device;
  const { tolerations = [] } = requestsOf(claim).get(request) ?? {};
  const { bindingConditions, bindingFailureConditions } = publishedDevice(slices, device)?.device ?? {};
  return {
    request,
    driver,
    pool,
    device: name,
    ...(isAdmin && { adminAccess: true }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(bindingConditions && { bindingConditions }),
    ...(bindingFailureConditions && { bindingFailureConditions }),
    ...(consumed && { shareID: newShareId(), ...capacityOf(consumed) }),
  };
}

function capacityOf(consumed: ReadonlyMap<string, bigint>): Partial<AllocatedDevice> {
  const amounts = [...consumed].map(([name, nano]) => [name, printQuantity({ nano, format: 'DecimalSI' })]);
  return amounts.length === 0 ? {} : { consumedCapacity: Object.fromEntries(amounts) };
}

/** Returns the configuration of the classes of the chosen requests, and of the claim. */
function configOf(
  claim: ResourceClaim,
  chosen: readonly string[],
  classes: ReadonlyMap<string, DeviceClass>,
): readonly object[] {
  const requests = requestsOf(claim);
  const ofClasses = chosen.flatMap((request) => {
    const { config = [] } = { ...classes.get(requests.get(request)?.deviceClassName ?? '')?.spec } as Configured;
    return config.map(({ opaque }) => ({ source: 'FromClass', requests: [request], opaque }));
  });
  const own = { ...claim.spec?.devices } as Configured;
  const names = new Set(chosen.flatMap((request) => [request, request.split('/')[0] ?? request]));
  const ofClaim = (own.config ?? [])
    .filter((each) => (each.requests ?? []).length === 0 || each.requests?.some((request) => names.has(request)))
    .map((each) => ({ source: 'FromClaim', ...each }));
  return [...ofClasses, ...ofClaim];
}

interface Published {
  readonly device: Device;
  readonly selection: NodeSelection;
}

function publishedDevice(
  slices: readonly ResourceSlice[],
  { driver, pool, name }: SearchGrant['device'],
): Published | undefined {
  const own = slices.filter(({ spec }) => spec.driver === driver && spec.pool.name === pool);
  const generation = Math.max(...own.map(({ spec }) => spec.pool.generation));
  for (const { spec } of own) {
    if (spec.pool.generation !== generation) continue;
    const device = spec.devices?.find((each) => each.name === name);
    if (device !== undefined) return { device, selection: spec.perDeviceNodeSelection ? device : spec };
  }
  return undefined;
}

/**
 * Returns the nodes that reach all allocated devices: one node, the nodes that satisfy the requirements of all devices, or
 * undefined for all nodes.
 */
function nodeSelectorOf(
  grants: readonly SearchGrant[],
  { slices, nodeName }: AllocationSources,
): NodeSelector | undefined {
  const fields = new Map<string, object>();
  const expressions = new Map<string, object>();
  for (const { device } of grants) {
    const published = publishedDevice(slices, device);
    const { nodeSelector, nodeName: only } = published?.selection ?? {};
    if (only !== undefined || published?.device.bindsToNode === true)
      return {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
      };
    const [term]: readonly NodeSelectorTerm[] = nodeSelector?.nodeSelectorTerms ?? [];
    for (const each of term?.matchFields ?? []) fields.set(canonicalJson(each), each);
    for (const each of term?.matchExpressions ?? []) expressions.set(canonicalJson(each), each);
  }
  if (fields.size + expressions.size === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(fields.size > 0 && { matchFields: [...fields.values()] }),
        ...(expressions.size > 0 && { matchExpressions: [...expressions.values()] }),
      } as NodeSelectorTerm,
    ],
  };
}
