/**
 * Dynamic resources, as far as they restrict the nodes of pods. A resource claim with allocated devices binds its pods to the
 * nodes that can reach the devices. A claim without an allocation waits, because the devices of EC2 instance types are unknown.
 */
import type { ResourceClaim } from '../api/dra/objects.ts';
import type { NodeSelectorTerm } from '../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../api/labels.ts';
import type { EnginePod } from './input.ts';
import { Requirements } from './requirements.ts';

/** Also the text for a pod while resource claims are ignored. */
export const UNSUPPORTED = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter';
const UNSATISFIABLE = 'no instance type can satisfy the allocation';

const namespaceOf = ({ metadata }: EnginePod | ResourceClaim): string => metadata.namespace ?? 'default';

export function usesDevices({ spec }: EnginePod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return (
    (spec.resourceClaims ?? []).length > 0 || containers.some(({ resources }) => (resources?.claims ?? []).length > 0)
  );
}

/** Returns the names of a pod's claims. For a claim from a template, returns the generated name. */
export function deviceClaimNames({ spec, status }: EnginePod): readonly string[] {
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
    if (resourceClaimName !== undefined) return [resourceClaimName];
    const made = status?.resourceClaimStatuses?.find((each) => each.name === name);
    // the claim of the template is not needed
    if (made !== undefined && made.resourceClaimName === undefined) return [];
    return [made?.resourceClaimName ?? name];
  });
}

export class DeviceClaims {
  readonly #claims: ReadonlyMap<string, ResourceClaim>;

  constructor(claims: readonly ResourceClaim[]) {
    this.#claims = new Map(claims.map((claim) => [`${namespaceOf(claim)}/${claim.metadata.name}`, claim]));
  }

  /** Returns the reason why no node can satisfy a pod's claims, or undefined. */
  errorOf(pod: EnginePod): string | undefined {
    for (const name of deviceClaimNames(pod)) {
      const id = `${namespaceOf(pod)}/${name}`;
      const claim = this.#claims.get(id);
      if (claim === undefined) return `resourceclaim "${id}" not found`;
      if (claim.status?.allocation === undefined) return UNSATISFIABLE;
    }
    return undefined;
  }

  /** Returns for each claim the places from where its devices are reachable. The node must be one of these places. */
  placesOf(pod: EnginePod): readonly (readonly Requirements[])[] {
    return deviceClaimNames(pod).flatMap((name) => {
      const claim = this.#claims.get(`${namespaceOf(pod)}/${name}`);
      const terms = claim?.status?.allocation?.nodeSelector?.nodeSelectorTerms ?? [];
      return terms.length === 0 ? [] : [terms.map(placeOf)];
    });
  }
}

/** Returns the requirements of a term. Devices that are part of a node specify the node by a field. */
function placeOf({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): Requirements {
  const byName = matchFields
    .filter(({ key }) => key === 'metadata.name')
    .map((field) => ({ ...field, key: HOSTNAME_LABEL }));
  return Requirements.fromRequirements([...matchExpressions, ...byName]);
}
