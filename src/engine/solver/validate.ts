/** Finds pods that are refused before the solve, because of their own settings or because a setting is not supported. */
import { NODEPOOL_LABEL, requirementErrors } from '#api/objects';
import { isVirtual } from '../capacity-buffers.ts';
import type { DeviceWorld } from '../dra/device-world.ts';
import { UNSUPPORTED, usesDevices } from '../dra/pod-claims.ts';
import type { EnginePod } from '../input.ts';
import type { PodRefusal } from '../model.ts';
import { requiredTerms, termErrors } from '../node-terms.ts';
import { isScheduled } from '../pods.ts';
import { ownNodesOf } from '../topology/node-filter.ts';
import type { Volumes } from '../volumes.ts';

const OPTED_OUT = `configured to not run on a Karpenter provisioned node (requirement=${NODEPOOL_LABEL} DoesNotExist)`;

function requirementTexts(pod: EnginePod): readonly string[] {
  const selector = Object.entries(pod.spec.nodeSelector ?? {}).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }));
  return [...selector.flatMap(requirementErrors), ...requiredTerms(pod).flatMap(termErrors)];
}

const fieldTexts = (pod: EnginePod): readonly string[] =>
  requiredTerms(pod)
    .filter(({ matchFields = [] }) => matchFields.length > 0)
    .flatMap(termErrors)
    .slice(0, 1);

const deviceError = (pod: EnginePod, devices: DeviceWorld | undefined): string | undefined =>
  devices === undefined ? UNSUPPORTED : devices.needsOf(pod)?.error;

const volumeTexts = (error: string | undefined): readonly string[] => (error === undefined ? [] : [error]);

/**
 * Returns the reason why a pod takes no part in the solve, or undefined. A pod that must move from its node was already accepted
 * with its requests, so it is not checked again. The exception is a pod that selects its node by a field, because no other node
 * can match.
 */
export function refusalOf(
  pod: EnginePod,
  { volumes, devices }: { readonly volumes: Volumes; readonly devices: DeviceWorld | undefined },
): PodRefusal | undefined {
  const unsupported = usesDevices(pod) ? deviceError(pod, devices) : undefined;
  if (unsupported !== undefined) return { code: 'unsupported', text: unsupported };
  if (isVirtual(pod)) return undefined;
  const optedOut = !isScheduled(pod) && hasOptedOut(pod);
  const errors = isScheduled(pod)
    ? fieldTexts(pod)
    : [...(optedOut ? [OPTED_OUT] : []), ...requirementTexts(pod), ...volumeTexts(volumes.errorOf(pod))];
  return errors.length > 0 ? { code: 'ignored', text: errors.join('; '), optedOut } : undefined;
}

/** Returns true if every alternative excludes nodes of NodePools. A preference does not exclude them. */
const hasOptedOut = (pod: EnginePod): boolean =>
  ownNodesOf(pod).alternatives?.every((alternative) => {
    const nodePools = alternative.get(NODEPOOL_LABEL);
    return nodePools.operator === 'DoesNotExist' && nodePools.allowsAbsence;
  }) ?? false;
