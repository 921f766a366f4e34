/** Texts that stand for what of a NodeClass its instance types depend on. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { familyOf } from '../amis/families.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import { zonesOf } from '../subnets/zones.ts';

/** Fingerprints of lists of images: a list is used once for every instance type. */
const imageSets = new WeakMap<object, string>();

function imageSetOf({ status }: EC2NodeClass): string {
  const images = status?.amis ?? [];
  const known = imageSets.get(images);
  if (known !== undefined) return known;
  const made = setFingerprint(images);
  imageSets.set(images, made);
  return made;
}

/** Of the memory that nodes of a type reported with the images of a NodeClass. */
export const memoryKey = (instanceType: string, nodeClass: EC2NodeClass): string =>
  `${instanceType}:${imageSetOf(nodeClass)}`;

/** By NodeClass, which is never changed in place: instance types are listed in every pass of many controllers. */
const classKeys = new WeakMap<EC2NodeClass, string>();

/** What of a NodeClass its instance types depend on. */
export function classKey(nodeClass: EC2NodeClass): string {
  const known = classKeys.get(nodeClass);
  if (known !== undefined) return known;
  const made = newKey(nodeClass);
  classKeys.set(nodeClass, made);
  return made;
}

const newKey = ({ spec, status, ...nodeClass }: EC2NodeClass): string =>
  fingerprint([
    setFingerprint(status?.amis ?? []),
    setFingerprint(zonesOf({ spec, status: status ?? {}, ...nodeClass })),
    spec.kubelet,
    setFingerprint(spec.blockDeviceMappings),
    (status?.capacityReservations ?? []).map(({ endTime: _, ...reservation }) => reservation),
    setFingerprint(spec.networkInterfaces),
    spec.instanceStorePolicy,
    familyOf({ spec, ...nodeClass }).name,
  ]);
