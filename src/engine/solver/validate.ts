/** Pods that are refused before solving: because of what they ask for, or because it cannot be honoured. */
import type { Pod } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL, requirementErrors } from '../../api/labels.ts';
import { isVirtual } from '../capacity-buffers.ts';
import { UNSUPPORTED, usesDevices } from '../devices.ts';
import type { PodRefusal } from '../model.ts';
import { requirementsOfPod } from '../requirements.ts';
import type { Volumes } from '../volumes.ts';
import type { PodClass } from './pod-class.ts';

const OPTED_OUT = `configured to not run on a Karpenter provisioned node (requirement=${NODEPOOL_LABEL} DoesNotExist)`;

function requirementTexts({ spec }: Pod): readonly string[] {
  const selector = Object.entries(spec.nodeSelector ?? {}).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }));
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const errors = [...selector, ...terms.flatMap((term) => term.matchExpressions ?? [])].flatMap(requirementErrors);
  const hasFields = terms.some(({ matchFields = [] }) => matchFields.length > 0);
  return hasFields ? [...errors, 'node selector term with matchFields is not supported'] : errors;
}

/** Without claims in the snapshot, pods that ask for devices are not looked at. */
const deviceError = (pod: Pod, { devices }: Volumes): string | undefined =>
  devices === undefined ? UNSUPPORTED : devices.errorOf(pod);

const volumeTexts = (error: string | undefined): readonly string[] => (error === undefined ? [] : [error]);

/** Why the pods of a class take no part in solving, if they don't. */
export function refusalOf({ pod }: Pick<PodClass, 'pod'>, volumes: Volumes): PodRefusal | undefined {
  const unsupported = usesDevices(pod) ? deviceError(pod, volumes) : undefined;
  if (unsupported !== undefined) return { code: 'unsupported', text: unsupported };
  if (isVirtual(pod)) return undefined;
  // a preference is enough, even where preferences are ignored
  const nodePool = requirementsOfPod(pod, { preferences: true }).get(NODEPOOL_LABEL);
  const optedOut = nodePool.operator === 'DoesNotExist';
  const errors = [...(optedOut ? [OPTED_OUT] : []), ...requirementTexts(pod), ...volumeTexts(volumes.errorOf(pod))];
  return errors.length > 0 ? { code: 'ignored', text: errors.join('; '), optedOut } : undefined;
}
