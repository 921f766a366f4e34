/** Trims objects of dynamic resource allocation: parameters for drivers and reports of drivers can be large. */
import {
  DEVICE_CLASS,
  type DeviceClass,
  type Kind,
  type KubeObject,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  type ResourceClaim,
  type ResourceClaimSpec,
  type ResourceClaimTemplate,
} from '#api/objects';
import { picked } from '#lib';

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
