/** Checks what the API server's own validation of a NodePool cannot. */
import { type ConditionUpdate, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { Taint } from '../../api/kubernetes.ts';
import { isRestrictedLabel, NODEPOOL_LABEL, requirementErrors, restrictionText } from '../../api/labels.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../api/names.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';

const TYPE = 'ValidationSucceeded';

export function validation({ client, clock, cluster }: Deps): Reconciler<NodePool> {
  return {
    name: 'nodepool.validation',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      const errors = nodePoolErrors(pool);
      const update: ConditionUpdate =
        errors.length === 0
          ? { type: TYPE, status: 'True' }
          : { type: TYPE, status: 'False', reason: 'NodePoolValidationFailed', message: errors.join('; ') };
      const after = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

/** Everything wrong with a NodePool's template; empty when it can be used. */
export function nodePoolErrors(pool: NodePool): readonly string[] {
  const { metadata, spec } = pool.spec.template;
  return [
    ...Object.entries(metadata?.labels ?? {}).flatMap(([key, value]) => labelErrors(key, value)),
    ...(spec.taints ?? []).flatMap(taintErrors),
    ...(spec.startupTaints ?? []).flatMap(taintErrors),
    ...spec.requirements.flatMap((requirement) =>
      requirement.key === NODEPOOL_LABEL
        ? [`invalid key: "${NODEPOOL_LABEL}" in requirements, restricted`]
        : requirementErrors(requirement),
    ),
  ];
}

function labelErrors(key: string, value: string): readonly string[] {
  if (key === NODEPOOL_LABEL) return [`invalid key name "${key}" in labels, restricted`];
  return [
    ...qualifiedNameErrors(key).map((detail) => `invalid key name "${key}" in labels, ${detail}`),
    ...labelValueErrors(value).map((detail) => `invalid value "${value}" for label[${key}], ${detail}`),
    ...(isRestrictedLabel(key) ? [`invalid key name "${key}" in labels, ${restrictionText(key)}`] : []),
  ];
}

const taintErrors = ({ key, value = '' }: Taint): readonly string[] => [
  ...qualifiedNameErrors(key).map((detail) => `invalid taint key "${key}", ${detail}`),
  ...labelValueErrors(value).map((detail) => `invalid taint value "${value}" of "${key}", ${detail}`),
];
