/** Records the capacity that registered nodes report for their instance types. */
import {
  EC2_NODE_CLASS,
  EC2_NODECLASS_LABEL,
  INSTANCE_TYPE_LABEL,
  labelOf,
  NODE,
  NODE_CLAIM,
  type Node,
  REGISTERED_LABEL,
} from '#api/objects';
import { addResources, amountIn, type InstanceType, type Resources, readableResources } from '#engine/model';
import type { Informers } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { amiForType } from '../amis/ami-for-type.ts';
import type { InstanceTypes } from './instancetypes.ts';

const isRegistered = (node: Node | undefined): boolean => node?.metadata.labels?.[REGISTERED_LABEL] === 'true';

/** Returns the exact amounts of the type's resources, without amounts that the kubelet reserves beyond the overhead. */
function capacityFor(type: InstanceType, capacity: Resources, allocatable: Resources): Resources {
  const { kubeReserved, systemReserved, evictionThreshold } = type.overhead;
  const reserved = addResources(kubeReserved, systemReserved, evictionThreshold);
  return Object.fromEntries(
    Object.keys(type.capacity).flatMap((name) => {
      const amount = amountIn(capacity, name);
      const free = amountIn(allocatable, name);
      const usable = free === 0 ? amount : Math.min(amount, free + amountIn(reserved, name));
      return Number.isSafeInteger(usable) && usable > 0 ? [[name, usable]] : [];
    }),
  );
}

export const capacityDiscovery = (informers: Informers, types: InstanceTypes): Reconciler<Node> => ({
  name: 'providers.instancetype.capacity',
  watches: NODE,
  concurrency: 1,
  filter: (node, event, before) => isRegistered(node) && (event === 'added' || !isRegistered(before)),
  async reconcile(node, { log }) {
    const providerId = node.spec?.providerID;
    const claim = informers
      .store(NODE_CLAIM)
      .list()
      .find(({ status }) => providerId !== undefined && status?.providerID === providerId);
    const nodeClass = informers
      .store(EC2_NODE_CLASS)
      .get({ name: node.metadata.labels?.[EC2_NODECLASS_LABEL] ?? claim?.spec.nodeClassRef.name ?? '' });
    const reported = readableResources(node.status?.capacity);
    if (claim === undefined || nodeClass === undefined) return settled;
    const name = labelOf(node, INSTANCE_TYPE_LABEL);
    const type = (await types.list(nodeClass)).find((each) => each.name === name);
    // The capacity may depend on the image. Only nodes with the current AMI of the type count.
    const ami = type === undefined ? undefined : amiForType(nodeClass.status?.amis ?? [], type);
    if (type === undefined || ami === undefined || ami.id !== claim.status?.imageID) return settled;
    const report = {
      uid: node.metadata.uid ?? node.metadata.name,
      node: node.metadata.name,
      image: ami.id,
      capacity: capacityFor(type, reported, readableResources(node.status?.allocatable)),
    };
    if (types.recordCapacity(name, nodeClass, report))
      log.debug('updating discovered capacity cache', {
        'memory-capacity': node.status?.capacity?.memory,
        'instance-type': name,
      });
    return settled;
  },
});
