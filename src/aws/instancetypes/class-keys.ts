/** Texts that stand for what of a NodeClass its instance types depend on. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { remembering } from '../../lib/remembering.ts';
import { familyOf } from '../amis/families.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import { zonesOf } from '../subnets/zones.ts';

/** Fingerprints of lists of images: a list is used once for every instance type. */
const imageSetOf = remembering((images: readonly object[]): string => setFingerprint(images));

/** Of the memory that nodes of a type reported with the images of a NodeClass. */
export const memoryKey = (instanceType: string, nodeClass: EC2NodeClass): string =>
  `${instanceType}:${imageSetOf(nodeClass.status?.amis ?? [])}`;

/**
 * What of a NodeClass its instance types depend on. Instance types are listed in every pass of many controllers, for each
 * NodeClaim by some.
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

/** The same with what its offerings depend on besides. */
export const offeringKey = remembering((nodeClass: EC2NodeClass): string => {
  const { connectionTracking, cpuOptions, ipPrefixCount } = nodeClass.spec;
  return fingerprint([classKey(nodeClass), connectionTracking, cpuOptions, ipPrefixCount]);
});
