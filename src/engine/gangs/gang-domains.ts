/** Common domains for all pods of a gang. */
import { own, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import { ANYWHERE, type TopologyBase } from '../topology/base.ts';
import type { Gang } from './gang.ts';

/** Maximum number of trials of one gang. */
const MOST_DOMAINS = 32;

/** Returns the values of the gang's topology key in the order of trial. Pods that run decide the domain. */
export function domainsFor({ topologyKey = '', boundDomains }: Gang, base: TopologyBase): readonly string[] {
  const [bound] = boundDomains;
  if (bound !== undefined) return [bound];
  const ids = base.idsOf(topologyKey);
  const ofNewNodes = base.reachable(topologyKey, ANYWHERE).map((id) => ids.name(id));
  const ofNodes = base.nodes.flatMap(({ labels }) => own(labels, topologyKey) ?? []);
  return [...new Set([...ofNewNodes, ...ofNodes])].sort(compareText).slice(0, MOST_DOMAINS);
}

type Spec = EnginePod['spec'];

/** Specs by domain, so that equal pods still share one object. */
const specsByDomain = remembering((_spec: Spec): Map<string, Spec> => new Map());

/** Returns the pod with a selector for a domain. */
export function withDomain(pod: EnginePod, key: string, domain: string): EnginePod {
  const { spec } = pod;
  if (spec.nodeSelector !== undefined && own(spec.nodeSelector, key) !== undefined) return pod;
  const known = specsByDomain(spec);
  const id = `${key}=${domain}`;
  const found = known.get(id) ?? { ...spec, nodeSelector: { ...spec.nodeSelector, [key]: domain } };
  known.set(id, found);
  return { ...pod, spec: found };
}
