/** Explains the current counterpart of each key in the settings ConfigMap of releases before 0.33. */
import { isMap } from 'yaml';
import { entriesOf, keyOf, resolveAlias } from './nodes.ts';
import type { Notes } from './notes.ts';
import type { FoundObject } from './objects.ts';

const SETTINGS = 'karpenter-global-settings';

const GONE = 'is removed';

/** Names a chart value and the environment variable that it sets. */
const setting = (value: string, variable: string): string => `is now the chart value ${value} (${variable})`;

const KEYS: ReadonlyMap<string, string> = new Map([
  ['batchMaxDuration', setting('settings.batchMaxDuration', 'BATCH_MAX_DURATION')],
  ['batchIdleDuration', setting('settings.batchIdleDuration', 'BATCH_IDLE_DURATION')],
  ['aws.clusterName', setting('settings.clusterName', 'CLUSTER_NAME')],
  ['aws.clusterEndpoint', setting('settings.clusterEndpoint', 'CLUSTER_ENDPOINT')],
  ['aws.clusterCABundle', setting('settings.clusterCABundle', 'CLUSTER_CA_BUNDLE')],
  ['aws.isolatedVPC', setting('settings.isolatedVPC', 'ISOLATED_VPC')],
  ['aws.vmMemoryOverheadPercent', setting('settings.vmMemoryOverheadPercent', 'VM_MEMORY_OVERHEAD_PERCENT')],
  ['aws.reservedENIs', setting('settings.reservedENIs', 'RESERVED_ENIS')],
  ['aws.interruptionQueueName', setting('settings.interruptionQueue', 'INTERRUPTION_QUEUE')],
  ['aws.assumeRoleARN', `${GONE}; grant the permissions to the role of the controller`],
  ['aws.assumeRoleDuration', `${GONE}, like aws.assumeRoleARN`],
  ['aws.defaultInstanceProfile', `${GONE}; set role or instanceProfile in each EC2NodeClass`],
  ['aws.enablePodENI', `${GONE}; instance types with branch interfaces offer vpc.amazonaws.com/pod-eni`],
  ['aws.enableENILimitedPodDensity', `${GONE}; set spec.kubelet.maxPods of the EC2NodeClass`],
  ['aws.tags', `${GONE}; set spec.tags of each EC2NodeClass`],
  ['aws.nodeNameConvention', GONE],
  ['featureGates.driftEnabled', `${GONE}; drift is always enabled, and a budget for reason Drifted can limit it`],
]);

/** Adds notes for the settings. The ConfigMap itself remains unchanged, because a chart created it. */
export function noteSettings({ kind, name, map, where, source }: FoundObject, notes: Notes): void {
  if (kind !== 'ConfigMap' || name !== SETTINGS) return;
  const note = notes.on(where);
  note('lost', [], 'is not used any more; settings are chart values');
  const data = resolveAlias(map.get('data', true), source.document);
  if (!isMap(data)) return;
  for (const pair of entriesOf(data, source.document)) {
    const key = String(keyOf(pair));
    note('changed', ['data', key], KEYS.get(key) ?? 'is unknown');
  }
}
