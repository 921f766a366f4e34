/** Attributes of spans. Names come from OpenTelemetry if it defines one, otherwise they start with `karpenter.`. */
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import type { Attributes } from '#observe/traces';

export const REASON = 'karpenter.reason';
export const OUTCOME = 'karpenter.outcome';

export const claimAttributes = ({ metadata }: NodeClaim, nodePool: string): Attributes => ({
  'karpenter.nodepool.name': nodePool,
  'karpenter.nodeclaim.name': metadata.name,
});

/** Returns the attributes of the instance. Attributes of the instance are undefined before its launch. */
export function instanceAttributes(claim: NodeClaim): Attributes {
  const { providerID, nodeName, imageID } = claim.status ?? {};
  return {
    ...claimAttributes(claim, poolNameOf(claim)),
    'host.type': labelOf(claim, INSTANCE_TYPE_LABEL) || undefined,
    'cloud.availability_zone': labelOf(claim, ZONE_LABEL) || undefined,
    'karpenter.capacity_type': labelOf(claim, CAPACITY_TYPE_LABEL) || undefined,
    'host.id': providerID?.split('/').at(-1),
    'host.image.id': imageID || undefined,
    'k8s.node.name': nodeName || undefined,
  };
}
