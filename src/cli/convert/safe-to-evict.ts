/** Adds Karpenter's annotation for pods that cluster-autoscaler must not evict. */
import type { YAMLMap } from 'yaml';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/labels.ts';
import { nodeOf } from './nodes.ts';
import type { Path, TakeNote } from './notes.ts';

const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';

/**
 * Adds Karpenter's annotation beside the annotation of cluster-autoscaler, because both autoscalers may run until the
 * last group is removed.
 *
 * @param path path of the annotations
 * @returns whether anything was changed
 */
export function addDoNotDisrupt(annotations: YAMLMap | undefined, path: Path, note: TakeNote): boolean {
  if (annotations === undefined || String(annotations.get(SAFE_TO_EVICT)) !== 'false') return false;
  if (annotations.has(DO_NOT_DISRUPT_ANNOTATION)) return false;
  annotations.add({ key: nodeOf(DO_NOT_DISRUPT_ANNOTATION), value: nodeOf('true') });
  note(
    'changed',
    [...path, SAFE_TO_EVICT],
    `${DO_NOT_DISRUPT_ANNOTATION}: "true" is the equivalent in Karpenter; it protects the node from disruption, but not from expiration`,
    [...path, DO_NOT_DISRUPT_ANNOTATION],
  );
  return true;
}
