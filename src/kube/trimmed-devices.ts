/** Trims objects of dynamic resource allocation: parameters for drivers and reports of drivers can be large. */
import type { DeviceClass, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate } from '../api/dra/objects.ts';
import { DEVICE_CLASS, type Kind, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import { picked } from '../lib/picked.ts';

/** Returns the object without parameters and reports of drivers. Returns objects of other kinds unchanged. */
export function withoutDriverData<T extends KubeObject>(kind: Kind<T>, object: T): T {
  if (kind.group !== RESOURCE_CLAIM.group) return object;
  // each kind has one object type
  if (kind.plural === RESOURCE_CLAIM.plural) return lightClaim(object as unknown as ResourceClaim) as unknown as T;
  if (kind.plural === DEVICE_CLASS.plural) return lightClass(object as unknown as DeviceClass) as unknown as T;
  if (kind.plural === RESOURCE_CLAIM_TEMPLATE.plural)
    return lightTemplate(object as unknown as ResourceClaimTemplate) as unknown as T;
  return object;
}

const lightSpec = ({ devices }: ResourceClaimSpec): ResourceClaimSpec =>
  devices === undefined ? {} : { devices: picked(devices, ['requests', 'constraints']) };

function lightClaim({ spec, status, ...claim }: ResourceClaim): ResourceClaim {
  const { allocation } = status ?? {};
  const devices = allocation?.devices && picked(allocation.devices, ['results']);
  return {
    ...claim,
    ...(spec && { spec: lightSpec(spec) }),
    ...(status && {
      status: {
        ...picked(status, ['reservedFor']),
        ...(allocation && { allocation: { ...picked(allocation, ['nodeSelector']), ...(devices && { devices }) } }),
      },
    }),
  };
}

const lightClass = ({ spec, ...deviceClass }: DeviceClass): DeviceClass => ({
  ...deviceClass,
  spec: picked(spec, ['selectors', 'extendedResourceName']),
});

const lightTemplate = ({ spec, ...template }: ResourceClaimTemplate): ResourceClaimTemplate => ({
  ...template,
  spec: { ...picked(spec, ['metadata']), spec: lightSpec(spec.spec) },
});
