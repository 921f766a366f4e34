/**
 * Holds the registration of a node of a partition placement group back until EC2 reports its partition, when the launch
 * requested none: pods that spread over partitions must not be bound before the label is there.
 */
import { PLACEMENT_GROUP_ID_LABEL, PLACEMENT_GROUP_PARTITION_LABEL } from '../../api/labels.ts';
import type { RegistrationHook } from '../../cloud/provider.ts';
import { instanceIdOf } from './instance.ts';
import type { Instances } from './instances.ts';

const RETRY_MS = 5_000;

export const partitionHook = (instances: Pick<Instances, 'get'>): RegistrationHook => ({
  name: 'PlacementGroupPartition',
  async ask({ metadata, status }) {
    const isOpen =
      Boolean(metadata.labels?.[PLACEMENT_GROUP_ID_LABEL]) && metadata.labels?.[PLACEMENT_GROUP_PARTITION_LABEL] === '';
    if (!isOpen || !status?.providerID) return { done: true };
    const { partition } = await instances.get(instanceIdOf(status.providerID), { skipCache: true });
    if (partition === 0) return { done: false, waitMs: RETRY_MS };
    return { done: true, labels: { [PLACEMENT_GROUP_PARTITION_LABEL]: String(partition) } };
  },
});
