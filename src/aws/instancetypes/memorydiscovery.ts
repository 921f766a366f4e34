/** Discovers the actual memory of instance types from registered nodes. */
import { EC2_NODE_CLASS, NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import { EC2_NODECLASS_LABEL, INSTANCE_TYPE_LABEL, REGISTERED_LABEL } from '../../api/labels.ts';
import { labelOf } from '../../api/object-fields.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { Informers } from '../../kube/client.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { amiForType } from '../amis/amis.ts';
import type { InstanceTypes } from './instancetypes.ts';

const isRegistered = (node: Node | undefined): boolean => node?.metadata.labels?.[REGISTERED_LABEL] === 'true';

export const memoryDiscovery = (informers: Informers, types: InstanceTypes): Reconciler<Node> => ({
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
    const memory = node.status?.capacity?.memory;
    if (claim === undefined || nodeClass === undefined || memory === undefined) return settled;
    const name = labelOf(node, INSTANCE_TYPE_LABEL);
    const type = (await types.list(nodeClass)).find((each) => each.name === name);
    // The memory may depend on the image. Only nodes with the current AMI of the type count.
    const ami = type === undefined ? undefined : amiForType(nodeClass.status?.amis ?? [], type);
    if (ami === undefined || ami.id !== claim.status?.imageID) return settled;
    const bytes = parseQuantity(memory);
    if (types.discoverMemory(name, nodeClass, bytes))
      log.debug('updating discovered capacity cache', { 'memory-capacity': memory, 'instance-type': name });
    return settled;
  },
});
