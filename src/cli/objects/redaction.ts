/** Replacements for redacted texts of a snapshot, and their comparison with complete texts. */
import { createHash } from 'node:crypto';
import type { EC2NodeClass, KubeObject, NodePool, StringMap } from '#api/objects';
import { defined } from '#lib';

/** Number of hash digits. Enough to detect an edit, and too few to confirm one of many guesses. */
const DIGITS = 8;

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, DIGITS);

const ANNOTATION = /^redacted-[0-9a-f]{8}$/;
const USER_DATA = /^# redacted by karpenter snapshot \([0-9a-f]{8}\)/;

/** Returns the replacement for the value of an annotation that is part of a drift hash. */
export const redactedAnnotation = (value: string): string =>
  ANNOTATION.test(value) ? value : `redacted-${digestOf(value)}`;

/** Returns the replacement for user data. Its text shows that it cannot boot a node. */
export const redactedUserData = (text: string): string =>
  USER_DATA.test(text)
    ? text
    : `# redacted by karpenter snapshot (${digestOf(text)}): the user data is in your own manifest\n`;

/**
 * Redacts a manifest in the same places as the snapshot object that it replaces, so that equal parts are not reported
 * as changes.
 */
export function redactAlike<T extends KubeObject>(before: KubeObject, change: T): T {
  if (change.kind === 'EC2NodeClass') return nodeClassAlike(before as EC2NodeClass, change as never);
  return change.kind === 'NodePool' ? poolAlike(before as NodePool, change as never) : change;
}

function nodeClassAlike(before: EC2NodeClass, change: EC2NodeClass): never {
  const { spec } = change;
  if (!spec) return change as never;
  const [known, given] = [before.spec?.userData, spec.userData];
  const isRedacted = typeof given === 'string' && typeof known === 'string' && USER_DATA.test(known);
  const userData = isRedacted ? redactedUserData(given) : given;
  const kubelet = digestAlike(before.spec?.kubelet, spec.kubelet);
  if (userData === given && kubelet === spec.kubelet) return change as never;
  return { ...change, spec: { ...spec, ...defined({ userData, kubelet }) } } as never;
}

/** Returns the given value with the digests of the known value, or the same value without digests. */
function digestAlike(known: unknown, given: unknown): unknown {
  if (typeof known === 'string' && typeof given === 'string')
    return ANNOTATION.test(known) ? redactedAnnotation(given) : given;
  if (typeof known !== 'object' || known === null || typeof given !== 'object' || given === null) return given;
  const inner = ([key, value]: [string, unknown]): [string, unknown] => [
    key,
    Object.hasOwn(known, key) ? digestAlike((known as Record<string, unknown>)[key], value) : value,
  ];
  const before = Object.entries(given);
  const after = before.map(inner);
  if (after.every(([, value], at) => value === before[at]?.[1])) return given;
  return Array.isArray(given) ? after.map(([, value]) => value) : Object.fromEntries(after);
}

const templateAnnotations = ({ spec }: NodePool): StringMap => spec?.template?.metadata?.annotations ?? {};

function poolAlike(before: NodePool, change: NodePool): never {
  const [known, given] = [templateAnnotations(before), templateAnnotations(change)];
  const isRedacted = (key: string): boolean => Object.hasOwn(known, key) && ANNOTATION.test(String(known[key]));
  const alike = Object.entries(given).map(([key, value]) => [
    key,
    isRedacted(key) ? redactedAnnotation(String(value)) : value,
  ]);
  if (!alike.some(([key]) => isRedacted(key as string))) return change as never;
  const { spec } = change;
  const metadata = { ...spec.template.metadata, annotations: Object.fromEntries(alike) };
  return { ...change, spec: { ...spec, template: { ...spec.template, metadata } } } as never;
}
