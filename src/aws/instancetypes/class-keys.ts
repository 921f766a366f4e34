/** Texts that stand for what of a NodeClass its instance types depend on. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { familyOf } from '../amis/families.ts';
import { canonicalJson, fingerprint, setFingerprint } from '../fingerprint.ts';
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

interface Scope {
  readonly of: string;
  readonly key: string;
}

/** The last one of each NodeClass. */
const scopes = new WeakMap<EC2NodeClass, Scope>();

/**
 * What of a NodeClass a list of its instance types with their offerings depends on.
 * @param around what it depends on beside the NodeClass
 */
export function listKey(nodeClass: EC2NodeClass, around: readonly unknown[]): string {
  const of = canonicalJson(around);
  const known = scopes.get(nodeClass);
  if (known?.of === of) return known.key;
  const { connectionTracking, cpuOptions } = nodeClass.spec;
  const key = fingerprint([classKey(nodeClass), connectionTracking, cpuOptions, ...around]);
  scopes.set(nodeClass, { of, key });
  return key;
}

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
