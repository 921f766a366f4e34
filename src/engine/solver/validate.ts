/** Pods that are refused before solving: because of what they ask for, or because it cannot be honoured. */
import type { Container, Pod } from '../../api/kubernetes.ts';
import { CAPACITY_BUFFER_FAKE_POD_ANNOTATION, NODEPOOL_LABEL, requirementErrors } from '../../api/labels.ts';
import type { PodRefusal } from '../model.ts';
import type { Volumes } from '../volumes.ts';
import type { PodClass } from './podclass.ts';

const OPTED_OUT = `configured to not run on a Karpenter provisioned node (requirement=${NODEPOOL_LABEL} DoesNotExist)`;
const DRA = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter';

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

const claimsDevices = ({ resources }: Container): boolean => (resources?.claims ?? []).length > 0;

function usesDevices({ spec }: Pod): boolean {
  return (
    (spec.resourceClaims ?? []).length > 0 || [...spec.containers, ...(spec.initContainers ?? [])].some(claimsDevices)
  );
}

const volumeTexts = (error: string | undefined): readonly string[] => (error === undefined ? [] : [error]);

/** Why the pods of a class take no part in solving, if they don't. */
export function refusalOf({ pod, requirements }: PodClass, volumes: Volumes): PodRefusal | undefined {
  if (usesDevices(pod)) return { code: 'unsupported', text: DRA };
  if (pod.metadata.annotations?.[CAPACITY_BUFFER_FAKE_POD_ANNOTATION] === 'true') return undefined;
  const optedOut = requirements.has(NODEPOOL_LABEL) && requirements.get(NODEPOOL_LABEL).operator === 'DoesNotExist';
  const errors = [...(optedOut ? [OPTED_OUT] : []), ...requirementTexts(pod), ...volumeTexts(volumes.errorOf(pod))];
  return errors.length > 0 ? { code: 'ignored', text: errors.join('; '), optedOut } : undefined;
}
