/**
 * Dynamic resources, as far as pods need nodes for them. A claim whose devices are allocated ties its pods to the nodes
 * that can reach them. One that is not allocated waits: no instance type of EC2 says which devices it would bring.
 */
import type { NodeSelectorTerm, ResourceClaim } from '../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../api/labels.ts';
import type { EnginePod } from './input.ts';
import { Requirements } from './requirements.ts';

/** A pod says this without looking at its claims while they are to be ignored. */
export const UNSUPPORTED = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter';
const UNSATISFIABLE = 'no instance type can satisfy the allocation';

const namespaceOf = ({ metadata }: EnginePod | ResourceClaim): string => metadata.namespace ?? 'default';

export function usesDevices({ spec }: EnginePod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return (
    (spec.resourceClaims ?? []).length > 0 || containers.some(({ resources }) => (resources?.claims ?? []).length > 0)
  );
}

/** Names of a pod's claims; of one that is made from a template, the name that it was given. */
export function deviceClaimNames({ spec, status }: EnginePod): readonly string[] {
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
    if (resourceClaimName !== undefined) return [resourceClaimName];
    const made = status?.resourceClaimStatuses?.find((each) => each.name === name);
    // the template's claim was found not to be needed
    if (made !== undefined && made.resourceClaimName === undefined) return [];
    return [made?.resourceClaimName ?? name];
  });
}

export class DeviceClaims {
  readonly #claims: ReadonlyMap<string, ResourceClaim>;

  constructor(claims: readonly ResourceClaim[]) {
    this.#claims = new Map(claims.map((claim) => [`${namespaceOf(claim)}/${claim.metadata.name}`, claim]));
  }

  /** Why a pod's claims cannot be met by any node, if they cannot. */
  errorOf(pod: EnginePod): string | undefined {
    for (const name of deviceClaimNames(pod)) {
      const id = `${namespaceOf(pod)}/${name}`;
      const claim = this.#claims.get(id);
      if (claim === undefined) return `resourceclaim "${id}" not found`;
      if (claim.status?.allocation === undefined) return UNSATISFIABLE;
    }
    return undefined;
  }

  /** For each claim the places from which its devices can be reached, of which the node must be one. */
  placesOf(pod: EnginePod): readonly (readonly Requirements[])[] {
    return deviceClaimNames(pod).flatMap((name) => {
      const claim = this.#claims.get(`${namespaceOf(pod)}/${name}`);
      const terms = claim?.status?.allocation?.nodeSelector?.nodeSelectorTerms ?? [];
      return terms.length === 0 ? [] : [terms.map(placeOf)];
    });
  }
}

/** Devices that are part of a node name it by a field. */
function placeOf({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): Requirements {
  const byName = matchFields
    .filter(({ key }) => key === 'metadata.name')
    .map((field) => ({ ...field, key: HOSTNAME_LABEL }));
  return Requirements.fromRequirements([...matchExpressions, ...byName]);
}
