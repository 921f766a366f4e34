/** Alternatives of required node affinity. If a new node cannot satisfy one alternative, the rest still counts. */
import { type NodeSelectorTerm, type PodSpec, requirementErrors } from '#api/objects';
import type { EnginePod } from './input.ts';

export const requiredTerms = ({ spec }: Pick<EnginePod, 'spec'>): readonly NodeSelectorTerm[] =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

/** Returns the reasons why no new node can satisfy an alternative. */
export function termErrors({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): readonly string[] {
  if (matchFields.length > 0) return ['node selector term with matchFields is not supported'];
  if (matchExpressions.length === 0) return ['node selector term without expressions matches no node'];
  return matchExpressions.flatMap(requirementErrors);
}

/** Returns the spec without alternatives that no new node can satisfy, or the whole spec if all would be removed. */
export function withUsableTerms(spec: PodSpec): PodSpec {
  const terms = requiredTerms({ spec });
  if (terms.length < 2) return spec;
  const usable = terms.filter((term) => termErrors(term).length === 0);
  if (usable.length === 0 || usable.length === terms.length) return spec;
  const { affinity } = spec;
  const required = { nodeSelectorTerms: usable };
  const nodeAffinity = { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required };
  return { ...spec, affinity: { ...affinity, nodeAffinity } };
}
