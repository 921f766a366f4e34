/** Nodes about which something else may be decided later although nothing has happened. */

import type { Pod } from '../../../api/kubernetes.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { StateNode } from '../../model.ts';

/** Pods are expected on it, or one of them is protected for some time. */
export const changesWithTime = ({ nominatedUntilMs, pods }: StateNode, nowMs: number): boolean =>
  nominatedUntilMs > nowMs || hasTimedPods(pods);

const hasTimedPods = remembering((pods: readonly Pod[]): boolean =>
  pods.some(({ metadata }) => isTimed(metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION])),
);

const isTimed = (value: string | undefined): boolean => value !== undefined && value !== 'true';
