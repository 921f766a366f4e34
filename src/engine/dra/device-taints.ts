/** Taints of devices and the tolerations of requests. */
import type { DeviceTaint, DeviceToleration } from '#api/objects';

const EFFECTS = new Set(['NoSchedule', 'NoExecute']);

function tolerates(
  { key = '', operator = 'Equal', value = '', effect = '' }: DeviceToleration,
  taint: DeviceTaint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''));
}

/** Returns true if a request can use a device with these taints. */
export const toleratesDevice = (tolerations: readonly DeviceToleration[], taints: readonly DeviceTaint[]): boolean =>
  taints.every((taint) => !EFFECTS.has(taint.effect) || tolerations.some((toleration) => tolerates(toleration, taint)));
