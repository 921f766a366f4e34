/** Checks of the kubelet block that the API server cannot perform, because the block has an open schema. */

import type { StringMap } from '#api/objects';
import { parseDuration, parseQuantity } from '#api/values';
import { tryRun } from '#lib';
import type { AmiFamily } from '../amis/families.ts';
import { type Kubelet, MANAGED_FIELDS, type RawKubelet } from './block.ts';
import { decodeErrors, wellTyped } from './block-schema.ts';

const EVICTION_SIGNALS = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
];
const RESERVABLE = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

const entries = (raw: RawKubelet, field: string): readonly (readonly [string, string])[] => {
  const map = wellTyped(raw, field) as StringMap | null | undefined;
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
};

function gracePeriodError(path: string, text: string): string | undefined {
  const duration = tryRun(() => parseDuration(text));
  if (duration === undefined) return `${path}: "${text}" must be a duration`;
  return duration < 0 ? `${path}: "${text}" can't be a negative duration` : undefined;
}

const FLOAT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function thresholdError(path: string, text: string): string | undefined {
  const wrong = `${path}: "${text}" must be a percentage or a resource quantity`;
  if (text.endsWith('%')) {
    const number = text.slice(0, -1);
    const percent = FLOAT.test(number) ? Number(number) : Number.NaN;
    return percent >= 0 && percent <= 100 ? undefined : wrong;
  }
  const quantity = tryRun(() => parseQuantity(text));
  if (quantity === undefined) return wrong;
  return quantity < 0 ? `${path}: "${text}" can't be a negative resource quantity` : undefined;
}

function evictionErrors(raw: RawKubelet): readonly string[] {
  const errors: (string | undefined)[] = [];
  for (const field of ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'])
    for (const [key, text] of entries(raw, field)) {
      if (!EVICTION_SIGNALS.includes(key))
        errors.push(
          `spec.kubelet.${field}: "${key}" isn't a valid eviction signal, must be one of ${EVICTION_SIGNALS.join(', ')}`,
        );
      const check = field === 'evictionSoftGracePeriod' ? gracePeriodError : thresholdError;
      errors.push(check(`spec.kubelet.${field}[${key}]`, text));
    }
  const soft = entries(raw, 'evictionSoft').map(([key]) => key);
  const grace = entries(raw, 'evictionSoftGracePeriod').map(([key]) => key);
  for (const key of soft)
    if (!grace.includes(key)) errors.push(`spec.kubelet.evictionSoft[${key}]: has no matching evictionSoftGracePeriod`);
  for (const key of grace)
    if (!soft.includes(key)) errors.push(`spec.kubelet.evictionSoftGracePeriod[${key}]: has no matching evictionSoft`);
  return errors.filter((error) => error !== undefined);
}

function reservedErrors(raw: RawKubelet): readonly string[] {
  return ['kubeReserved', 'systemReserved'].flatMap((field) =>
    entries(raw, field).flatMap(([key, text]) => [
      ...(RESERVABLE.includes(key)
        ? []
        : [`spec.kubelet.${field}: "${key}" isn't a reservable resource, must be one of ${RESERVABLE.join(', ')}`]),
      ...(text.startsWith('-')
        ? [`spec.kubelet.${field}[${key}]: "${text}" can't be a negative resource quantity`]
        : []),
    ]),
  );
}

function numberErrors(raw: RawKubelet): readonly string[] {
  const errors: string[] = [];
  const high = wellTyped(raw, 'imageGCHighThresholdPercent');
  const low = wellTyped(raw, 'imageGCLowThresholdPercent');
  for (const [field, value] of Object.entries({ imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low }))
    if (typeof value === 'number' && (value < 0 || value > 100))
      errors.push(`spec.kubelet.${field}: ${value} must be between 0 and 100`);
  for (const field of ['podsPerCore', 'evictionMaxPodGracePeriod', 'maxPods']) {
    const value = wellTyped(raw, field);
    if (typeof value === 'number' && value < 0) errors.push(`spec.kubelet.${field}: ${value} can't be negative`);
  }
  if (typeof high === 'number' && typeof low === 'number' && high <= low)
    errors.push(
      `spec.kubelet: imageGCHighThresholdPercent (${high}) must be greater than imageGCLowThresholdPercent (${low})`,
    );
  return errors;
}

/** Describes every error in the block. Returns an empty list if the block is valid. */
export function kubeletErrors(raw: RawKubelet | undefined): readonly string[] {
  if (raw === undefined || Object.keys(raw).length === 0) return [];
  const structural = decodeErrors(raw).map((error) => `spec.kubelet: ${error}`);
  const taints =
    raw.registerWithTaints === undefined
      ? []
      : [
          "spec.kubelet.registerWithTaints: can't be set, Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until it's ready",
        ];
  return [...structural, ...taints, ...evictionErrors(raw), ...reservedErrors(raw), ...numberErrors(raw)];
}

/** Describes the settings that the AMI family would silently ignore. */
export function unsupportedKubelet(
  raw: RawKubelet | undefined,
  kubelet: Kubelet,
  family: AmiFamily,
): readonly string[] {
  if (raw === undefined || Object.keys(raw).length === 0 || family.anyKubeletField) return [];
  const dropped = Object.keys(raw)
    .filter((field) => !Object.hasOwn(MANAGED_FIELDS, field) || (field === 'podsPerCore' && !family.podsPerCore))
    .sort();
  const addresses = kubelet.clusterDNS?.length ?? 0;
  return [
    ...(dropped.length === 0
      ? []
      : [
          `spec.kubelet has fields not applied by the ${family.name} AMI family that would be silently dropped: ${dropped.join(', ')}`,
        ]),
    ...(addresses > 1
      ? [
          `spec.kubelet.clusterDNS: the ${family.name} AMI family doesn't accept multiple entries, only one, but ${addresses} were set`,
        ]
      : []),
  ];
}
