/** Reasons why topology rules exclude a place. */
import type { Misfit } from '../model.ts';
import { daemonSetOf } from '../pods.ts';
import type { ValueSet } from '../value-set.ts';
import type { Binding, HostileDaemon } from './bindings.ts';

export const daemonMisfit = ({ pod: { metadata }, key }: HostileDaemon): Misfit => ({
  code: 'topology',
  text: `unsatisfiable topology constraint for pod anti-affinity, key=${key} (DaemonSet ${metadata.namespace ?? 'default'}/${daemonSetOf(metadata)} runs a pod on each possible node)`,
});

export function misfitOf({ group, pod, startedTogether = [] }: Binding, node: ValueSet, daemons = 0): Misfit {
  const { type, key } = group.rule;
  const domains = `podDomains = ${key} ${pod}, nodeDomains = ${key} ${node}`;
  const used = group.isUnused ? startedTogether.find((other) => !other.isUnused) : undefined;
  const notes = [
    ...(daemons > 0 ? [`; DaemonSets run ${daemons} of the counted pods on the new node`] : []),
    ...(used === undefined
      ? []
      : [`; pods that match all required affinity terms exist (key=${used.rule.key}, counts = ${used.countsText})`]),
  ];
  return {
    code: 'topology',
    text: `unsatisfiable topology constraint for ${type}, key=${key} (counts = ${group.countsText}, ${domains}${notes.join('')}`,
  };
}
