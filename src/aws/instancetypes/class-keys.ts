/** Cache keys for the fields of a NodeClass on which its instance types depend. */
import type { EC2NodeClass } from '#api/objects';
import { remembering } from '#lib';
import { familyOf } from '../amis/families.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import { zonesOf } from '../subnets/zones.ts';

/** Returns the fingerprint of a list of AMIs. Cached, because each list is used once per instance type. */
const imageSetOf = remembering((images: readonly object[]): string => setFingerprint(images));

/** Returns a fingerprint of the settings on which the capacity of a node depends, besides its image. */
const settingsOf = remembering(
  ({ kubelet, blockDeviceMappings, instanceStorePolicy, networkInterfaces }: EC2NodeClass['spec']) =>
    fingerprint([kubelet, setFingerprint(blockDeviceMappings), instanceStorePolicy, setFingerprint(networkInterfaces)]),
);

/** Returns the key of the capacity that nodes of a type reported with the AMIs and the settings of a NodeClass. */
export const capacityKey = (instanceType: string, nodeClass: EC2NodeClass): string =>
  `${instanceType}:${imageSetOf(nodeClass.status?.amis ?? [])}:${settingsOf(nodeClass.spec)}`;

/**
 * Returns a key of the fields on which the resolved instance types depend. Cached, because many controllers list
 * instance types in each pass, some of them once per NodeClaim.
 */
export const classKey = remembering(({ spec, status, ...nodeClass }: EC2NodeClass): string =>
  fingerprint([
    setFingerprint(status?.amis ?? []),
    setFingerprint(zonesOf({ spec, status: status ?? {}, ...nodeClass })),
    spec.kubelet,
    setFingerprint(spec.blockDeviceMappings),
    (status?.capacityReservations ?? []).map(({ endTime: _, ...reservation }) => reservation),
    setFingerprint(spec.networkInterfaces),
    spec.instanceStorePolicy,
    familyOf({ spec, ...nodeClass }).name,
  ]),
);

/** Returns a key of all fields on which the instance types and their offerings depend. */
export const offeringKey = remembering((nodeClass: EC2NodeClass): string => {
  const { connectionTracking, cpuOptions, ipPrefixCount } = nodeClass.spec;
  return fingerprint([classKey(nodeClass), connectionTracking, cpuOptions, ipPrefixCount]);
});
